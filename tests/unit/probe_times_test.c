/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's counters, read now and then: a wait for a CPU shows when it has ended, and is put where it was. Times are
 * milliseconds.
 */
#include "../tap.h"
#include "model/model.h"
#include "probe/inside.h"

#define MS UINT64_C(1000000)

static struct trace trace;
static struct probe probe;
static uint64_t now_ms;

static void begin(void)
{
	memset(&probe, 0, sizeof(probe));
	trace_init(&trace);
	probe.trace = &trace;
	now_ms = 0;
}

/* The counters grew by so much in the `ms` since they were last read. */
static void sample(uint64_t ms, uint64_t cpu_ms, uint64_t runnable_ms)
{
	struct thread_time t = {.process = 0,
				.tid = 7,
				.start_ns = now_ms * MS,
				.end_ns = (now_ms + ms) * MS,
				.cpu_ns = cpu_ms * MS,
				.runnable_ns = runnable_ms * MS,
				.io_wait_ns = UNKNOWN,
				.sleep_ns = UNKNOWN,
				.yields = UNKNOWN};

	now_ms += ms;
	times_add_sampled(&probe, &t);
}

/* "0-20 cpu 10 runnable 0; …" must be `want`. */
static void holds(const char *want, const char *what)
{
	char got[1024] = "";
	size_t n = 0;

	vec_for_each (t, &trace.times)
		n += (size_t)snprintf(got + n, sizeof(got) - n,
				      "%s%" PRIu64 "-%" PRIu64 " cpu %" PRIu64 " runnable %" PRIu64,
				      n ? "; " : "", t->start_ns / MS, t->end_ns / MS,
				      t->cpu_ns / MS, t->runnable_ns / MS);
	is_str(got, want, "%s", what);
	times_free(&probe);
	trace_done(&trace);
}

int main(void)
{
	begin();
	sample(20, 10, 10);
	sample(30, 0, 0);
	sample(20, 15, 35);
	holds("0-20 cpu 10 runnable 10; 20-50 cpu 0 runnable 30; 50-70 cpu 15 runnable 5",
	      "a wait that ends behind a sample fills the stretch in which it seemed to sleep");

	begin();
	sample(20, 12, 0);
	sample(30, 0, 0);
	sample(20, 10, 48);
	holds("0-20 cpu 12 runnable 8; 20-50 cpu 0 runnable 30; 50-70 cpu 10 runnable 10",
	      "and the end of the one before it");

	begin();
	sample(20, 20, 0);
	sample(100, 0, 0);
	sample(20, 5, 55);
	holds("0-20 cpu 20 runnable 0; 20-80 cpu 0 runnable 0; 80-120 cpu 0 runnable 40; "
	      "120-140 cpu 5 runnable 15",
	      "a sleep before the wait stays a sleep");

	begin();
	sample(20, 20, 0);
	sample(100, 2, 0);
	sample(20, 5, 55);
	holds("0-20 cpu 20 runnable 0; 20-80 cpu 2 runnable 0; 80-120 cpu 0 runnable 40; "
	      "120-140 cpu 5 runnable 15",
	      "so it does where the thread looked up for a moment");

	begin();
	sample(20, 6, 0);
	sample(20, 24, 0);
	holds("0-20 cpu 10 runnable 0; 20-40 cpu 20 runnable 0",
	      "CPU time that was told late is put before, too");

	begin();
	sample(100, 10, 0);
	sample(20, 0, 20);
	sample(20, 5, 75);
	holds("0-100 cpu 10 runnable 60; 100-120 cpu 0 runnable 20; 120-140 cpu 5 runnable 15",
	      "a stretch that is known to be such a wait does not hide the one before it");

	begin();
	sample(20, 10, 10);
	sample(20, 15, 20);
	holds("0-20 cpu 10 runnable 10; 20-40 cpu 15 runnable 5",
	      "no record holds more than its length");
	return done_testing();
}
