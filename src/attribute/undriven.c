/* SPDX-License-Identifier: Apache-2.0 */
/* Rules 1.3 to 1.5: what the wall is in while no candidate drives. */
#include <stdlib.h>
#include <string.h>

#include "attribute/segments.h"

struct undriven {
	struct world *w;
	struct ledger *l;
	const key_list *starts;
};

/* A process that only starts others: init, cut where its main thread waits. */
static void add_init(struct undriven *d, int32_t process, const char *rule, uint64_t a, uint64_t b)
{
	struct world *w = d->w;
	uint32_t thread = world_main_thread(w, process);
	struct iv_walk walk = world_waits(w, thread, a, b);
	struct segment s = {.item = ITEM_PROCESS_INIT,
			    .grade = GRADE_MEASURED,
			    .process = process,
			    .rule = rule,
			    .sub = trace_strf(w->t, "init: %s", world_name(w, process))};
	struct iv_part part;

	while (iv_walk_next(&walk, &part, &w->steps)) {
		s.start_ns = part.a;
		s.end_ns = part.b;
		if (part.in)
			segments_add_waiting(w, d->l, s, thread);
		else
			segments_add(w, d->l, s, thread);
	}
}

/* Rule 1.3: the deepest living ancestor of the next candidate, which may change on the way. */
static void add_ancestors(struct undriven *d, int32_t next, uint64_t a, uint64_t b)
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
static void add_server(struct undriven *d, const struct listener *server, uint64_t a, uint64_t b)
{
	int32_t process = server ? server->process : NO_INDEX;
	struct segment s = {.start_ns = a,
			    .end_ns = b,
			    .item = ITEM_SERVING_UP,
			    .grade = GRADE_INFERRED,
			    .process = process,
			    .sub = "start of the server",
			    .rule = "1.4"};
	uint32_t thread = world_main_thread(d->w, process);

	if (process >= 0)
		s.sub = trace_strf(d->w->t, "start: %s", world_name(d->w, process));
	if (server && server->at_ns < b) {
		s.end_ns = server->at_ns > a ? server->at_ns : a;
		segments_add(d->w, d->l, s, thread);
		s.start_ns = s.end_ns;
		s.end_ns = b;
		s.sub = "listen to ready";
	}
	segments_add(d->w, d->l, s, thread);
}

static int by_name(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	int c = strcmp(x->name ? x->name : "", y->name ? y->name : "");

	return c ? c : x->process - y->process;
}

static void add_declared(struct undriven *d, const struct span *x, uint64_t a, uint64_t b)
{
	struct segment s = {.start_ns = a,
			    .end_ns = b,
			    .item = ITEM_SERVING_UP,
			    .grade = GRADE_DECLARED,
			    .process = x->process,
			    .sub = x->name ? x->name : "declared",
			    .rule = "1.4"};

	segments_add(d->w, d->l, s, world_main_thread(d->w, x->process));
}

static void add_serving(struct undriven *d, uint64_t a, uint64_t b)
{
	struct world *w = d->w;
	const struct listener *server = server_of(w->t);
	iv_list all = {0}, flat = {0};
	struct iv_walk walk;
	struct iv_part part;

	if (w->serving.n)
		qsort(w->serving.v, w->serving.n, sizeof(*w->serving.v), by_name);
	for (uint32_t i = 0; i < w->serving.n; i++) {
		struct iv x = {w->serving.v[i].start_ns, w->serving.v[i].end_ns, i, i};

		vec_push(&all, x);
	}
	iv_sort(all.v, all.n, &w->steps);
	iv_flatten(all.v, all.n, &flat, &w->steps);
	walk = iv_walk_over(flat.v, flat.n, a, b);
	while (iv_walk_next(&walk, &part, &w->steps)) {
		if (part.in)
			add_declared(d, &w->serving.v[part.in->ref], part.a, part.b);
		else
			add_server(d, server, part.a, part.b);
	}
	vec_free(&all);
	vec_free(&flat);
}

/* The candidate that was done last; -1 there was none. */
static int32_t last_done(const struct undriven *d)
{
	const struct process *all = d->w->t->processes.v;
	int32_t best = -1;

	vec_for_each (k, d->starts) {
		const struct actor *x = &d->w->actors.v[k->ref],
				   *y = &d->w->actors.v[best < 0 ? 0 : best];

		/* Starts are in the order that breaks ties. */
		if (best < 0 || x->done > y->done ||
		    (x->done == y->done && all[x->process].start_ns < all[y->process].start_ns))
			best = (int32_t)k->ref;
	}
	return best;
}

/* Did `x` end by t, and later than what ended at `at`? Of two that ended together the later item. */
static bool is_last(const struct piece *x, uint64_t t, uint64_t at, int item)
{
	return piece_is_neighbour(x) && x->b <= t && (x->b > at || (x->b == at && x->item > item));
}

/*
 * What the process did last, as `other` names it: the last evidence or span but short allocations.
 */
static const char *last_item(const struct undriven *d, const struct actor *a, uint64_t t)
{
	const struct world *w = d->w;
	uint64_t at = 0;
	int item = -1;

	for (size_t h = w->thread0[a->process]; h < w->thread0[a->process + 1]; h++)
		for (size_t i = 0; i < w->threads.v[h].pieces; i++) {
			const struct piece *x = &w->pieces.v[w->threads.v[h].piece0 + i];

			if (is_last(x, t, at, item))
				at = x->b, item = x->item;
		}
	vec_for_each (x, &a->extra)
		if (is_last(x, t, at, item))
			at = x->b, item = x->item;
	return item < 0 ? "start" : item_short(item);
}

/* Rule 1.4 of a run that never became ready: nothing says that it was serving. */
static void add_end(struct undriven *d, uint64_t a, uint64_t b)
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
	uint32_t thread = world_main_thread(d->w, s.process);

	if (dead >= 0)
		to = trace_strf(d->w->t, "%s died", world_name(d->w, dead));
	if (a < death && death < b) {
		s.end_ns = death;
		s.sub = trace_strf(d->w->t, "%s → %s", from, to);
		segments_add(d->w, d->l, s, thread);
		s.start_ns = death;
		s.end_ns = b;
	}
	s.sub = death < b ? trace_strf(d->w->t, "%s → end", to)
			  : trace_strf(d->w->t, "%s → %s", from, to);
	segments_add(d->w, d->l, s, thread);
}

void undriven_add(struct world *w, struct ledger *l, const key_list *starts, uint64_t a, uint64_t b)
{
	struct undriven d = {w, l, starts};
	size_t next;

	if (a >= b)
		return;
	next = keys_after(starts->v, starts->n, a);
	if (!w->actors.n)
		add_init(&d, 0, "1.5", a, b);
	else if (next < starts->n)
		add_ancestors(&d, w->actors.v[starts->v[next].ref].process, a, b);
	else if (w->t->run.ready_ns == UNKNOWN)
		add_end(&d, a, b);
	else
		add_serving(&d, a, b);
}
