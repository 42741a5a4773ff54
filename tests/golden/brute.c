/* SPDX-License-Identifier: Apache-2.0 */
/* Who drives at one instant (rule 1), and the partition and the work made of all instants. */
#include "brute_world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Of a run that was never ready. */
static int first_death(const struct world *w)
{
	int first = -1;

	for (int p = 1; p < (int)w->t->processes.n; p++) {
		const struct process *x = proc(w, p);
		int sig = x->status & 0x7f;
		bool died = sig == SIGBUS || sig == SIGSEGV || sig == SIGABRT || sig == SIGILL ||
			    sig == SIGFPE || sig == SIGSYS || sig == SIGTRAP;

		if (x->status < 0 || x->end_ns > w->e)
			continue;
		died |= sig && x->role == ROLE_COMPILER;
		died |= w->relevant[p] && x->status != 0;
		if (died && (first < 0 || x->end_ns < proc(w, first)->end_ns))
			first = p;
	}
	return first;
}

static struct segment no_candidate(const struct world *w, uint64_t t)
{
	struct segment r = {
		.item = ITEM_PROCESS_INIT, .grade = GRADE_MEASURED, .rule = "1.3", .process = 0};
	const struct piece *last = NULL;
	int next = -1, best = -1, dead;
	const char *from;
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
	from = last ? item_names[last->item] : "start";
	dead = first_death(w);
	if (dead < 0)
		r.sub = trace_strf(w->t, "%s → end", from);
	else if (t < proc(w, dead)->end_ns)
		r.sub = trace_strf(w->t, "%s → %s died", from, process_name(w, dead));
	else
		r.sub = trace_strf(w->t, "%s died → end", process_name(w, dead));
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
