/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wall partition as the truth log has it. The engine's processes never idle in a step, so of
 * the rules only these are needed: the one at the least stage drives, of equals the one that leaves
 * that stage last; and the item is that of the step which the driver is in.
 */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

enum stage { STAGE_INIT, STAGE_CONTEXT, STAGE_WEIGHTS, STAGE_JIT, STAGE_DONE };

struct worker {
	int pid;
	uint64_t born_ns;
	uint64_t leaves_ns[STAGE_DONE]; /* UINT64_MAX: never */
};

typedef VEC(struct worker) workers;
typedef VEC(uint64_t) moments;

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool of_weights(const struct line *l, int pid)
{
	return !strcmp(l->view, "work") && l->item == ITEM_WEIGHTS && l->pid == pid && l->bytes;
}

/* Bytes of weights, read and copied, that were in by then, each piece filling evenly. */
static double bytes_at(const struct judge *j, int pid, uint64_t at_ns)
{
	double sum = 0;

	vec_for_each (l, &j->lines) {
		if (!of_weights(l, pid) || l->start_ns >= at_ns)
			continue;
		if (l->end_ns <= at_ns)
			sum += (double)l->bytes;
		else
			sum += (double)l->bytes * (double)(at_ns - l->start_ns) /
			       (double)(l->end_ns - l->start_ns);
	}
	return sum;
}

/* When 95 % of this process's bytes were in: from then on it is no more in the stage of weights. */
static uint64_t weights_in_ns(const struct judge *j, int pid)
{
	uint64_t from = UINT64_MAX, to = 0;
	double want;

	vec_for_each (l, &j->lines) {
		if (!of_weights(l, pid))
			continue;
		from = l->start_ns < from ? l->start_ns : from;
		to = l->end_ns > to ? l->end_ns : to;
	}
	want = bytes_at(j, pid, to) * 0.95;
	if (from > to)
		return UINT64_MAX;
	while (from < to) {
		uint64_t at = from + (to - from) / 2;

		if (bytes_at(j, pid, at) < want)
			from = at + 1;
		else
			to = at;
	}
	return from;
}

/* A process that works is one with a step of the context. */
static void find_workers(const struct judge *j, workers *ret)
{
	vec_for_each (l, &j->lines) {
		const struct line *init = judge_line(j, "step", "process_init", l->pid);
		const struct line *alloc = judge_line(j, "step", "allocator", l->pid);
		const struct line *graphs = judge_line(j, "step", "graphs", l->pid);
		struct worker *w;

		if (strcmp(l->view, "step") || l->item != ITEM_CUDA_CONTEXT)
			continue;
		w = vec_add(ret);
		w->pid = l->pid;
		w->born_ns = init ? init->start_ns : l->start_ns;
		w->leaves_ns[STAGE_INIT] = l->start_ns;
		w->leaves_ns[STAGE_CONTEXT] = alloc ? alloc->start_ns : UINT64_MAX;
		w->leaves_ns[STAGE_WEIGHTS] = weights_in_ns(j, l->pid);
		w->leaves_ns[STAGE_JIT] = graphs ? graphs->end_ns : UINT64_MAX;
	}
}

static enum stage stage_at(const struct worker *w, uint64_t at_ns)
{
	int s = STAGE_INIT;

	while (s < STAGE_DONE && w->leaves_ns[s] <= at_ns)
		s++;
	return (enum stage)s;
}

static const struct worker *driver_at(const workers *all, uint64_t at_ns)
{
	const struct worker *best = NULL;
	enum stage least = STAGE_DONE;

	vec_for_each (w, all) {
		enum stage s = stage_at(w, at_ns);

		if (w->born_ns > at_ns || s == STAGE_DONE)
			continue;
		if (s < least || (best && s == least && w->leaves_ns[s] > best->leaves_ns[s])) {
			best = w;
			least = s;
		}
	}
	return best;
}

/* A process that died has no line for its last step: that is the one it died in. */
static enum item item_at(const struct judge *j, int pid, uint64_t at_ns, enum item open)
{
	vec_for_each (l, &j->lines)
		if (!strcmp(l->view, "step") && l->pid == pid && l->start_ns <= at_ns &&
		    at_ns < l->end_ns)
			return l->item;
	return open;
}

static void cut(const struct judge *j, const workers *all, uint64_t end_ns, moments *ret)
{
	vec_push(ret, j->start_ns);
	vec_push(ret, end_ns);
	vec_for_each (w, all) {
		vec_push(ret, w->born_ns);
		for (int s = 0; s < STAGE_DONE; s++)
			vec_push(ret, w->leaves_ns[s]);
	}
	vec_for_each (l, &j->lines)
		if (!strcmp(l->view, "step")) {
			vec_push(ret, l->start_ns);
			vec_push(ret, l->end_ns);
		}
	qsort(ret->v, ret->n, sizeof(*ret->v), by_time);
}

static bool is_work(const struct line *l, int pid)
{
	return !strcmp(l->view, "work") && l->pid == pid;
}

/* Whether `l` is the nearest to `at_ns` of its thread's pieces in [from_ns, to_ns). */
static bool nearest(const struct judge *j, const struct line *l, uint64_t from_ns, uint64_t to_ns,
		    bool last)
{
	if (l->start_ns < from_ns || l->end_ns > to_ns)
		return false;
	vec_for_each (k, &j->lines)
		if (is_work(k, l->pid) && k->tid == l->tid && k->start_ns >= from_ns &&
		    k->end_ns <= to_ns &&
		    (last ? k->start_ns > l->start_ns : k->start_ns < l->start_ns))
			return false;
	return true;
}

/*
 * What this process waited for a CPU about the moment at which one of its steps ended and the next began: in the last
 * piece of the one, behind it, before the first piece of the other and in that.
 */
static uint64_t delay_about(const struct judge *j, int pid, uint64_t at_ns)
{
	uint64_t sum = 0;

	vec_for_each (s, &j->lines) {
		bool ends = s->end_ns == at_ns, pieces = false;

		if (strcmp(s->view, "step") || s->pid != pid || (!ends && s->start_ns != at_ns))
			continue;
		vec_for_each (l, &j->lines) {
			if (!is_work(l, pid) ||
			    !nearest(j, l, s->start_ns, s->end_ns, ends && s->start_ns != at_ns))
				continue;
			pieces = true;
			sum += l->delay_ns;
		}
		if (ends || !pieces)
			sum += s->delay_ns;
	}
	return sum;
}

/* The same about the moment at which 95 % were in: of each thread, the pieces on either side of it. */
static uint64_t delay_about_bytes(const struct judge *j, int pid, uint64_t at_ns)
{
	uint64_t sum = 0;

	vec_for_each (l, &j->lines)
		if (of_weights(l, pid) &&
		    (l->start_ns <= at_ns ? nearest(j, l, 0, at_ns, true) || l->end_ns > at_ns
					  : nearest(j, l, at_ns, UINT64_MAX, false)))
			sum += l->delay_ns;
	return sum;
}

static uint64_t delay_of(const struct judge *j, const struct worker *w, uint64_t at_ns)
{
	if (w->leaves_ns[STAGE_WEIGHTS] == at_ns)
		return delay_about_bytes(j, w->pid, at_ns);
	return delay_about(j, w->pid, at_ns);
}

/* Between two allocations lies nothing of coldprof's: a wait there is no part of either. */
static uint64_t delay_inside(const struct judge *j, int pid, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum = 0;

	vec_for_each (l, &j->lines)
		if (is_work(l, pid) && l->item == ITEM_ALLOCATOR && l->start_ns >= from_ns &&
		    l->end_ns <= to_ns)
			sum += l->delay_ns;
	return sum;
}

/*
 * Nor does any lie between two pieces of weights: time in which none of the process's threads was in one, as far as they
 * waited for a CPU.
 */
static uint64_t gaps_inside(const struct judge *j, int pid, uint64_t from_ns, uint64_t to_ns)
{
	VEC(struct piece) pieces = {0};
	uint64_t gaps_ns = 0, delay_ns = 0, reached_ns;

	vec_for_each (l, &j->lines) {
		if (!of_weights(l, pid))
			continue;
		vec_push(&pieces, ((struct piece){l->start_ns, l->end_ns}));
		delay_ns += l->delay_ns;
	}
	union_ns(pieces.v, pieces.n);
	reached_ns = pieces.n ? pieces.v[0].end_ns : 0;
	vec_for_each (p, &pieces) {
		if (p->start_ns > reached_ns + JOIN_NS) {
			uint64_t from = reached_ns > from_ns ? reached_ns : from_ns;
			uint64_t to = p->start_ns < to_ns ? p->start_ns : to_ns;

			gaps_ns += to > from ? to - from : 0;
		}
		reached_ns = p->end_ns > reached_ns ? p->end_ns : reached_ns;
	}
	vec_free(&pieces);
	return gaps_ns < delay_ns ? gaps_ns : delay_ns;
}

struct drive {
	const struct worker *by;
	enum item item;
};

static void widen(struct wall *w, enum item item, uint64_t delay_ns)
{
	w->delay_ns[item] += delay_ns;
	if (item != ITEM_OTHER)
		w->delay_ns[ITEM_OTHER] += delay_ns;
}

/* From `before` to `now` at a moment: both may be longer or shorter by what was waited about it. */
static void widen_both(const struct judge *j, struct wall *w, const struct drive *before,
		       const struct drive *now, uint64_t at_ns)
{
	uint64_t delay_ns = 0;

	if (before->item == now->item)
		return;
	if (before->by)
		delay_ns += delay_of(j, before->by, at_ns);
	if (now->by && now->by != before->by)
		delay_ns += delay_of(j, now->by, at_ns);
	widen(w, before->item, delay_ns);
	widen(w, now->item, delay_ns);
}

bool truth_wall(const struct judge *j, struct wall *ret)
{
	const struct line *ready = judge_line(j, "event", "ready", 0);
	const struct line *end = ready ? ready : judge_line(j, "event", "crash", 0);
	struct drive before = {NULL, ITEM_PROCESS_INIT}, now;
	uint64_t first = UINT64_MAX;
	workers all = {0};
	moments at = {0};

	memset(ret, 0, sizeof(*ret));
	if (!end)
		return false;
	ret->end_ns = j->end_ns < end->start_ns ? end->start_ns
		      : j->end_ns > end->end_ns ? end->end_ns
						: j->end_ns;
	find_workers(j, &all);
	vec_for_each (w, &all)
		first = w->born_ns < first ? w->born_ns : first;
	cut(j, &all, ret->end_ns, &at);
	for (size_t i = 0; i + 1 < at.n && at.v[i + 1] <= ret->end_ns; i++) {
		if (at.v[i] < j->start_ns || at.v[i] == at.v[i + 1])
			continue;
		now = (struct drive){driver_at(&all, at.v[i]), ITEM_PROCESS_INIT};
		if (now.by)
			now.item = item_at(j, now.by->pid, at.v[i], end->item);
		else if (at.v[i] >= first)
			now.item = ITEM_SERVING_UP;
		ret->ns[now.item] += at.v[i + 1] - at.v[i];
		widen_both(j, ret, &before, &now, at.v[i]);
		if (now.by && now.item == ITEM_ALLOCATOR)
			widen(ret, ITEM_ALLOCATOR,
			      delay_inside(j, now.by->pid, at.v[i], at.v[i + 1]));
		if (now.by && now.item == ITEM_WEIGHTS)
			widen(ret, ITEM_WEIGHTS, gaps_inside(j, now.by->pid, at.v[i], at.v[i + 1]));
		before = now;
	}
	vec_free(&all);
	vec_free(&at);
	return true;
}
