/* SPDX-License-Identifier: Apache-2.0 */
/* Rule 1: which process drives at each moment. One sweep over the states of all candidates. */
#include <stdlib.h>
#include <string.h>

#include "attribute/rows.h"
#include "attribute/world.h"

struct driving {
	struct world *w;
	struct ledger *l;
	state_list states;
	size_t *state0;	 /* of each actor the first of its states */
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

static void add(struct driving *d, struct segment s, uint32_t thread)
{
	if (s.start_ns >= s.end_ns)
		return;
	world_causes(d->w, thread, s.start_ns, s.end_ns, &s);
	rows_add_segment(d->l, &s);
}

/* What is worth running to tell: "python3 -m package", else the process's name. */
static const char *child_name(const struct driving *d, uint32_t process)
{
	const struct process *p = &d->w->t->processes.v[process];
	const char *m = p->command ? strstr(p->command, " -m ") : NULL, *end;

	if (!m)
		return world_name(d->w, (int32_t)process);
	m += strlen(" -m ");
	end = strchr(m, ' ');
	return trace_strf(d->w->t, "%s -m %.*s", world_name(d->w, (int32_t)process),
			  (int)(end ? end - m : (ptrdiff_t)strlen(m)), m);
}

/* A driver that waits: cut at its children's lives, the youngest living one is named. */
static void add_waiting(struct driving *d, struct segment s, uint32_t thread)
{
	const struct world *w = d->w;
	const struct iv *v = w->children.v + w->child0[s.process];
	size_t n = w->child0[s.process + 1] - w->child0[s.process], i = iv_at(v, n, s.start_ns);
	const char *sub = s.sub;
	uint64_t end = s.end_ns;

	while (s.start_ns < end) {
		bool child = i < n && v[i].a <= s.start_ns;
		uint64_t to = i < n ? (child ? v[i].b : v[i].a) : end;

		d->w->steps++;
		s.end_ns = to < end ? to : end;
		if (child)
			s.sub = trace_strf(w->t, "%s" ROWS_WAITING_ON "%s", sub,
					   child_name(d, v[i].ref));
		else
			s.sub = s.item == ITEM_OTHER ? trace_strf(w->t, "%s (waiting)", sub) : sub;
		add(d, s, thread);
		s.start_ns = s.end_ns;
		i += child;
	}
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
		add_waiting(d, s, x->thread);
	else
		add(d, s, x->thread);
}

/* A process that only starts others: init, cut where its main thread waits. */
static void add_init(struct driving *d, int32_t process, const char *rule, uint64_t a, uint64_t b)
{
	const struct world *w = d->w;
	uint32_t thread = world_thread(w, process, w->t->processes.v[process].pid);
	const struct iv *v = thread == NO_THREAD ? NULL : w->waits.v + w->threads.v[thread].wait0;
	size_t n = thread == NO_THREAD ? 0 : w->threads.v[thread].waits, i = iv_at(v, n, a);
	struct segment s = {.start_ns = a,
			    .item = ITEM_PROCESS_INIT,
			    .grade = GRADE_MEASURED,
			    .process = process,
			    .rule = rule,
			    .sub = trace_strf(w->t, "init: %s", world_name(w, process))};

	while (s.start_ns < b) {
		bool waits = i < n && v[i].a <= s.start_ns;
		uint64_t to = i < n ? (waits ? v[i].b : v[i].a) : b;

		d->w->steps++;
		s.end_ns = to < b ? to : b;
		if (waits)
			add_waiting(d, s, thread);
		else
			add(d, s, thread);
		s.start_ns = s.end_ns;
		i += waits;
	}
}

/* Rule 1.3: the deepest living ancestor of the next candidate, which may change on the way. */
static void add_ancestors(struct driving *d, int32_t next, uint64_t a, uint64_t b)
{
	const struct process *all = d->w->t->processes.v;

	while (a < b) {
		uint64_t to = b;
		int32_t found = NO_INDEX;

		for (int32_t p = d->w->parent[next]; p >= 0; p = d->w->parent[p]) {
			d->w->steps++;
			if (all[p].start_ns > a && all[p].start_ns < to)
				to = all[p].start_ns;
			if (all[p].end_ns > a && all[p].end_ns < to)
				to = all[p].end_ns;
			if (found == NO_INDEX && all[p].start_ns <= a && all[p].end_ns > a)
				found = p;
		}
		add_init(d, found == NO_INDEX ? 0 : found, "1.3", a, to);
		a = to;
	}
}

/* The port in a readiness mark such as "http:8000/health"; -1 none. */
static int mark_port(const char *mark)
{
	const char *p = mark ? strchr(mark, ':') : NULL;
	char *end;
	long port;

	if (!p || (strncmp(mark, "http", 4) != 0 && strncmp(mark, "port", 4) != 0))
		return -1;
	port = strtol(p + 1, &end, 10);
	return end > p + 1 && port > 0 && port < 65536 ? (int)port : -1;
}

/* Who listens on the port of the mark; NULL unknown. */
static const struct listener *server_of(const struct trace *t)
{
	const struct listener *best = NULL;
	int port = mark_port(t->run.ready_mark);

	vec_for_each (x, &t->listeners)
		if (x->port == port && (!best || x->at_ns < best->at_ns))
			best = x;
	return best;
}

/* [a, b) of serving up outside of declared spans: before and after the port listens. */
static void add_server(struct driving *d, const struct listener *server, uint64_t a, uint64_t b)
{
	int32_t process = server ? server->process : NO_INDEX;
	struct segment s = {.start_ns = a,
			    .end_ns = b,
			    .item = ITEM_SERVING_UP,
			    .grade = GRADE_INFERRED,
			    .process = process,
			    .sub = "start of the server",
			    .rule = "1.4"};
	uint32_t thread = NO_THREAD;

	if (process >= 0) {
		thread = world_thread(d->w, process, d->w->t->processes.v[process].pid);
		s.sub = trace_strf(d->w->t, "start: %s", world_name(d->w, process));
	}
	if (server && server->at_ns < b) {
		s.end_ns = server->at_ns > a ? server->at_ns : a;
		add(d, s, thread);
		s.start_ns = s.end_ns;
		s.end_ns = b;
		s.sub = "listen to ready";
	}
	add(d, s, thread);
}

static int by_name(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	int c = strcmp(x->name ? x->name : "", y->name ? y->name : "");

	return c ? c : x->process - y->process;
}

static void add_serving(struct driving *d, uint64_t a, uint64_t b)
{
	struct world *w = d->w;
	const struct listener *server = server_of(w->t);
	iv_list all = {0}, flat = {0};

	if (w->serving.n)
		qsort(w->serving.v, w->serving.n, sizeof(*w->serving.v), by_name);
	for (uint32_t i = 0; i < w->serving.n; i++) {
		struct iv x = {w->serving.v[i].start_ns, w->serving.v[i].end_ns, i, i};

		vec_push(&all, x);
	}
	iv_sort(all.v, all.n, &w->steps);
	iv_flatten(all.v, all.n, &flat, &w->steps);
	for (size_t i = iv_at(flat.v, flat.n, a); i < flat.n && flat.v[i].a < b; i++) {
		const struct span *x = &w->serving.v[flat.v[i].ref];
		uint64_t from = flat.v[i].a > a ? flat.v[i].a : a,
			 to = flat.v[i].b < b ? flat.v[i].b : b;
		struct segment s = {.start_ns = from,
				    .end_ns = to,
				    .item = ITEM_SERVING_UP,
				    .grade = GRADE_DECLARED,
				    .process = x->process,
				    .sub = x->name ? x->name : "declared",
				    .rule = "1.4"};

		if (from > a)
			add_server(d, server, a, from);
		add(d, s,
		    x->process < 0
			    ? NO_THREAD
			    : world_thread(w, x->process, w->t->processes.v[x->process].pid));
		a = to;
	}
	if (a < b)
		add_server(d, server, a, b);
	vec_free(&all);
	vec_free(&flat);
}

/* The candidate that was done last; -1 there was none. */
static int32_t last_done(const struct driving *d)
{
	const struct process *all = d->w->t->processes.v;
	int32_t best = -1;

	vec_for_each (k, &d->starts) {
		const struct actor *x = &d->w->actors.v[k->ref],
				   *y = &d->w->actors.v[best < 0 ? 0 : best];

		/* Starts are in the order that breaks ties. */
		if (best < 0 || x->done > y->done ||
		    (x->done == y->done && all[x->process].start_ns < all[y->process].start_ns))
			best = (int32_t)k->ref;
	}
	return best;
}

/*
 * What the process did last, as `other` names it: the last evidence or span but short allocations.
 */
static const char *last_item(const struct driving *d, const struct actor *a, uint64_t t)
{
	const struct world *w = d->w;
	uint64_t at = 0;
	int item = -1;

	for (size_t h = w->thread0[a->process]; h < w->thread0[a->process + 1]; h++)
		for (size_t i = 0; i < w->threads.v[h].pieces; i++) {
			const struct piece *x = &w->pieces.v[w->threads.v[h].piece0 + i];
			bool brief = x->item == ITEM_ALLOCATOR && x->b - x->a < SHORT_NS;

			if (!item_counts(x->item) || brief || x->b > t)
				continue;
			if (x->b > at || (x->b == at && x->item > item))
				at = x->b, item = x->item;
		}
	vec_for_each (x, &a->extra)
		if (item_counts(x->item) && !x->container && x->b <= t &&
		    (x->b > at || (x->b == at && x->item > item)))
			at = x->b, item = x->item;
	return item < 0 ? "start" : item_short(item);
}

/* Rule 1.4 of a run that never became ready: nothing says that it was serving. */
static void add_end(struct driving *d, uint64_t a, uint64_t b)
{
	int32_t last = last_done(d), dead = world_first_death(d->w, NULL);
	const struct actor *x = last < 0 ? NULL : &d->w->actors.v[last];
	const char *from = x ? last_item(d, x, d->w->e) : "start", *to = "end";
	uint64_t death = dead < 0 ? b : d->w->t->processes.v[dead].end_ns;
	struct segment s = {.start_ns = a,
			    .end_ns = b,
			    .item = ITEM_OTHER,
			    .grade = GRADE_INFERRED,
			    .process = x ? x->process : NO_INDEX,
			    .rule = "1.4"};
	uint32_t thread = x ? world_thread(d->w, x->process, d->w->t->processes.v[x->process].pid)
			    : NO_THREAD;

	if (dead >= 0)
		to = trace_strf(d->w->t, "%s died", world_name(d->w, dead));
	if (a < death && death < b) {
		s.end_ns = death;
		s.sub = trace_strf(d->w->t, "%s → %s", from, to);
		add(d, s, thread);
		s.start_ns = death;
		s.end_ns = b;
	}
	s.sub = death < b ? trace_strf(d->w->t, "%s → end", to)
			  : trace_strf(d->w->t, "%s → %s", from, to);
	add(d, s, thread);
}

/* [a, b) has no candidate. */
static void add_empty(struct driving *d, uint64_t a, uint64_t b)
{
	size_t lo = 0, hi = d->starts.n;

	if (a >= b)
		return;
	if (!d->w->actors.n) {
		add_init(d, 0, "1.5", a, b);
		return;
	}
	while (lo < hi) {
		size_t m = lo + (hi - lo) / 2;

		if (d->starts.v[m].at > a)
			hi = m;
		else
			lo = m + 1;
	}
	if (lo < d->starts.n)
		add_ancestors(d, d->w->actors.v[d->starts.v[lo].ref].process, a, b);
	else if (d->w->t->run.ready_ns == UNKNOWN)
		add_end(d, a, b);
	else
		add_serving(d, a, b);
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

	d->state0 = xcalloc(n + 1, sizeof(*d->state0));
	d->now = xcalloc(n, sizeof(*d->now));
	d->below = xcalloc(n, sizeof(*d->below));
	tourney_init(&d->ahead, n, better, d);
	tourney_init(&d->asleep, n, better, d);
	for (size_t i = 0; i < n; i++) {
		const struct actor *a = &w->actors.v[i];
		struct key start = {a->start, (uint32_t)w->t->processes.v[a->process].pid,
				    (uint32_t)i};
		struct key end = {a->done, (uint32_t)i, UINT32_MAX};

		d->now[i] = -1;
		d->state0[i] = d->states.n;
		if (a->start >= a->done)
			continue;
		vec_push(&d->starts, start);
		states_of(w, a, &d->states);
		for (size_t s = d->state0[i]; s < d->states.n; s++) {
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
			add_empty(&d, from, t);
		else
			add_driver(&d, &d.states.v[state], (size_t)who, from, t);
		from = t;
		who = next;
		state = next < 0 ? -1 : d.now[next];
	}
	add_empty(&d, from, w->e);
	vec_free(&events);
	vec_free(&d.states);
	vec_free(&d.starts);
	free(d.state0);
	free(d.now);
	free(d.below);
	tourney_done(&d.ahead);
	tourney_done(&d.asleep);
}
