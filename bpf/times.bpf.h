/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The states of a thread become records: short ones gathered, a long one by itself. */
#pragma once
#include "state.bpf.h"

static __always_inline void times_emit(struct thread *th, uint64_t end_ns)
{
	struct kernel_times r;

	head_fill(&r.head, KERNEL_TIMES, th, th->bin_ns);
	r.end_ns = end_ns;
	r.cpu_ns = th->spent_ns[RUN];
	r.runnable_ns = th->spent_ns[RUNNABLE];
	r.io_wait_ns = th->spent_ns[IO_WAIT];
	r.sleep_ns = th->spent_ns[SLEEP];
	r.yields = th->yields;
	emit(&r, sizeof(r), false);
	th->spent_ns[RUN] = th->spent_ns[RUNNABLE] = th->spent_ns[IO_WAIT] = th->spent_ns[SLEEP] =
		0;
	th->yields = 0;
	th->bin_ns = end_ns;
}

/* So long a record at most gathers short states: a thousandth of what the run has taken. */
static __always_inline uint64_t times_bin(uint64_t now)
{
	uint64_t bin = (now - began_ns) >> 10;

	if (bin < KERNEL_BIN_NS)
		return KERNEL_BIN_NS;
	return bin < KERNEL_TIMES_MAX_NS ? bin : KERNEL_TIMES_MAX_NS;
}

/*
 * The present state ends now. A long state gets a
 * record of its own, so that its place in time is kept.
 */
static __always_inline void times_move(struct thread *th, uint32_t state, uint64_t now)
{
	uint64_t took = now - th->since_ns;

	if (!th->since_ns) {
		th->since_ns = th->bin_ns = now;
		th->state = state;
		return;
	}
	if (took >= KERNEL_BIN_NS && th->since_ns > th->bin_ns)
		times_emit(th, th->since_ns);
	switch (th->state) {
	case RUN:
		th->spent_ns[RUN] += took;
		break;
	case RUNNABLE:
		th->spent_ns[RUNNABLE] += took;
		break;
	case IO_WAIT:
		th->spent_ns[IO_WAIT] += took;
		break;
	default:
		th->spent_ns[SLEEP] += took;
	}
	th->since_ns = now;
	th->state = state;
	if (now - th->bin_ns >= times_bin(now))
		times_emit(th, now);
}

/* What is gathered up to now. */
static __always_inline void times_close(struct thread *th, uint64_t now)
{
	times_move(th, th->state, now);
	if (th->bin_ns < now)
		times_emit(th, now);
}
