/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.times, kept small: a record that says the same as the one before it on the same thread
 * makes that one longer. The same is: every share of the time differs by less than a fiftieth.
 */
#include "probe/inside.h"

#include <stdlib.h>
#include <string.h>

#include "model/model.h"

#define LAST_RECORDS 4

struct last_time {
	struct {
		int32_t process, tid;
	} key;
	int32_t records[LAST_RECORDS]; /* in trace.times, latest first; -1 none */
	UT_hash_handle hh;
};

static bool near(uint64_t a, uint64_t a_of, uint64_t b, uint64_t b_of)
{
	double d;

	if (a == UNKNOWN || b == UNKNOWN)
		return a == b;
	d = (double)a / (double)a_of - (double)b / (double)b_of;
	return d > -0.02 && d < 0.02;
}

static bool alike(const struct thread_time *a, const struct thread_time *b)
{
	uint64_t na = a->end_ns - a->start_ns, nb = b->end_ns - b->start_ns;

	if (a->end_ns != b->start_ns || !na || !nb)
		return false;
	/* Yields a second, within a half. */
	if ((a->yields == UNKNOWN) != (b->yields == UNKNOWN))
		return false;
	if (a->yields != UNKNOWN) {
		double ra = (double)a->yields / (double)na, rb = (double)b->yields / (double)nb;

		if (ra > 1.5 * rb + 1e-6 || rb > 1.5 * ra + 1e-6)
			return false;
	}
	return near(a->cpu_ns, na, b->cpu_ns, nb) && near(a->runnable_ns, na, b->runnable_ns, nb) &&
	       near(a->io_wait_ns, na, b->io_wait_ns, nb) && near(a->sleep_ns, na, b->sleep_ns, nb);
}

static void plus(uint64_t *a, uint64_t b)
{
	if (*a != UNKNOWN)
		*a += b;
}

static struct thread_time *push(struct probe *p, struct last_time *l, const struct thread_time *t)
{
	memmove(&l->records[1], &l->records[0], (LAST_RECORDS - 1) * sizeof(l->records[0]));
	l->records[0] = (int32_t)p->trace->times.n;
	vec_push(&p->trace->times, *t);
	return vec_last(&p->trace->times);
}

void times_add(struct probe *p, const struct thread_time *t)
{
	struct last_time *l, want = {.key = {t->process, t->tid}};
	struct thread_time *last;

	HASH_FIND(hh, p->last_times, &want.key, sizeof(want.key), l);
	if (!l) {
		l = xcalloc(1, sizeof(*l));
		l->key = want.key;
		memset(l->records, -1, sizeof(l->records));
		HASH_ADD(hh, p->last_times, key, sizeof(l->key), l);
	} else {
		last = &p->trace->times.v[l->records[0]];
		if (alike(last, t)) {
			last->end_ns = t->end_ns;
			plus(&last->cpu_ns, t->cpu_ns);
			plus(&last->runnable_ns, t->runnable_ns);
			plus(&last->io_wait_ns, t->io_wait_ns);
			plus(&last->sleep_ns, t->sleep_ns);
			plus(&last->yields, t->yields);
			return;
		}
	}
	push(p, l, t);
}

/* Time of a thread that its counters told late. */
struct late {
	uint64_t cpu_ns, runnable_ns;
};

static void take_late(struct thread_time *t, uint64_t room_ns, struct late *late)
{
	uint64_t runnable_ns = late->runnable_ns < room_ns ? late->runnable_ns : room_ns;
	uint64_t cpu_ns = room_ns - runnable_ns;

	cpu_ns = late->cpu_ns < cpu_ns ? late->cpu_ns : cpu_ns;
	t->runnable_ns += runnable_ns;
	t->cpu_ns += cpu_ns;
	late->runnable_ns -= runnable_ns;
	late->cpu_ns -= cpu_ns;
}

/* The last ns of the thread's last record become one of their own, in which nothing is told yet. */
static struct thread_time *cut_tail(struct probe *p, struct last_time *l, uint64_t ns)
{
	struct thread_time *t = &p->trace->times.v[l->records[0]], tail = *t;

	t->end_ns -= ns;
	tail.start_ns = t->end_ns;
	tail.cpu_ns = tail.runnable_ns = 0;
	return push(p, l, &tail);
}

/*
 * What was late ended at end_ns and was in one piece: it fills the end of the thread's last record that has room, and
 * if that held nothing else, all of it, and the one before. The last is cut there if it was idle till then.
 */
static void charge_back(struct probe *p, struct last_time *l, uint64_t end_ns, struct late late)
{
	for (int at = 0; at < LAST_RECORDS && l->records[at] >= 0; at++) {
		struct thread_time *t = &p->trace->times.v[l->records[at]];
		uint64_t len = t->end_ns - t->start_ns, all = late.cpu_ns + late.runnable_ns, busy;

		if (!all || t->end_ns != end_ns || t->cpu_ns == UNKNOWN ||
		    t->runnable_ns == UNKNOWN)
			return;
		end_ns = t->start_ns;
		busy = t->cpu_ns + t->runnable_ns;
		if (busy >= len)
			continue;
		if (at == 0 && busy < len / 10 && all < len - busy) {
			take_late(cut_tail(p, l, all), all, &late);
			return;
		}
		take_late(t, len - busy, &late);
		if (busy)
			return;
	}
}

void times_add_sampled(struct probe *p, struct thread_time *t)
{
	struct last_time *l, want = {.key = {t->process, t->tid}};
	uint64_t len = t->end_ns - t->start_ns;
	struct late late = {0};

	if (t->cpu_ns > len)
		late.cpu_ns = t->cpu_ns - len;
	t->cpu_ns -= late.cpu_ns;
	if (t->runnable_ns > len - t->cpu_ns)
		late.runnable_ns = t->runnable_ns - (len - t->cpu_ns);
	t->runnable_ns -= late.runnable_ns;
	HASH_FIND(hh, p->last_times, &want.key, sizeof(want.key), l);
	if (l)
		charge_back(p, l, t->start_ns, late);
	times_add(p, t);
}

void times_free(struct probe *p)
{
	struct last_time *l, *next;

	HASH_ITER (hh, p->last_times, l, next) {
		HASH_DEL(p->last_times, l);
		free(l);
	}
}
