/* SPDX-License-Identifier: Apache-2.0 */
/* The facts that the rules ask for: pieces, waits, helpers, and when each stage ends. */
#include "brute_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool descends(const struct world *w, int p, int from)
{
	for (p = proc(w, p)->parent; p >= 0; p = proc(w, p)->parent)
		if (p == from)
			return true;
	return false;
}

static int depth(const struct world *w, int p)
{
	int d = 0;

	while ((p = proc(w, p)->parent) >= 0)
		d++;
	return d;
}

/* Merge what touches or overlaps, until nothing does. */
static void coalesce(piece_list *l)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < l->n; i++)
			for (size_t j = 0; j < l->n; j++) {
				struct piece *x = &l->v[i], *y = &l->v[j];

				if (i == j || x->p != y->p || x->tid != y->tid ||
				    x->kind != y->kind || x->a > y->b || y->a > x->b)
					continue;
				x->a = x->a < y->a ? x->a : y->a;
				x->b = x->b > y->b ? x->b : y->b;
				*y = *vec_last(l);
				l->n--;
				again = true;
				i = j = l->n;
			}
	}
}

static bool clip(const struct world *w, uint64_t *a, uint64_t *b)
{
	if (*a >= w->e || (*a < w->s && *b <= w->s))
		return false;
	*a = *a < w->s ? w->s : *a;
	*b = *b > w->e ? w->e : *b;
	return true;
}

static bool is_helper(const struct world *w, int p)
{
	for (; p >= 0; p = proc(w, p)->parent)
		if (proc(w, p)->role != ROLE_PLAIN)
			return true;
	return false;
}

static void take_evidence(struct world *w)
{
	vec_for_each (e, &w->t->evidence) {
		struct piece x = {e->process,  e->tid,	  e->kind, kind_item(e->kind),
				  e->start_ns, e->end_ns, NULL,	   false};

		if (!clip(w, &x.a, &x.b) || w->helper[e->process])
			continue;
		if (e->kind == KIND_SYNC)
			vec_push(&w->syncs, x);
		else if (x.item != ITEM_COUNT || x.kind == KIND_DEVICE_USE)
			vec_push(&w->pieces, x);
		if (e->kind != KIND_CU_INIT && (counted(x.item) || e->kind == KIND_DEVICE_USE))
			w->relevant[e->process] = true;
	}
	coalesce(&w->pieces);
	coalesce(&w->syncs);
}

static bool has_item(const struct world *w, int p, int item)
{
	vec_for_each (x, &w->pieces)
		if (x->p == p && x->kind >= 0 && x->item == item)
			return true;
	return false;
}

static void give_span(struct world *w, const struct span *s, int logger, const bool *by_evidence)
{
	struct piece x = {logger,
			  NO_TID,
			  -1,
			  s->item,
			  s->start_ns,
			  s->end_ns,
			  s->name ? s->name : "declared",
			  s->container};
	bool given = false;
	int n = (int)w->t->processes.n;

	if (s->item >= ITEM_SERVING_UP || !clip(w, &x.a, &x.b))
		return;
	for (int same = 1; same >= 0 && !given && counted(s->item) && !by_evidence[logger]; same--)
		for (int p = 0; p < n; p++) {
			const struct process *d = proc(w, p);

			if (!descends(w, p, logger) || !w->relevant[p] || d->start_ns >= x.b ||
			    (d->end_ns != UNKNOWN && d->end_ns <= x.a))
				continue;
			if (same && !has_item(w, p, s->item))
				continue;
			x.p = p;
			vec_push(&w->pieces, x);
			given = true;
		}
	if (given)
		return;
	x.p = logger;
	vec_push(&w->pieces, x);
	if (counted(s->item))
		w->relevant[logger] = true;
}

static void take_spans(struct world *w)
{
	int n = (int)w->t->processes.n;
	bool *by_evidence = xcalloc((size_t)n, 1);

	memcpy(by_evidence, w->relevant, (size_t)n);
	for (int d = n; d >= 0; d--) {
		vec_for_each (s, &w->t->spans) {
			int p = s->process < 0 ? 0 : s->process;

			while (w->helper[p] && proc(w, p)->parent >= 0)
				p = proc(w, p)->parent;
			if (depth(w, p) == d && !w->helper[p])
				give_span(w, s, p, by_evidence);
		}
	}
	free(by_evidence);
}

static void take_compilers(struct world *w)
{
	for (int p = 0; p < (int)w->t->processes.n; p++) {
		const struct process *c = proc(w, p);
		struct piece x = {p,	       NO_TID,	  KIND_COMPILER, ITEM_GRAPHS_JIT,
				  c->start_ns, c->end_ns, NULL,		 false};
		bool own = false, outer = c->role == ROLE_COMPILER;
		int o = c->parent;

		for (int q = c->parent; q >= 0; q = proc(w, q)->parent)
			outer = outer && proc(w, q)->role != ROLE_COMPILER;
		while (o >= 0 && !w->relevant[o])
			o = proc(w, o)->parent;
		if (!outer || o < 0)
			continue;
		x.p = o;
		vec_for_each (e, &w->t->evidence) {
			struct piece y = x;

			if (e->process != p || e->kind != KIND_COMPILER)
				continue;
			y.a = e->start_ns, y.b = e->end_ns;
			if (!clip(w, &y.a, &y.b))
				continue;
			own = true;
			vec_push(&w->pieces, y);
		}
		if (!own && clip(w, &x.a, &x.b))
			vec_push(&w->pieces, x);
	}
}

static int run_order(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->a < y->a ? -1 : x->a > y->a;
}

static bool touches(const struct wait *x, const struct wait *y)
{
	return x->p == y->p && x->tid == y->tid && x->b >= y->a;
}

static void join_runs(wait_list *l)
{
	for (size_t i = 0; i + 1 < l->n;) {
		struct wait *x = &l->v[i];

		if (!touches(x, x + 1) || x->state != x[1].state) {
			i++;
			continue;
		}
		x->b = x[1].b > x->b ? x[1].b : x->b;
		memmove(x + 1, x + 2, (l->n - i - 2) * sizeof(*x));
		l->n--;
	}
}

static void take_times(struct world *w)
{
	wait_list old = {0};

	vec_for_each (r, &w->t->times) {
		struct wait x = {r->process, r->tid,	r->start_ns, r->end_ns,
				 0,	     r->cpu_ns, r->yields};
		uint64_t len = x.b - x.a;

		if (r->end_ns <= r->start_ns)
			continue;
		if (r->cpu_ns == UNKNOWN)
			x.state = 2;
		else if ((r->cpu_ns + (r->runnable_ns == UNKNOWN ? 0 : r->runnable_ns) +
			  (r->io_wait_ns == UNKNOWN ? 0 : r->io_wait_ns)) *
					 10 <
				 len ||
			 (r->yields != UNKNOWN && r->yields * 100000 >= len))
			x.state = 1;
		vec_push(&w->runs, x);
	}
	if (w->runs.n)
		qsort(w->runs.v, w->runs.n, sizeof(struct wait), run_order);
	join_runs(&w->runs);
	vec_for_each (x, &w->runs)
		if (x->state == 1 && x->b - x->a < 10 * MS)
			x->state = 0;
	join_runs(&w->runs);
	vec_for_each (x, &w->runs)
		vec_push(&old, *x);
	for (size_t i = 1; i + 1 < old.n; i++) {
		struct wait *x = &old.v[i];
		uint64_t len = x->b - x->a;

		if (x->state == 0 && len < 10 * MS && touches(x - 1, x) && touches(x, x + 1) &&
		    x[-1].state == 1 && x[1].state == 1 &&
		    10 * len < len + x[-1].b - x[-1].a + x[1].b - x[1].a)
			w->runs.v[i].state = 1;
	}
	join_runs(&w->runs);
	vec_free(&old);
}

bool waits(const struct world *w, int p, int tid, uint64_t t)
{
	vec_for_each (x, &w->runs)
		if (x->p == p && x->tid == tid && x->state == 1 && x->a <= t && t < x->b)
			return true;
	vec_for_each (y, &w->syncs)
		if (y->p == p && y->tid == tid && y->b - y->a >= 10 * MS && y->a <= t && t < y->b)
			return true;
	return false;
}

/*
 * Whether the thread is known to work all through
 * [from, t], holes under 10 ms in its record forgiven.
 */
bool works(const struct world *w, int p, int tid, uint64_t from, uint64_t t)
{
	uint64_t at = from;

	vec_for_each (y, &w->syncs)
		if (y->p == p && y->tid == tid && y->b - y->a >= 10 * MS && y->a <= t &&
		    from < y->b)
			return false;
	vec_for_each (x, &w->runs) {
		if (x->p != p || x->tid != tid || x->b <= from || x->state == 2)
			continue;
		if (x->a > at && x->a - at >= 10 * MS)
			return t < at;
		if (x->state == 1)
			return t < x->a;
		at = x->b > at ? x->b : at;
	}
	return t < at;
}

static uint64_t bytes_in(const struct world *w, int p, uint64_t t, bool by_time)
{
	uint64_t sum = 0;

	vec_for_each (e, &w->t->evidence) {
		uint64_t to = t < e->end_ns ? t : e->end_ns, len = e->end_ns - e->start_ns;
		unsigned __int128 bytes = by_time ? len : e->bytes;
		uint64_t a = e->start_ns, b = e->end_ns;

		if (e->process != p || kind_item(e->kind) != ITEM_WEIGHTS || bytes == UNKNOWN ||
		    !clip(w, &a, &b) || t < a)
			continue;
		sum += (uint64_t)(len ? bytes * (to - e->start_ns) / len -
						  bytes * (a - e->start_ns) / len
				      : bytes);
	}
	return sum;
}

static uint64_t weights_in(const struct world *w, int p)
{
	uint64_t a = w->s, b = w->e, span = 0, box = 0, all = bytes_in(w, p, w->e, false);
	bool by_time = all == 0;

	if (!has_item(w, p, ITEM_WEIGHTS)) {
		vec_for_each (x, &w->pieces)
			if (x->p == p && x->item == ITEM_WEIGHTS) {
				uint64_t *to = x->container ? &box : &span;
				*to = x->b > *to ? x->b : *to;
			}
		return span ? span : box;
	}
	if (by_time)
		all = bytes_in(w, p, w->e, true);
	while (a < b) {
		uint64_t m = a + (b - a) / 2;

		if ((unsigned __int128)bytes_in(w, p, m, by_time) * 100 >=
		    (unsigned __int128)all * 95)
			b = m;
		else
			a = m + 1;
	}
	return a;
}

static struct facts facts_of(const struct world *w, int p)
{
	struct facts f = {.first = UNKNOWN, .ctx_start = UNKNOWN};
	uint64_t use = 0, ctx_end = 0, dev = UNKNOWN;

	vec_for_each (x, &w->pieces) {
		if (x->p != p || !(counted(x->item) || x->kind == KIND_DEVICE_USE))
			continue;
		f.first = x->a < f.first ? x->a : f.first;
		if (x->kind == KIND_DEVICE_USE)
			use = x->b > use ? x->b : use;
		else
			f.done = x->b > f.done ? x->b : f.done;
		if (x->kind != KIND_CU_INIT && x->kind != KIND_CONTEXT)
			continue;
		f.ctx = true;
		f.ctx_start = x->a < f.ctx_start ? x->a : f.ctx_start;
		ctx_end = x->b > ctx_end ? x->b : ctx_end;
	}
	vec_for_each (x, &w->pieces) {
		bool first = (x->item == ITEM_ALLOCATOR && x->kind >= 0) || x->kind == KIND_H2D ||
			     x->kind == KIND_FIRST_LAUNCH || x->kind == KIND_DEVICE_USE;

		if (x->p == p && first && x->a >= f.ctx_start && x->a < dev)
			dev = x->a;
	}
	f.ctx_leave = dev == UNKNOWN ? ctx_end : dev;
	f.done = f.done ? f.done : use;
	if (proc(w, p)->end_ns < f.done)
		f.done = proc(w, p)->end_ns;
	f.start = proc(w, p)->start_ns < w->s ? w->s : proc(w, p)->start_ns;
	f.in = weights_in(w, p);
	return f;
}

enum stage stage_at(const struct facts *f, uint64_t t, uint64_t *leave)
{
	if (t < f->first)
		return *leave = f->first, INIT;
	if (f->ctx && t < f->ctx_leave)
		return *leave = f->ctx_leave, CONTEXT;
	if (t < f->in)
		return *leave = f->in, WEIGHTS;
	return *leave = f->done, t < f->done ? JIT : DONE;
}

void open_world(struct world *w, struct trace *t, uint64_t end_ns)
{
	size_t n = t->processes.n;

	*w = (struct world){.t = t, .s = t->run.start_ns, .e = end_ns};
	w->relevant = xcalloc(n, 1);
	w->helper = xcalloc(n, 1);
	for (size_t p = 0; p < n; p++)
		w->helper[p] = is_helper(w, (int)p);
	take_evidence(w);
	take_spans(w);
	take_compilers(w);
	take_times(w);
	w->facts = xcalloc(n, sizeof(*w->facts));
	for (size_t p = 0; p < n; p++)
		w->facts[p] = facts_of(w, (int)p);
}

void close_world(struct world *w)
{
	vec_free(&w->pieces);
	vec_free(&w->runs);
	vec_free(&w->syncs);
	free(w->relevant);
	free(w->helper);
	free(w->facts);
}
