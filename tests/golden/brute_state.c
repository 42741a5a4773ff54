/* SPDX-License-Identifier: Apache-2.0 */
/* What one process is in at one instant (rule 2). */
#include "brute_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const item_names[] = {"init", "context", "alloc", "weights", "jit"};

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
bool innermost(const struct world *w, const struct piece *x, uint64_t t)
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

static bool any_evidence(const struct piece *x)
{
	return x->kind >= 0 && x->item != ITEM_COUNT && x->tid != NO_TID;
}

bool neighbour(const struct piece *x)
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

const struct piece *before(const struct world *w, int p, uint64_t t, filter *f)
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

const struct piece *after(const struct world *w, int p, uint64_t t, filter *f)
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

const char *process_name(const struct world *w, int p)
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
	r->sub = trace_strf(w->t, "%s → %s", prev ? item_names[prev->item] : "start",
			    next ? item_names[next->item] : "end");
}

struct state state_at(const struct world *w, int p, uint64_t t)
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
