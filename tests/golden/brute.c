/* SPDX-License-Identifier: Apache-2.0 */
#include "brute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

#define NO_TID (-1)

/* A piece of evidence, a compiler's life or a span, as the rules see it. */
struct piece {
	int32_t p, tid;
	int kind, item; /* kind -1: a declared span */
	uint64_t a, b;
	const char *name;
	bool container;
};

struct wait {
	int32_t p, tid;
	uint64_t a, b;
	int state; /* 0 awake, 1 waiting, 2 unknown */
	uint64_t cpu, yields;
};

typedef VEC(struct piece) piece_list;
typedef VEC(struct wait) wait_list;
typedef VEC(uint64_t) time_list;

struct facts;

struct world {
	struct trace *t;
	uint64_t s, e;
	piece_list pieces;
	wait_list runs; /* per thread, states merged and smoothed */
	piece_list syncs;
	bool *relevant, *helper;
	struct facts *facts; /* of each process; they do not change with time */
};

static const struct process *proc(const struct world *w, int p)
{
	return &w->t->processes.v[p];
}

static bool descends(const struct world *w, int p, int from)
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

static bool counted(int item)
{
	return item >= ITEM_CUDA_CONTEXT && item <= ITEM_GRAPHS_JIT;
}

static bool small_alloc(const struct piece *x)
{
	return x->kind >= 0 && x->item == ITEM_ALLOCATOR && x->b - x->a < 10 * MS;
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

static bool waits(const struct world *w, int p, int tid, uint64_t t)
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
static bool works(const struct world *w, int p, int tid, uint64_t from, uint64_t t)
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
		uint64_t bytes = by_time ? len : e->bytes, a = e->start_ns, b = e->end_ns;

		if (e->process != p || kind_item(e->kind) != ITEM_WEIGHTS || bytes == UNKNOWN ||
		    t < e->start_ns || !clip(w, &a, &b))
			continue;
		sum += len ? (uint64_t)((unsigned __int128)bytes * (to - e->start_ns) / len)
			   : bytes;
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

enum stage { INIT, CONTEXT, WEIGHTS, JIT, DONE };

struct facts {
	bool ctx;
	uint64_t start, first, ctx_start, ctx_leave, in, done;
};

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

static enum stage stage_at(const struct facts *f, uint64_t t, uint64_t *leave)
{
	if (t < f->first)
		return *leave = f->first, INIT;
	if (f->ctx && t < f->ctx_leave)
		return *leave = f->ctx_leave, CONTEXT;
	if (t < f->in)
		return *leave = f->in, WEIGHTS;
	return *leave = f->done, t < f->done ? JIT : DONE;
}

/* What process p is in at t. */
struct state {
	int item, grade, tid;
	const char *rule, *sub;
	bool gap, waiting, may_yield;
	enum stage stage;
	uint64_t leave;
};

static bool at(const struct piece *x, uint64_t t)
{
	return x->a <= t && t < x->b;
}

static bool inner_of(const struct piece *x, const struct piece *y)
{
	if (x->a != y->a)
		return x->a > y->a;
	if (x->b != y->b)
		return x->b < y->b;
	if (x->kind >= 0)
		return x->kind < y->kind;
	return x->item != y->item ? x->item < y->item : strcmp(x->name, y->name) < 0;
}

/* True when x is the innermost evidence of its thread at t. */
static bool innermost(const struct world *w, const struct piece *x, uint64_t t)
{
	if (x->tid != NO_TID)
		vec_for_each (y, &w->pieces)
			if (y != x && y->p == x->p && y->tid == x->tid && y->kind >= 0 &&
			    y->item != ITEM_COUNT && at(y, t) && inner_of(y, x))
				return false;
	return true;
}

static const struct piece *span_at(const struct world *w, int p, uint64_t t, bool container)
{
	const struct piece *best = NULL;

	vec_for_each (x, &w->pieces)
		if (x->p == p && x->kind < 0 && x->container == container && at(x, t) &&
		    (!best || inner_of(x, best)))
			best = x;
	return best;
}

typedef bool filter(const struct piece *x);

static bool any_evidence(const struct piece *x)
{
	return x->kind >= 0 && x->item != ITEM_COUNT && x->tid != NO_TID;
}

static bool neighbour(const struct piece *x)
{
	return counted(x->item) && !small_alloc(x) && !x->container;
}

static bool weight_piece(const struct piece *x)
{
	return x->item == ITEM_WEIGHTS && !x->container;
}

static bool weight_evidence(const struct piece *x)
{
	return x->item == ITEM_WEIGHTS && x->kind >= 0;
}

static const struct piece *before(const struct world *w, int p, uint64_t t, filter *f)
{
	const struct piece *best = NULL;

	vec_for_each (x, &w->pieces) {
		if (x->p != p || x->b > t || !f(x))
			continue;
		if (!best || x->b > best->b || (x->b == best->b && x->item > best->item))
			best = x;
	}
	return best;
}

static const struct piece *after(const struct world *w, int p, uint64_t t, filter *f)
{
	const struct piece *best = NULL;

	vec_for_each (x, &w->pieces) {
		if (x->p != p || x->a <= t || !f(x))
			continue;
		if (!best || x->a < best->a || (x->a == best->a && x->item < best->item))
			best = x;
	}
	return best;
}

/*
 * The piece whose thread the rules look at: the last
 * to end; ties: the later start, then the lower tid.
 */
static const struct piece *thread_before(const struct world *w, int p, uint64_t t, filter *f)
{
	const struct piece *best = NULL;

	vec_for_each (x, &w->pieces) {
		if (x->p != p || x->b > t || !f(x) || x->tid == NO_TID)
			continue;
		if (!best || x->b > best->b || (x->b == best->b && x->a > best->a) ||
		    (x->b == best->b && x->a == best->a && x->tid < best->tid))
			best = x;
	}
	return best;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Length of the union of pieces of the item within [a, b). */
static uint64_t union_in(const struct world *w, int p, int item, uint64_t a, uint64_t b)
{
	time_list cuts = {0};
	uint64_t sum = 0;

	vec_push(&cuts, a);
	vec_push(&cuts, b);
	vec_for_each (x, &w->pieces)
		if (x->p == p) {
			vec_push(&cuts, x->a);
			vec_push(&cuts, x->b);
		}
	qsort(cuts.v, cuts.n, sizeof(uint64_t), by_time);
	for (size_t i = 0; i + 1 < cuts.n; i++) {
		bool in = false;

		if (cuts.v[i] < a || cuts.v[i] >= b)
			continue;
		vec_for_each (x, &w->pieces)
			in |= x->p == p && x->item == item && !x->container && at(x, cuts.v[i]);
		if (in)
			sum += cuts.v[i + 1] - cuts.v[i];
	}
	vec_free(&cuts);
	return sum;
}

static const char *const words[] = {"init", "context", "alloc", "weights", "jit"};

static const char *process_name(const struct world *w, int p)
{
	return proc(w, p)->name ? proc(w, p)->name : "?";
}

static void in_gap(const struct world *w, int p, uint64_t t, const struct facts *f, struct state *r)
{
	const struct piece *prev = before(w, p, t, neighbour), *next = after(w, p, t, neighbour);
	const struct piece *wp = before(w, p, t, weight_piece), *wn = after(w, p, t, weight_piece);
	const struct piece *pa = before(w, p, t, any_evidence), *na = after(w, p, t, any_evidence);
	const struct piece *last = thread_before(w, p, t, weight_evidence),
			   *box = span_at(w, p, t, true);

	r->may_yield = true;
	r->grade = GRADE_INFERRED;
	if (t < f->first) {
		r->item = ITEM_PROCESS_INIT, r->grade = GRADE_MEASURED, r->rule = "2.3";
		r->sub = trace_strf(w->t, "init: %s", process_name(w, p));
		return;
	}
	if (f->ctx && t >= f->ctx_start && t < f->ctx_leave) {
		bool init =
			pa && na && pa->item == ITEM_PROCESS_INIT && na->item == ITEM_PROCESS_INIT;

		r->item = init ? ITEM_PROCESS_INIT : ITEM_CUDA_CONTEXT, r->rule = "2.4";
		r->sub = init ? trace_strf(w->t, "init: %s", process_name(w, p))
			      : "between context calls";
		return;
	}
	if (wp && wn) {
		uint64_t fill = union_in(w, p, ITEM_GRAPHS_JIT, wp->b, wn->a);

		if (fill < 1000 * MS && 2 * fill < wn->a - wp->b) {
			r->item = ITEM_WEIGHTS, r->rule = "2.5", r->sub = "host work between";
			r->may_yield = false;
			return;
		}
	}
	if (last && prev && prev->item == ITEM_WEIGHTS && works(w, p, last->tid, last->b, t)) {
		r->item = ITEM_WEIGHTS, r->rule = "2.5", r->sub = "post-processing";
		r->may_yield = false;
		return;
	}
	if (prev && next && prev->item == next->item && prev->item >= ITEM_WEIGHTS) {
		r->item = prev->item, r->rule = "2.6";
		r->sub = prev->item == ITEM_WEIGHTS ? "host work between"
						    : "between compiles and captures";
		return;
	}
	if (box) {
		r->item = box->item, r->grade = GRADE_DECLARED, r->rule = "2.2", r->sub = box->name;
		return;
	}
	r->item = ITEM_OTHER, r->rule = "2.7";
	r->sub = trace_strf(w->t, "%s → %s", prev ? words[prev->item] : "start",
			    next ? words[next->item] : "end");
}

static struct state state_at(const struct world *w, int p, uint64_t t)
{
	const struct facts f = w->facts[p];
	struct state r = {.item = -1};
	const struct piece *g = thread_before(w, p, t, any_evidence), *s;
	int kind = KIND_COUNT, want, gtid = g ? g->tid : proc(w, p)->pid;

	r.stage = stage_at(&f, t, &r.leave);
	want = (const int[]){ITEM_PROCESS_INIT, ITEM_CUDA_CONTEXT, ITEM_WEIGHTS, ITEM_GRAPHS_JIT,
			     -1}[r.stage];
	vec_for_each (x, &w->pieces) {
		if (x->p != p || x->kind < 0 || x->item == ITEM_COUNT || !at(x, t) ||
		    !innermost(w, x, t))
			continue;
		if (r.item < 0 || (x->item == want && r.item != want) ||
		    (r.item != want && x->item < r.item))
			r.item = x->item;
	}
	vec_for_each (x, &w->pieces)
		if (x->p == p && x->kind >= 0 && x->item == r.item && at(x, t) &&
		    innermost(w, x, t) && x->kind < kind)
			kind = x->kind;
	if (r.item >= 0) {
		r.rule = "2.1", r.grade = GRADE_MEASURED, r.sub = kind_sub(kind);
		return r;
	}
	s = span_at(w, p, t, false);
	if (s) {
		r.item = s->item, r.rule = "2.2", r.grade = GRADE_DECLARED, r.sub = s->name;
		return r;
	}
	in_gap(w, p, t, &f, &r);
	r.gap = true;
	r.waiting = waits(w, p, gtid, t);
	return r;
}

static bool lives(const struct world *w, int p, uint64_t t)
{
	return proc(w, p)->start_ns <= t &&
	       (proc(w, p)->end_ns == UNKNOWN || t < proc(w, p)->end_ns);
}

/* "…, waiting on CHILD" behind the sub-line of a driver that waits. */
static const char *with_child(const struct world *w, int p, uint64_t t, const char *sub, bool other)
{
	const struct process *best = NULL;

	for (int c = 0; c < (int)w->t->processes.n; c++) {
		const struct process *x = proc(w, c);

		if (x->parent != p || !lives(w, c, t))
			continue;
		if (!best || x->start_ns > best->start_ns ||
		    (x->start_ns == best->start_ns && x->end_ns < best->end_ns) ||
		    (x->start_ns == best->start_ns && x->end_ns == best->end_ns &&
		     x->pid < best->pid))
			best = x;
	}
	if (best) {
		char module[64] = "";
		const char *m = best->command ? strstr(best->command, " -m ") : NULL;

		if (m && sscanf(m, " -m %50s", module + 4) == 1)
			memcpy(module, " -m ", 4);
		return trace_strf(w->t, "%s, waiting on %s%s", sub, best->name ? best->name : "?",
				  module);
	}
	return other ? trace_strf(w->t, "%s (waiting)", sub) : sub;
}

static bool drives_before(const struct world *w, int p, const struct state *x, int q,
			  const struct state *y)
{
	const struct process *a = proc(w, p), *b = proc(w, q);
	bool ox = x->item == ITEM_OTHER, oy = y->item == ITEM_OTHER;

	if (x->stage != y->stage)
		return x->stage < y->stage;
	if (ox != oy)
		return oy;
	if (x->leave != y->leave)
		return x->leave > y->leave;
	return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->pid < b->pid;
}

static bool candidate(const struct world *w, int p, uint64_t t)
{
	const struct facts f = w->facts[p];

	return w->relevant[p] && f.start <= t && t < f.done;
}

static bool steps_aside(const struct world *w, int p, const struct state *x, uint64_t t)
{
	if (!x->gap || !x->may_yield || !x->waiting)
		return false;
	for (int q = 0; q < (int)w->t->processes.n; q++) {
		struct state y;

		if (q == p || !candidate(w, q, t))
			continue;
		if (descends(w, q, p))
			return true;
		y = state_at(w, q, t);
		if (!(y.gap && y.waiting) && y.item != ITEM_OTHER)
			return true;
	}
	return false;
}

/* Serving up: inside a declared span, else before or after the port of the mark listens. */
static void serving_at(const struct world *w, uint64_t t, struct segment *r)
{
	const struct listener *server = NULL;
	const struct span *best = NULL;
	char port[32];

	vec_for_each (x, &w->t->spans) {
		if (x->item != ITEM_SERVING_UP || x->start_ns > t || x->end_ns <= t)
			continue;
		if (!best || x->start_ns > best->start_ns ||
		    (x->start_ns == best->start_ns && x->end_ns < best->end_ns) ||
		    (x->start_ns == best->start_ns && x->end_ns == best->end_ns &&
		     strcmp(x->name, best->name) < 0))
			best = x;
	}
	if (best) {
		r->grade = GRADE_DECLARED, r->process = best->process, r->sub = best->name;
		return;
	}
	vec_for_each (x, &w->t->listeners) {
		snprintf(port, sizeof(port), "http:%d/health", x->port);
		if (w->t->run.ready_mark && strcmp(port, w->t->run.ready_mark) == 0 &&
		    (!server || x->at_ns < server->at_ns))
			server = x;
	}
	if (!server)
		return;
	r->process = server->process;
	if (r->process >= 0)
		r->sub = trace_strf(w->t, "start: %s", process_name(w, r->process));
	if (t >= server->at_ns)
		r->sub = "listen to ready";
}

static struct segment no_candidate(const struct world *w, uint64_t t)
{
	struct segment r = {
		.item = ITEM_PROCESS_INIT, .grade = GRADE_MEASURED, .rule = "1.3", .process = 0};
	const struct piece *last = NULL;
	int next = -1, best = -1;
	uint64_t done = 0;

	for (int p = 0; p < (int)w->t->processes.n; p++) {
		const struct facts f = w->facts[p];

		if (!w->relevant[p] || f.start >= f.done)
			continue;
		if (f.start > t &&
		    (next < 0 || f.start < w->facts[next].start ||
		     (f.start == w->facts[next].start && proc(w, p)->pid < proc(w, next)->pid)))
			next = p;
		if (best < 0 || f.done > done ||
		    (f.done == done && proc(w, p)->start_ns < proc(w, best)->start_ns) ||
		    (f.done == done && proc(w, p)->start_ns == proc(w, best)->start_ns &&
		     proc(w, p)->pid < proc(w, best)->pid))
			best = p, done = f.done;
	}
	if (next >= 0) {
		int a = proc(w, next)->parent;

		while (a >= 0 && !lives(w, a, t))
			a = proc(w, a)->parent;
		r.process = a < 0 ? 0 : a;
		r.sub = trace_strf(w->t, "init: %s", process_name(w, r.process));
		if (waits(w, r.process, proc(w, r.process)->pid, t))
			r.sub = with_child(w, r.process, t, r.sub, false);
		return r;
	}
	r.rule = "1.4", r.grade = GRADE_INFERRED, r.item = ITEM_SERVING_UP, r.process = NO_INDEX;
	r.sub = "start of the server";
	if (w->t->run.ready_ns != UNKNOWN) {
		serving_at(w, t, &r);
		return r;
	}
	if (best >= 0)
		last = before(w, best, w->e, neighbour);
	r.item = ITEM_OTHER, r.process = best;
	r.sub = trace_strf(w->t, "%s → end", last ? words[last->item] : "start");
	return r;
}

static struct segment segment_at(const struct world *w, uint64_t t)
{
	struct segment r = {
		.item = ITEM_PROCESS_INIT, .grade = GRADE_MEASURED, .rule = "1.5", .process = 0};
	struct state best = {0};
	int driver = -1;
	bool any = false;

	for (int p = 0; p < (int)w->t->processes.n; p++) {
		struct state x;

		any |= w->relevant[p];
		if (!candidate(w, p, t))
			continue;
		x = state_at(w, p, t);
		if (!steps_aside(w, p, &x, t) &&
		    (driver < 0 || drives_before(w, p, &x, driver, &best)))
			driver = p, best = x;
	}
	if (!any) {
		r.sub = trace_strf(w->t, "init: %s", process_name(w, 0));
		if (waits(w, 0, proc(w, 0)->pid, t))
			r.sub = with_child(w, 0, t, r.sub, false);
		return r;
	}
	if (driver < 0)
		return no_candidate(w, t);
	r = (struct segment){.item = (uint16_t)best.item,
			     .grade = (uint16_t)best.grade,
			     .process = driver,
			     .sub = best.sub,
			     .rule = best.rule};
	if (best.waiting && (best.rule[2] == '3' || best.item == ITEM_OTHER))
		r.sub = with_child(w, driver, t, r.sub, best.item == ITEM_OTHER);
	return r;
}

static void open_world(struct world *w, struct trace *t, uint64_t end_ns)
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

static void close_world(struct world *w)
{
	vec_free(&w->pieces);
	vec_free(&w->runs);
	vec_free(&w->syncs);
	free(w->relevant);
	free(w->helper);
	free(w->facts);
}

static void all_times(const struct world *w, time_list *cuts)
{
	vec_push(cuts, w->s);
	vec_push(cuts, w->e);
	vec_for_each (x, &w->pieces) {
		vec_push(cuts, x->a);
		vec_push(cuts, x->b);
	}
	vec_for_each (x, &w->syncs) {
		vec_push(cuts, x->a);
		vec_push(cuts, x->b);
	}
	vec_for_each (x, &w->runs) {
		vec_push(cuts, x->a);
		vec_push(cuts, x->b);
	}
	vec_for_each (x, &w->t->listeners)
		vec_push(cuts, x->at_ns);
	vec_for_each (x, &w->t->spans) {
		vec_push(cuts, x->start_ns);
		vec_push(cuts, x->end_ns);
	}
	for (size_t p = 0; p < w->t->processes.n; p++) {
		const struct facts f = w->facts[p];

		vec_push(cuts, proc(w, (int)p)->start_ns);
		vec_push(cuts, proc(w, (int)p)->end_ns);
		vec_push(cuts, f.ctx_leave);
		vec_push(cuts, f.in);
		vec_push(cuts, f.done);
	}
	qsort(cuts->v, cuts->n, sizeof(uint64_t), by_time);
}

void brute_partition(struct trace *t, uint64_t end_ns, segment_list *ret)
{
	struct world w;
	time_list cuts = {0};

	open_world(&w, t, end_ns);
	all_times(&w, &cuts);
	for (size_t i = 0; i + 1 < cuts.n; i++) {
		struct segment s, *last = ret->n ? vec_last(ret) : NULL;

		if (cuts.v[i] < w.s || cuts.v[i] >= w.e || cuts.v[i] == cuts.v[i + 1])
			continue;
		s = segment_at(&w, cuts.v[i]);
		s.start_ns = cuts.v[i];
		s.end_ns = cuts.v[i + 1];
		if (last && last->item == s.item && last->grade == s.grade &&
		    last->process == s.process && strcmp(last->sub, s.sub) == 0 &&
		    strcmp(last->rule, s.rule) == 0)
			last->end_ns = s.end_ns;
		else
			vec_push(ret, s);
	}
	vec_free(&cuts);
	close_world(&w);
}

void brute_work(struct trace *t, uint64_t end_ns, int32_t process, enum item item,
		uint64_t *ret_union_ns, uint64_t *ret_sum_ns)
{
	struct world w;
	time_list cuts = {0};

	open_world(&w, t, end_ns);
	all_times(&w, &cuts);
	*ret_union_ns = *ret_sum_ns = 0;
	for (size_t i = 0; i + 1 < cuts.n; i++) {
		uint64_t n = 0, at_ns = cuts.v[i];

		vec_for_each (x, &w.pieces)
			n += x->kind >= 0 && x->item == (int)item &&
			     (process == NO_INDEX || x->p == process) && at(x, at_ns) &&
			     innermost(&w, x, at_ns);
		*ret_sum_ns += n * (cuts.v[i + 1] - at_ns);
		*ret_union_ns += n ? cuts.v[i + 1] - at_ns : 0;
	}
	vec_free(&cuts);
	close_world(&w);
}
