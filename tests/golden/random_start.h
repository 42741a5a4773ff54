/* SPDX-License-Identifier: Apache-2.0 */
/* Random starts: the same seed gives the same start. */
#pragma once
#include "model/model.h"

#define MS	UINT64_C(1000000)
#define BASE_NS (UINT64_C(77) * 1000 * MS)
#define WALL_NS (UINT64_C(4000) * MS)

struct random {
	uint64_t x;
};

static uint64_t next(struct random *r, uint64_t n)
{
	r->x ^= r->x << 13;
	r->x ^= r->x >> 7;
	r->x ^= r->x << 17;
	return n ? (r->x * UINT64_C(0x2545F4914F6CDD1D) >> 33) % n : 0;
}

/*
 * Mostly whole 5 ms, so that things begin and end together;
 * sometimes any nanosecond, sometimes outside of the run.
 */
static uint64_t moment(struct random *r)
{
	uint64_t odd = next(r, 4) ? 0 : next(r, 5 * MS);

	return BASE_NS - 50 * MS + next(r, 830) * 5 * MS + odd;
}

static uint64_t length(struct random *r)
{
	switch (next(r, 5)) {
	case 0:
		return next(r, 3) * 5 * MS;
	case 1:
		return next(r, 20 * MS);
	case 2:
		return next(r, 1200) * MS;
	default:
		return next(r, 60) * 5 * MS;
	}
}

static void make_processes(struct random *r, struct trace *t)
{
	size_t n = 1 + next(r, 7);
	static const char *const names[] = {"api", "core", "worker", "rank", "cc1plus", "sh"};

	for (size_t i = 0; i < n; i++) {
		struct process p = {.pid = 1000 - (int32_t)i,
				    .ppid = 1,
				    .parent = NO_INDEX,
				    .start_ns = BASE_NS,
				    .exec_ns = UNKNOWN,
				    .end_ns = UNKNOWN,
				    .status = -1,
				    .name = names[next(r, 6)]};

		if (i) {
			p.parent = (int32_t)next(r, i);
			p.start_ns = t->processes.v[p.parent].start_ns + length(r);
			if (!next(r, 4))
				p.end_ns = p.start_ns + length(r) + 1;
			if (!next(r, 5))
				p.role = (uint8_t)(1 + next(r, 2));
		}
		vec_push(&t->processes, p);
	}
}

static void make_evidence(struct random *r, struct trace *t)
{
	/* Whole families, so that ranks in one stage and weights among jit are common. */
	static const uint16_t often[] = {KIND_READ,    KIND_FAULT, KIND_H2D,	    KIND_CAPTURE,
					 KIND_COMPILE, KIND_ALLOC, KIND_CU_INIT,    KIND_CONTEXT,
					 KIND_IMPORT,  KIND_SYNC,  KIND_MODULE_LOAD};
	size_t n = next(r, 40), only = next(r, 3);

	for (size_t i = 0; i < n; i++) {
		struct evidence e = {.process = (int32_t)next(r, t->processes.n),
				     .file = NO_INDEX,
				     .wait_ns = UNKNOWN};

		if (only == 1)
			e.process = (int32_t)(t->processes.n - 1);
		e.tid = t->processes.v[e.process].pid + (int32_t)next(r, 3) * 1000;
		e.kind = next(r, 4) ? often[next(r, sizeof(often) / sizeof(*often))]
				    : (uint16_t)next(r, KIND_COUNT);
		e.start_ns = moment(r);
		e.end_ns = e.start_ns + length(r);
		if (kind_item(e.kind) == ITEM_WEIGHTS && next(r, 5))
			e.bytes = (e.end_ns - e.start_ns) * (1 + next(r, 3));
		vec_push(&t->evidence, e);
	}
}

static void make_spans(struct random *r, struct trace *t)
{
	static const char *const names[] = {"load", "compile", "profile run", "capture"};
	size_t n = next(r, 3) ? 0 : next(r, 6);

	for (size_t i = 0; i < n; i++) {
		struct span s = {.process = (int32_t)next(r, t->processes.n + 1) - 1,
				 .item = (uint16_t)next(r, ITEM_COUNT),
				 .container = !next(r, 3),
				 .start_ns = moment(r),
				 .name = names[next(r, 4)]};

		s.end_ns = s.start_ns + length(r);
		vec_push(&t->spans, s);
	}
}

static void make_times(struct random *r, struct trace *t)
{
	if (!next(r, 4))
		return;
	for (size_t p = 0; p < t->processes.n; p++)
		for (int32_t h = 0; h < 3; h++) {
			uint64_t at = BASE_NS - 10 * MS;

			while (at < BASE_NS + WALL_NS + 10 * MS) {
				struct thread_time x = {.process = (int32_t)p,
							.tid = t->processes.v[p].pid + h * 1000,
							.start_ns = at,
							.end_ns = at + 1 + length(r)};
				uint64_t len = x.end_ns - x.start_ns;

				x.cpu_ns = next(r, 3) ? len : len / 10 * next(r, 3);
				x.sleep_ns = len - x.cpu_ns;
				if (!next(r, 8))
					x.yields = len / (50000 + next(r, 100000));
				if (!next(r, 20))
					x.cpu_ns = x.sleep_ns = x.runnable_ns = x.io_wait_ns =
						UNKNOWN;
				at = x.end_ns + (next(r, 10) ? 0 : length(r));
				vec_push(&t->times, x);
			}
		}
}

static void make(uint64_t seed, struct trace *t)
{
	struct random r = {seed * UINT64_C(0x9E3779B97F4A7C15) + 1};

	for (int i = 0; i < 8; i++)
		next(&r, 0);
	trace_init(t);
	t->run.start_ns = BASE_NS;
	t->run.end_ns = BASE_NS + WALL_NS;
	t->run.ready_ns = next(&r, 6) ? t->run.end_ns : UNKNOWN;
	make_processes(&r, t);
	make_evidence(&r, t);
	make_spans(&r, t);
	make_times(&r, t);
	if (next(&r, 2)) {
		struct listener l = {.process = (int32_t)next(&r, t->processes.n),
				     .port = 8000,
				     .at_ns = moment(&r)};

		t->run.ready_mark = "http:8000/health";
		vec_push(&t->listeners, l);
	}
	/* Ends: well, with 1, by SIGKILL, by a crash. */
	vec_for_each (p, &t->processes)
		if (p->end_ns != UNKNOWN && next(&r, 2))
			p->status = (int32_t[]){0, 256, 9, 11}[next(&r, 4)];
}
