/* SPDX-License-Identifier: Apache-2.0 */
/* The work view: how long each item was busy, over all threads and processes. */
#include <stdlib.h>

#include "attribute/rows.h"
#include "attribute/world.h"

/* Of one process (or all) and one item, while walking by start. */
struct tally {
	uint64_t until, union_ns, sum_ns, bytes;
	bool any;
};

static void count(struct tally *y, uint64_t a, uint64_t b)
{
	uint64_t from = a > y->until ? a : y->until;

	y->any = true;
	y->sum_ns += b - a;
	if (b <= from)
		return;
	y->union_ns += b - from;
	y->until = b;
}

/* Bytes of each kind and of each (process, item). */
static void sum_bytes(struct world *w, uint64_t *kinds, struct tally *all)
{
	vec_for_each (e, &w->t->evidence) {
		uint64_t a = e->start_ns, b = e->end_ns, bytes = e->bytes;
		int item = (int)kind_item(e->kind);

		w->steps++;
		if (w->helper[e->process] || item == ITEM_COUNT || bytes == UNKNOWN || !bytes ||
		    !world_clip(w, &a, &b))
			continue;
		if (e->end_ns > e->start_ns)
			bytes = share(bytes, b - a, e->end_ns - e->start_ns);
		kinds[e->kind] = rows_sum(kinds[e->kind], bytes);
		for (int32_t p = NO_INDEX;; p = e->process) {
			struct tally *y = &all[(size_t)(p + 1) * ITEM_COUNT + (size_t)item];

			y->bytes = rows_sum(y->bytes, bytes);
			if (p == e->process)
				break;
		}
	}
}

/* What is busy, by start: `what` is the kind, `ref` an index in `flat`. */
static void gather(struct world *w, iv_list *flat, int32_t **ret_process, key_list *keys)
{
	VEC(int32_t) process = {0};

	vec_for_each (h, &w->threads)
		for (size_t i = 0; i < h->flats; i++) {
			vec_push(flat, w->flat.v[h->flat0 + i]);
			vec_push(&process, h->process);
		}
	vec_for_each (a, &w->actors)
		vec_for_each (x, &a->extra)
			if (x->kind >= 0 && x->a < x->b) {
				struct iv v = {x->a, x->b, 0, (uint32_t)x->kind};

				vec_push(flat, v);
				vec_push(&process, a->process);
			}
	for (size_t i = 0; i < flat->n; i++) {
		struct key k = {flat->v[i].a, flat->v[i].ref, (uint32_t)i};

		vec_push(keys, k);
	}
	keys_sort(keys->v, keys->n, &w->steps);
	*ret_process = process.v;
}

static void put_rows(struct ledger *l, const uint64_t *work, const uint64_t *bytes)
{
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		struct ledger_row *r;

		if (kind_item(kind) == ITEM_COUNT || (!work[kind] && bytes[kind] == UNKNOWN))
			continue;
		r = rows_find(l, kind_item(kind), kind_sub(kind), GRADE_MEASURED);
		r->work_ns = work[kind];
		r->bytes = bytes[kind];
	}
}

void work_view(struct world *w, struct ledger *l)
{
	size_t n = (w->t->processes.n + 1) * ITEM_COUNT;
	struct tally *all = xcalloc(n, sizeof(*all));
	uint64_t work[KIND_COUNT] = {0}, bytes[KIND_COUNT];
	key_list keys = {0};
	iv_list flat = {0};
	int32_t *process;

	for (int k = 0; k < KIND_COUNT; k++)
		bytes[k] = UNKNOWN;
	for (size_t i = 0; i < n; i++)
		all[i].bytes = UNKNOWN;
	gather(w, &flat, &process, &keys);
	vec_for_each (k, &keys) {
		const struct iv *x = &flat.v[k->ref];
		size_t item = (size_t)kind_item((enum kind)k->what);

		w->steps++;
		work[k->what] += x->b - x->a;
		count(&all[item], x->a, x->b);
		count(&all[(size_t)(process[k->ref] + 1) * ITEM_COUNT + item], x->a, x->b);
	}
	sum_bytes(w, bytes, all);
	for (size_t i = 0; i < n; i++) {
		struct work x = {.process = (int32_t)(i / ITEM_COUNT) - 1,
				 .item = (uint16_t)(i % ITEM_COUNT),
				 .union_ns = all[i].union_ns,
				 .sum_ns = all[i].sum_ns,
				 .bytes = all[i].bytes};

		if (all[i].any || all[i].bytes != UNKNOWN)
			vec_push(&l->work, x);
	}
	put_rows(l, work, bytes);
	vec_free(&keys);
	vec_free(&flat);
	free(process);
	free(all);
}
