/* SPDX-License-Identifier: Apache-2.0 */
/* What threads did: stretches of work and waiting, and the causes of a segment. */
#include "attribute/world.h"

#include <stdlib.h>

/*
 * On a CPU, ready to be on one, or at its storage: a thread
 * that others keep off the CPU does not wait for anyone.
 */
static uint64_t awake_ns(const struct thread_time *r)
{
	return r->cpu_ns + (r->runnable_ns == UNKNOWN ? 0 : r->runnable_ns) +
	       (r->io_wait_ns == UNKNOWN ? 0 : r->io_wait_ns);
}

static int state_of(const struct thread_time *r)
{
	uint64_t len = r->end_ns - r->start_ns;

	if (r->cpu_ns == UNKNOWN)
		return NOT_KNOWN;
	if (awake_ns(r) < len / 10 + (len % 10 ? 1 : 0))
		return WAITING;
	return r->yields != UNKNOWN &&
			       r->yields >= len / YIELD_GAP_NS + (len % YIELD_GAP_NS ? 1 : 0)
		       ? WAITING
		       : AWAKE;
}

/* Append a stretch; one that touches its like is made longer. */
static void add_run(stretch_list *l, size_t from, struct stretch x)
{
	struct stretch *last = l->n > from ? vec_last(l) : NULL;

	if (last && last->b >= x.a && last->state == x.state)
		last->b = x.b > last->b ? x.b : last->b;
	else
		vec_push(l, x);
}

/* A wait shorter than 10 ms is none. */
static void drop_short_waits(const stretch_list *in, stretch_list *out)
{
	vec_for_each (x, in) {
		struct stretch y = *x;

		if (y.state == WAITING && y.b - y.a < SHORT_NS)
			y.state = AWAKE;
		add_run(out, 0, y);
	}
}

/* A sleeper that looks up for a moment goes on waiting. */
static void drop_short_work(const stretch_list *in, struct world *w, struct thread *h)
{
	h->run0 = w->runs.n;
	for (size_t i = 0; i < in->n; i++) {
		struct stretch y = in->v[i];
		const struct stretch *p = i ? &in->v[i - 1] : NULL,
				     *n = i + 1 < in->n ? &in->v[i + 1] : NULL;
		uint64_t len = y.b - y.a;

		if (y.state == AWAKE && len < SHORT_NS && p && n && p->state == WAITING &&
		    n->state == WAITING && p->b >= y.a && y.b >= n->a &&
		    10 * len < len + p->b - p->a + n->b - n->a)
			y.state = WAITING;
		add_run(&w->runs, h->run0, y);
	}
	h->runs = w->runs.n - h->run0;
}

/* Waits of a thread: its waiting stretches and its long driver waits, as disjoint intervals. */
static void join_waits(struct world *w, struct thread *h, iv_list *all)
{
	iv_sort(all->v, all->n, &w->steps);
	h->wait0 = w->waits.n;
	vec_for_each (x, all) {
		struct iv *last = w->waits.n > h->wait0 ? vec_last(&w->waits) : NULL;

		if (last && last->b >= x->a)
			last->b = x->b > last->b ? x->b : last->b;
		else
			vec_push(&w->waits, *x);
	}
	h->waits = w->waits.n - h->wait0;
	vec_clear(all);
}

static void take_record(struct world *w, struct thread *h, const struct thread_time *r)
{
	struct record *last = h->records ? vec_last(&w->records) : NULL,
		      x = {.a = r->start_ns, .b = r->end_ns};
	uint64_t len = x.b - x.a;

	x.ns[CAUSE_CPU] = r->cpu_ns;
	x.ns[CAUSE_RUNNABLE] = r->runnable_ns;
	x.ns[CAUSE_IO_WAIT] = r->io_wait_ns;
	x.ns[CAUSE_SLEEP] = r->sleep_ns;
	for (int c = 0; last && c < CAUSES; c++) {
		x.sum[c] = last->sum[c] + (last->ns[c] == UNKNOWN ? 0 : last->ns[c]);
		x.known[c] = last->known[c] + (last->ns[c] == UNKNOWN ? 0 : last->b - last->a);
	}
	if (!len)
		return;
	vec_push(&w->records, x);
	h->records++;
}

static void take_thread(struct world *w, struct thread *h, const struct key *k, size_t n,
			iv_list *waits)
{
	stretch_list raw = {0}, longer = {0};

	h->record0 = w->records.n;
	for (size_t i = 0; i < n; i++) {
		const struct thread_time *r = &w->t->times.v[k[i].ref];
		struct stretch x = {r->start_ns, r->end_ns, 0};

		w->steps++;
		if (r->end_ns <= r->start_ns)
			continue;
		x.state = state_of(r);
		add_run(&raw, 0, x);
		take_record(w, h, r);
	}
	drop_short_waits(&raw, &longer);
	drop_short_work(&longer, w, h);
	for (size_t i = h->run0; i < h->run0 + h->runs; i++) {
		struct iv x = {w->runs.v[i].a, w->runs.v[i].b, 0, 0};

		if (w->runs.v[i].state == WAITING)
			vec_push(waits, x);
	}
	vec_free(&raw);
	vec_free(&longer);
}

void world_take_times(struct world *w)
{
	size_t n = w->t->times.n, *at = xcalloc(w->threads.n + 1, sizeof(*at)), sync = 0;
	struct key *k = xcalloc(n, sizeof(*k)), *sorted = xcalloc(n, sizeof(*k));
	iv_list waits = {0};

	for (size_t i = 0; i < n; i++)
		k[i] = (struct key){w->t->times.v[i].start_ns, 0, (uint32_t)i};
	keys_sort(k, n, &w->steps);
	for (size_t i = 0; i < n; i++) {
		const struct thread_time *r = &w->t->times.v[k[i].ref];

		k[i].what = world_thread(w, r->process, r->tid);
		at[k[i].what + 1]++;
	}
	for (size_t h = 0; h < w->threads.n; h++)
		at[h + 1] += at[h];
	for (size_t i = 0; i < n; i++)
		sorted[at[k[i].what]++] = k[i];
	for (size_t h = 0, from = 0; h < w->threads.n; from = at[h++]) {
		take_thread(w, &w->threads.v[h], sorted + from, at[h] - from, &waits);
		/* Syncs were made thread by thread, in this order. */
		for (; sync < w->syncs.n && w->syncs.v[sync].thread == h; sync++) {
			struct iv x = {w->syncs.v[sync].a, w->syncs.v[sync].b, 0, 0};

			if (x.b - x.a >= SHORT_NS)
				vec_push(&waits, x);
		}
		join_waits(w, &w->threads.v[h], &waits);
	}
	vec_free(&waits);
	free(sorted);
	free(k);
	free(at);
}

/* Where known work from `from` on ends, waits in the driver apart. */
static uint64_t work_end(struct world *w, const struct thread *h, uint64_t from)
{
	size_t lo = h->run0, hi = h->run0 + h->runs;
	uint64_t until = from;

	while (lo < hi) {
		size_t m = lo + (hi - lo) / 2;

		if (w->runs.v[m].b > from)
			hi = m;
		else
			lo = m + 1;
	}
	for (; lo < h->run0 + h->runs; lo++) {
		const struct stretch *x = &w->runs.v[lo];

		w->steps++;
		if (x->state == NOT_KNOWN)
			continue;
		if (x->a > until && x->a - until >= SHORT_NS)
			break;
		if (x->state == WAITING)
			return x->a > from ? x->a : from;
		until = x->b > until ? x->b : until;
	}
	return until;
}

uint64_t world_works_until(struct world *w, uint32_t thread, uint64_t from)
{
	struct thread *h;
	uint64_t until;
	size_t i;

	if (thread == NO_THREAD)
		return from;
	h = &w->threads.v[thread];
	if (h->works_from <= from && from < h->works_until)
		return h->works_until;
	until = work_end(w, h, from);
	i = iv_at(w->waits.v + h->wait0, h->waits, from);
	if (i < h->waits && w->waits.v[h->wait0 + i].a < until)
		until = w->waits.v[h->wait0 + i].a;
	if (until < from)
		until = from;
	h->works_from = from;
	h->works_until = until;
	return until;
}

/* The last record that begins by t; NULL. */
static const struct record *record_at(const struct world *w, const struct thread *h, uint64_t t)
{
	size_t lo = h->record0, hi = h->record0 + h->records;

	while (lo < hi) {
		size_t m = lo + (hi - lo) / 2;

		if (w->records.v[m].a <= t)
			lo = m + 1;
		else
			hi = m;
	}
	return lo == h->record0 ? NULL : &w->records.v[lo - 1];
}

/* Sum of a cause before t, `r` being the record there: whole records, and of that one its share. */
static void sum_at(const struct record *r, uint64_t t, int c, uint64_t *ret_ns, uint64_t *ret_known)
{
	uint64_t in;

	*ret_ns = *ret_known = 0;
	if (!r)
		return;
	*ret_ns = r->sum[c];
	*ret_known = r->known[c];
	if (r->ns[c] == UNKNOWN)
		return;
	in = (t < r->b ? t : r->b) - r->a;
	*ret_ns += share(r->ns[c], in, r->b - r->a);
	*ret_known += in;
}

/* Four shares, each rounded down at both ends of the segment, can together be a little longer than it. */
static void fit(uint64_t ns[CAUSES], uint64_t len_ns)
{
	uint64_t sum = 0;
	int most = 0;

	for (int c = 0; c < CAUSES; c++) {
		if (ns[c] == UNKNOWN)
			continue;
		sum += ns[c];
		if (ns[most] == UNKNOWN || ns[c] > ns[most])
			most = c;
	}
	if (sum > len_ns && sum - len_ns <= CAUSES)
		ns[most] -= sum - len_ns;
}

void world_causes(const struct world *w, uint32_t thread, uint64_t a, uint64_t b,
		  struct segment *ret_segment)
{
	uint64_t ns[CAUSES], from, to, known_from, known_to;
	const struct record *first = NULL, *last = NULL;

	if (thread != NO_THREAD) {
		first = record_at(w, &w->threads.v[thread], a);
		last = record_at(w, &w->threads.v[thread], b);
	}
	for (int c = 0; c < CAUSES; c++) {
		ns[c] = UNKNOWN;
		sum_at(first, a, c, &from, &known_from);
		sum_at(last, b, c, &to, &known_to);
		if (known_to > known_from)
			ns[c] = to - from;
	}
	fit(ns, b - a);
	ret_segment->cpu_ns = ns[CAUSE_CPU];
	ret_segment->runnable_ns = ns[CAUSE_RUNNABLE];
	ret_segment->io_wait_ns = ns[CAUSE_IO_WAIT];
	ret_segment->sleep_ns = ns[CAUSE_SLEEP];
}
