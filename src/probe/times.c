/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.times, kept small: a record that says the same as the one before it on the same thread
 * makes that one longer. The same is: every share of the time differs by less than a fiftieth.
 */
#include "probe/inside.h"

#include <stdlib.h>
#include <string.h>

#include "model/model.h"

struct last_time {
	struct {
		int32_t process, tid;
	} key;
	int32_t record;
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

void times_add(struct probe *p, const struct thread_time *t)
{
	struct last_time *l, want = {.key = {t->process, t->tid}};
	struct thread_time *last;

	HASH_FIND(hh, p->last_times, &want.key, sizeof(want.key), l);
	if (!l) {
		l = xcalloc(1, sizeof(*l));
		l->key = want.key;
		HASH_ADD(hh, p->last_times, key, sizeof(l->key), l);
	} else {
		last = &p->trace->times.v[l->record];
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
	l->record = (int32_t)p->trace->times.n;
	vec_push(&p->trace->times, *t);
}

/*
 * The wait for a CPU is charged when it ends: a stretch in which nothing was charged may have
 * been part of a wait that shows only in the next one. Its last late_ns become runnable time.
 */
void times_charge_back(struct probe *p, int32_t process, int32_t tid, uint64_t end_ns,
		       uint64_t late_ns)
{
	struct last_time *l, want = {.key = {process, tid}};
	struct thread_time *last, tail;
	uint64_t len, room;

	HASH_FIND(hh, p->last_times, &want.key, sizeof(want.key), l);
	last = l ? &p->trace->times.v[l->record] : NULL;
	if (!last || last->end_ns != end_ns)
		return;
	len = last->end_ns - last->start_ns;
	if (last->cpu_ns || last->runnable_ns || late_ns >= len) {
		room = len > last->cpu_ns + last->runnable_ns
			       ? len - last->cpu_ns - last->runnable_ns
			       : 0;
		last->runnable_ns += late_ns < room ? late_ns : room;
		return;
	}
	tail = *last;
	last->end_ns -= late_ns;
	tail.start_ns = last->end_ns;
	tail.runnable_ns = late_ns;
	l->record = (int32_t)p->trace->times.n;
	vec_push(&p->trace->times, tail);
}

void times_free(struct probe *p)
{
	struct last_time *l, *next;

	HASH_ITER (hh, p->last_times, l, next) {
		HASH_DEL(p->last_times, l);
		free(l);
	}
}
