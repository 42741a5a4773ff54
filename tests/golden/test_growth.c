/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ten times the input is at most some twelve times the steps, whatever its shape: the sweep counts
 * its own steps, so that no clock is asked. COLDPROF_TIMES=1 prints CPU seconds beside them.
 */
#include <time.h>

#include "../tap.h"
#include "attribute/attribute.h"

#define S UINT64_C(1000000000)

static void evidence(struct trace *t, int32_t p, int32_t tid, int kind, uint64_t a, uint64_t b)
{
	struct evidence e = {.process = p,
			     .tid = tid,
			     .kind = (uint16_t)kind,
			     .file = NO_INDEX,
			     .start_ns = a,
			     .end_ns = b,
			     .bytes = b - a,
			     .wait_ns = UNKNOWN};

	vec_push(&t->evidence, e);
}

static void process(struct trace *t, int32_t parent, uint64_t start, uint64_t end, int role)
{
	struct process p = {.pid = 100 + (int32_t)t->processes.n,
			    .parent = parent,
			    .start_ns = start,
			    .exec_ns = UNKNOWN,
			    .end_ns = end,
			    .role = (uint8_t)role,
			    .status = -1,
			    .name = "p"};

	vec_push(&t->processes, p);
}

static void times(struct trace *t, int32_t p, int32_t tid, size_t n, uint64_t step)
{
	for (size_t i = 0; i < n; i++) {
		struct thread_time x = {.process = p,
					.tid = tid,
					.start_ns = S + i * step,
					.end_ns = S + (i + 1) * step};

		if (i % 2)
			x.sleep_ns = step;
		else
			x.cpu_ns = step;
		vec_push(&t->times, x);
	}
}

/*
 * One process, four threads, reads with faults in them,
 * modules between; its thread sleeps every other 20 ms.
 */
static void one_process(struct trace *t, size_t n)
{
	process(t, NO_INDEX, S, UNKNOWN, ROLE_PLAIN);
	for (size_t i = 0; i < n / 4; i++) {
		uint64_t at = 2 * S + i * 100000;
		int32_t tid = 100 + (int32_t)(i % 4);

		evidence(t, 0, tid, KIND_H2D, at, at + 60000);
		evidence(t, 0, tid, KIND_FAULT, at + 10000, at + 20000);
		evidence(t, 0, tid, KIND_FAULT, at + 30000, at + 40000);
		evidence(t, 0, tid, KIND_MODULE_LOAD, at + 70000, at + 80000);
	}
	times(t, 0, 100, n / 10, 20000000);
}

/* Ranks that read at once and wait in turn. */
static void ranks(struct trace *t, size_t n)
{
	process(t, NO_INDEX, S, UNKNOWN, ROLE_PLAIN);
	for (int32_t p = 1; p <= 16; p++)
		process(t, 0, S + (uint64_t)p, UNKNOWN, ROLE_PLAIN);
	for (size_t i = 0; i < n / 16; i++)
		for (int32_t p = 1; p <= 16; p++) {
			uint64_t at = 2 * S + i * 1000000 + (uint64_t)p * 10000;

			evidence(t, p, 100 + p, i % 100 == 99 ? KIND_CAPTURE : KIND_READ, at,
				 at + 300000);
		}
	for (int32_t p = 1; p <= 16; p++)
		times(t, p, 100 + p, n / 160, 15000000);
}

/* A process that starts children without end, each for a moment, and waits for them. */
static void children(struct trace *t, size_t n)
{
	process(t, NO_INDEX, S, UNKNOWN, ROLE_PLAIN);
	for (size_t i = 0; i < n / 10; i++)
		process(t, 0, S + i * 1000000, S + i * 1000000 + 3000000,
			i % 3 ? ROLE_PLAIN : ROLE_COMPILER);
	times(t, 0, 100, n / 10, 20000000);
	evidence(t, 0, 100, KIND_READ, S + n * 100000, S + n * 100000 + 5);
	evidence(t, 0, 100, KIND_COMPILE, S + n * 200000, S + n * 200000 + 5);
}

/* Everything begins at one moment and nests. */
static void nested(struct trace *t, size_t n)
{
	process(t, NO_INDEX, S, UNKNOWN, ROLE_PLAIN);
	for (size_t i = 0; i < n; i++) {
		static const int kinds[] = {KIND_READ, KIND_H2D, KIND_FAULT};

		evidence(t, 0, 100 + (int32_t)(i / 3 % 50), kinds[i % 3], 2 * S + i % 7, 3 * S + i);
	}
}

/* Loading, post-processing and small allocations over and over. */
static void gaps(struct trace *t, size_t n)
{
	process(t, NO_INDEX, S, UNKNOWN, ROLE_PLAIN);
	for (size_t i = 0; i < n / 2; i++) {
		uint64_t at = 2 * S + i * 3000000;

		evidence(t, 0, 100, i % 4 < 2 ? KIND_READ : KIND_COMPILE, at, at + 500000);
		evidence(t, 0, 100, KIND_ALLOC, at + 600000, at + 700000);
	}
	times(t, 0, 100, n / 10, 16000000);
}

static uint64_t steps(void (*make)(struct trace *t, size_t n), size_t n)
{
	struct timespec a, b;
	uint64_t sum = 0, end = 0;
	struct ledger l;
	struct trace t;

	trace_init(&t);
	make(&t, n);
	vec_for_each (e, &t.evidence)
		end = e->end_ns > end ? e->end_ns : end;
	t.run.start_ns = S;
	t.run.ready_ns = t.run.end_ns = end + S;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	if (attribute(&t, t.run.end_ns, &l))
		bail("attribute refuses the input");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	if (getenv("COLDPROF_TIMES"))
		diag("%zu pieces, %zu times, %zu processes: %.3f s of CPU, %zu segments, %" PRIu64
		     " steps",
		     t.evidence.n, t.times.n, t.processes.n,
		     (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9,
		     l.segments.n, l.steps);
	vec_for_each (r, &l.rows)
		sum += r->wall_ns;
	if (sum != t.run.end_ns - S)
		bail("the rows do not sum to the wall");
	sum = l.steps;
	ledger_done(&l);
	trace_done(&t);
	return sum;
}

int main(void)
{
	static const struct {
		const char *name;
		void (*make)(struct trace *t, size_t n);
	} shapes[] = {{"one process", one_process},
		      {"sixteen ranks", ranks},
		      {"many children", children},
		      {"all nested", nested},
		      {"many gaps", gaps}};
	size_t small = 10000;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		uint64_t few = steps(shapes[i].make, small),
			 many = steps(shapes[i].make, 10 * small);

		if (!ok(many > few && many <= 14 * few,
			"%s: ten times the input, about ten times the steps", shapes[i].name))
			diag("%" PRIu64 " steps, then %" PRIu64, few, many);
		if (getenv("COLDPROF_TIMES"))
			steps(shapes[i].make, 100 * small);
	}
	return done_testing();
}
