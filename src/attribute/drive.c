/* SPDX-License-Identifier: Apache-2.0 */
/* Rule 1: which process drives at each moment. One sweep over the states of all candidates. */
#include <stdlib.h>
#include <string.h>

#include "attribute/rows.h"
#include "attribute/segments.h"

struct driving {
	struct world *w;
	struct ledger *l;
	state_list states;
	int64_t *now;	 /* of each actor its state; -1: no candidate */
	uint32_t *below; /* of each actor how many candidates descend from it */
	uint32_t busy;	 /* candidates that are awake in an item other than `other` */
	struct tourney ahead, asleep;
	key_list starts; /* actors by start, then pid: those that will be candidates */
};

static bool better(const void *arg, int32_t a, int32_t b)
{
	const struct driving *d = arg;
	const struct state *x = &d->states.v[d->now[a]], *y = &d->states.v[d->now[b]];
	const struct actor *p = &d->w->actors.v[a], *q = &d->w->actors.v[b];
	const struct process *pp = &d->w->t->processes.v[p->process],
			     *qp = &d->w->t->processes.v[q->process];
	const uint64_t leave_p[] = {p->first, p->ctx_leave, p->in, p->done};
	const uint64_t leave_q[] = {q->first, q->ctx_leave, q->in, q->done};

	if (x->stage != y->stage)
		return x->stage < y->stage;
	if ((x->item == ITEM_OTHER) != (y->item == ITEM_OTHER))
		return y->item == ITEM_OTHER;
	if (leave_p[x->stage] != leave_q[y->stage])
		return leave_p[x->stage] > leave_q[y->stage];
	if (pp->start_ns != qp->start_ns)
		return pp->start_ns < qp->start_ns;
	return pp->pid != qp->pid ? pp->pid < qp->pid : a < b;
}

static bool is_busy(const struct state *x)
{
	return !x->waiting && x->item != ITEM_OTHER;
}

static void seat(struct driving *d, size_t actor)
{
	const struct state *x = d->now[actor] < 0 ? NULL : &d->states.v[d->now[actor]];
	bool yields = x && x->waiting && x->may_yield;

	tourney_set(&d->ahead, actor, x && !yields, &d->w->steps);
	tourney_set(&d->asleep, actor, yields && !d->below[actor], &d->w->steps);
}

/*
 * `actor` becomes or ceases to be a candidate: its
 * ancestors among the actors have one more or less below.
 */
static void count_below(struct driving *d, size_t actor, bool on)
{
	int32_t p = d->w->parent[d->w->actors.v[actor].process];

	for (; p >= 0; p = d->w->parent[p]) {
		int32_t a = d->w->actor[p];

		d->w->steps++;
		if (a < 0)
			continue;
		d->below[a] += on ? 1 : UINT32_MAX;
		seat(d, (size_t)a);
	}
}

static void enter(struct driving *d, size_t actor, int64_t state)
{
	int64_t old = d->now[actor];

	if (old >= 0 && is_busy(&d->states.v[old]))
		d->busy--;
	if (state >= 0 && is_busy(&d->states.v[state]))
		d->busy++;
	d->now[actor] = state;
	seat(d, actor);
	if ((old < 0) != (state < 0))
		count_below(d, actor, state >= 0);
}

static int64_t driver(const struct driving *d)
{
	int32_t a = tourney_best(&d->ahead), b = tourney_best(&d->asleep);

	if (a < 0 || (b >= 0 && !d->busy && better(d, b, a)))
		return b;
	return a;
}

static void add_driver(struct driving *d, const struct state *x, size_t actor, uint64_t a,
		       uint64_t b)
{
	struct segment s = {.start_ns = a,
			    .end_ns = b,
			    .item = x->item,
			    .grade = x->grade,
			    .process = d->w->actors.v[actor].process,
			    .sub = x->sub,
			    .rule = x->rule};

	if (x->sub == kind_sub(KIND_COMPILER) && a < b) {
		world_compiler_causes(d->w, &d->w->actors.v[actor], &s);
		rows_add_segment(d->l, &s);
	} else if (x->waiting && (x->item == ITEM_OTHER || strcmp(x->rule, "2.3") == 0))
		segments_add_waiting(d->w, d->l, s, x->thread);
	else
		segments_add(d->w, d->l, s, x->thread);
}

static int by_start_pid(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->what < y->what ? -1 : x->what > y->what;
}

static void open_driving(struct driving *d, key_list *events)
{
	struct world *w = d->w;
	size_t n = w->actors.n;

	d->now = xcalloc(n, sizeof(*d->now));
	d->below = xcalloc(n, sizeof(*d->below));
	tourney_init(&d->ahead, n, better, d);
	tourney_init(&d->asleep, n, better, d);
	for (size_t i = 0; i < n; i++) {
		const struct actor *a = &w->actors.v[i];
		struct key start = {a->start, (uint32_t)w->t->processes.v[a->process].pid,
				    (uint32_t)i};
		struct key end = {a->done, (uint32_t)i, UINT32_MAX};
		size_t first = d->states.n;

		d->now[i] = -1;
		if (a->start >= a->done)
			continue;
		vec_push(&d->starts, start);
		states_of(w, a, &d->states);
		for (size_t s = first; s < d->states.n; s++) {
			struct key k = {d->states.v[s].a, (uint32_t)i, (uint32_t)s};

			vec_push(events, k);
		}
		vec_push(events, end);
	}
	if (d->starts.n)
		qsort(d->starts.v, d->starts.n, sizeof(*d->starts.v), by_start_pid);
	keys_sort(events->v, events->n, &w->steps);
}

void drive(struct world *w, struct ledger *l)
{
	struct driving d = {.w = w, .l = l};
	int64_t who = -1, state = -1;
	key_list events = {0};
	uint64_t from = w->s;

	open_driving(&d, &events);
	for (size_t i = 0; i < events.n;) {
		uint64_t t = events.v[i].at;
		int64_t next;

		for (; i < events.n && events.v[i].at == t; i++) {
			const struct key *k = &events.v[i];

			enter(&d, k->what, k->ref == UINT32_MAX ? -1 : (int64_t)k->ref);
		}
		w->steps++;
		next = driver(&d);
		if (next == who && (who < 0 || d.now[who] == state))
			continue;
		if (who < 0)
			undriven_add(w, l, &d.starts, from, t);
		else
			add_driver(&d, &d.states.v[state], (size_t)who, from, t);
		from = t;
		who = next;
		state = next < 0 ? -1 : d.now[next];
	}
	undriven_add(w, l, &d.starts, from, w->e);
	vec_free(&events);
	vec_free(&d.states);
	vec_free(&d.starts);
	free(d.now);
	free(d.below);
	tourney_done(&d.ahead);
	tourney_done(&d.asleep);
}
