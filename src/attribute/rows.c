/* SPDX-License-Identifier: Apache-2.0 */
#include "attribute/rows.h"

#include <stdlib.h>
#include <string.h>

uint64_t rows_sum(uint64_t a, uint64_t b)
{
	if (a == UNKNOWN)
		return b;
	return b == UNKNOWN ? a : a + b;
}

static bool same(const char *a, const char *b)
{
	return a == b || strcmp(a, b) == 0;
}

struct ledger_row *rows_find(struct ledger *l, enum item item, const char *sub, enum grade grade)
{
	struct ledger_row *r;

	vec_for_each (row, &l->rows)
		if (row->item == item && row->grade == grade && row->sub && same(row->sub, sub))
			return row;
	r = vec_add(&l->rows);
	*r = (struct ledger_row){.item = (uint16_t)item,
				 .grade = (uint16_t)grade,
				 .sub = sub,
				 .work_ns = UNKNOWN,
				 .bytes = UNKNOWN,
				 .cpu_ns = UNKNOWN,
				 .runnable_ns = UNKNOWN,
				 .io_wait_ns = UNKNOWN,
				 .sleep_ns = UNKNOWN};
	return r;
}

static bool alike(const struct segment *a, const struct segment *b)
{
	return a->item == b->item && a->grade == b->grade && a->process == b->process &&
	       a->end_ns == b->start_ns && same(a->sub, b->sub) && same(a->rule, b->rule);
}

void rows_add_segment(struct ledger *l, const struct segment *s)
{
	struct segment *last = l->segments.n ? vec_last(&l->segments) : NULL;
	struct ledger_row *r = rows_find(l, s->item, s->sub, s->grade);

	r->wall_ns += s->end_ns - s->start_ns;
	r->cpu_ns = rows_sum(r->cpu_ns, s->cpu_ns);
	r->runnable_ns = rows_sum(r->runnable_ns, s->runnable_ns);
	r->io_wait_ns = rows_sum(r->io_wait_ns, s->io_wait_ns);
	r->sleep_ns = rows_sum(r->sleep_ns, s->sleep_ns);
	if (!last || !alike(last, s)) {
		vec_push(&l->segments, *s);
		return;
	}
	last->end_ns = s->end_ns;
	last->cpu_ns = rows_sum(last->cpu_ns, s->cpu_ns);
	last->runnable_ns = rows_sum(last->runnable_ns, s->runnable_ns);
	last->io_wait_ns = rows_sum(last->io_wait_ns, s->io_wait_ns);
	last->sleep_ns = rows_sum(last->sleep_ns, s->sleep_ns);
}

/*
 * Rows are made in the order of the start, those without
 * wall time last: a stable sort by item keeps both.
 */
void rows_sort(struct ledger *l)
{
	for (size_t i = 1; i < l->rows.n; i++) {
		struct ledger_row r = l->rows.v[i];
		size_t j = i;

		for (; j && l->rows.v[j - 1].item > r.item; j--)
			l->rows.v[j] = l->rows.v[j - 1];
		l->rows.v[j] = r;
	}
}

/*
 * A short wait on a child is no line of its own: under 1 % of the wall it goes
 * into the line of the driver that waited. The segments keep the child's name.
 */
void rows_fold_waits(struct ledger *l, struct trace *names)
{
	uint64_t least_ns = (l->end_ns - l->start_ns) / 100;
	size_t kept = 0, n = l->rows.n;

	for (size_t i = 0; i < n; i++) {
		struct ledger_row r = l->rows.v[i], *base;
		const char *at = strstr(r.sub, ROWS_WAITING_ON);

		if (!at || r.wall_ns >= least_ns)
			continue;
		base = rows_find(l, r.item, trace_strn(names, r.sub, (size_t)(at - r.sub)),
				 r.grade);
		base->wall_ns += r.wall_ns;
		base->cpu_ns = rows_sum(base->cpu_ns, r.cpu_ns);
		base->runnable_ns = rows_sum(base->runnable_ns, r.runnable_ns);
		base->io_wait_ns = rows_sum(base->io_wait_ns, r.io_wait_ns);
		base->sleep_ns = rows_sum(base->sleep_ns, r.sleep_ns);
		l->rows.v[i].sub = NULL;
	}
	for (size_t i = 0; i < l->rows.n; i++)
		if (l->rows.v[i].sub)
			l->rows.v[kept++] = l->rows.v[i];
	l->rows.n = kept;
}

void ledger_done(struct ledger *l)
{
	vec_free(&l->segments);
	vec_free(&l->rows);
	vec_free(&l->work);
	vec_free(&l->notes);
	memset(l, 0, sizeof(*l));
}

void ledger_work(const struct ledger *l, int32_t process, enum item item, uint64_t *ret_union_ns,
		 uint64_t *ret_sum_ns)
{
	*ret_union_ns = *ret_sum_ns = 0;
	vec_for_each (w, &l->work) {
		if (w->process != process || w->item != item)
			continue;
		*ret_union_ns = w->union_ns;
		*ret_sum_ns = w->sum_ns;
	}
}
