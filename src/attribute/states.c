/* SPDX-License-Identifier: Apache-2.0 */
/* Rule 2: which item a process is in, over its life as a candidate. One sweep over its evidence. */
#include "attribute/sight.h"

struct judging {
	struct sight s;
	state_list *out;
	size_t base; /* of its states in `out` */
};

static enum stage stage_at(const struct actor *a, uint64_t t)
{
	if (t < a->first)
		return STAGE_INIT;
	if (a->ctx && t < a->ctx_leave)
		return STAGE_CONTEXT;
	return t < a->in ? STAGE_WEIGHTS : STAGE_JIT;
}

static void put(struct judging *j, const struct state *x)
{
	struct state *last = j->out->n > j->base ? vec_last(j->out) : NULL;

	if (x->a >= x->b)
		return;
	if (last && last->b == x->a && last->item == x->item && last->grade == x->grade &&
	    last->stage == x->stage && last->waiting == x->waiting &&
	    last->may_yield == x->may_yield && last->thread == x->thread && last->sub == x->sub &&
	    last->rule == x->rule)
		last->b = x->b;
	else
		vec_push(j->out, *x);
}

/* [x.a, x.b) is a gap of one kind: cut where its thread begins or ends to wait. */
static void put_gap(struct judging *j, struct state x)
{
	struct iv_walk walk;
	struct iv_part part;

	x.thread = sight_thread(&j->s);
	walk = world_waits(j->s.w, x.thread, x.a, x.b);
	while (iv_walk_next(&walk, &part, &j->s.w->steps)) {
		x.a = part.a;
		x.b = part.b;
		x.waiting = part.in != NULL;
		put(j, &x);
	}
}

static const char *between(struct sight *s, const struct piece *next)
{
	const char *before = s->prev.item >= 0 ? item_short(s->prev.item) : "start";

	return trace_strf(s->w->t, "%s → %s", before, next ? item_short(next->item) : "end");
}

/* Rule 2.5, between weights: true when too little jit lies there to call it something else. */
static bool still_loading(struct sight *s, uint64_t t)
{
	const struct piece *next = sight_next_weight(s, t);
	uint64_t fill;

	if (s->prev_weight.item < 0 || !next)
		return false;
	fill = sight_jit(s, s->prev_weight.at, next->a);
	return fill < JIT_FILL_NS && 2 * fill < next->a - s->prev_weight.at;
}

/* Rules 2.3 to 2.7 over [x.a, x.b), in which nothing begins or ends. */
static void judge_gap(struct judging *j, struct state x)
{
	struct sight *s = &j->s;
	const struct actor *a = s->actor;
	const struct piece *next, *any;
	struct state post = x;

	x.grade = GRADE_INFERRED;
	x.may_yield = true;
	if (x.a < a->first) {
		x.item = ITEM_PROCESS_INIT, x.grade = GRADE_MEASURED, x.sub = a->init,
		x.rule = "2.3";
		return put_gap(j, x);
	}
	if (a->ctx && x.a >= a->ctx_start && x.a < a->ctx_leave) {
		any = sight_next_evidence(s, x.a);
		x.item = ITEM_CUDA_CONTEXT, x.sub = "between context calls", x.rule = "2.4";
		if (s->prev_any.item == ITEM_PROCESS_INIT && any && any->item == ITEM_PROCESS_INIT)
			x.item = ITEM_PROCESS_INIT, x.sub = a->init;
		return put_gap(j, x);
	}
	if (still_loading(s, x.a)) {
		x.item = ITEM_WEIGHTS, x.may_yield = false, x.sub = "host work between",
		x.rule = "2.5";
		return put_gap(j, x);
	}
	if (s->last_weight.item >= 0 && s->prev.item == ITEM_WEIGHTS) {
		uint64_t until = world_works_until(s->w, s->last_weight.thread, s->last_weight.at);

		post.b = until < x.b ? until : x.b;
		if (post.b > post.a) {
			post.item = ITEM_WEIGHTS, post.grade = GRADE_INFERRED,
			post.may_yield = false;
			post.sub = "post-processing", post.rule = "2.5";
			put_gap(j, post);
			x.a = post.b;
		}
		if (x.a == x.b)
			return;
	}
	next = sight_next_neighbour(s, x.a);
	if (next && s->prev.item == next->item && next->item >= ITEM_WEIGHTS) {
		x.item = next->item, x.rule = "2.6";
		x.sub = next->item == ITEM_WEIGHTS ? "host work between"
						   : "between compiles and captures";
	} else if (s->box) {
		x.item = s->box->item, x.grade = GRADE_DECLARED, x.sub = s->box->name,
		x.rule = "2.2";
	} else {
		x.item = ITEM_OTHER, x.sub = between(s, next), x.rule = "2.7";
	}
	put_gap(j, x);
}

/* Rule 2.1: which of the kinds at work stands for the process. */
static int choose_kind(const struct sight *s, enum stage stage)
{
	static const int of_stage[] = {ITEM_PROCESS_INIT, ITEM_CUDA_CONTEXT, ITEM_WEIGHTS,
				       ITEM_GRAPHS_JIT};
	int best = -1;

	for (uint64_t m = s->mask; m; m &= m - 1) {
		int kind = __builtin_ctzll(m), item = (int)kind_item(kind);

		if (item == of_stage[stage])
			return kind;
		if (best < 0 || item < (int)kind_item(best))
			best = kind;
	}
	return best;
}

/* Rule 2 over [a, b), in which nothing begins or ends. */
static void judge(struct judging *j, uint64_t a, uint64_t b)
{
	struct sight *s = &j->s;
	struct state x = {.a = a, .b = b, .thread = NO_THREAD};
	int kind;

	if (a < s->actor->start || a >= s->actor->done)
		return;
	sight_look_back(s, a);
	x.stage = stage_at(s->actor, a);
	kind = choose_kind(s, x.stage);
	if (kind >= 0) {
		x.item = (uint16_t)kind_item(kind), x.grade = GRADE_MEASURED;
		x.sub = kind_sub(kind), x.rule = "2.1", x.thread = sight_thread_in(s, kind);
		put(j, &x);
	} else if (s->span) {
		x.item = s->span->item, x.grade = GRADE_DECLARED, x.sub = s->span->name,
		x.rule = "2.2";
		x.thread = sight_thread(s);
		put(j, &x);
	} else {
		judge_gap(j, x);
	}
}

void states_of(struct world *w, const struct actor *actor, state_list *out)
{
	struct judging j = {.out = out, .base = out->n};

	sight_open(&j.s, w, actor);
	for (size_t i = 0; i < j.s.events.n;) {
		uint64_t t = sight_step(&j.s, &i);

		if (i < j.s.events.n)
			judge(&j, t, j.s.events.v[i].at);
	}
	sight_close(&j.s);
}
