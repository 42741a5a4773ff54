/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Run once by coldprof when the run is over: hand over
 * what living threads still gather. Attached to nothing.
 */
#include "slots.bpf.h"

struct finish {
	uint64_t now_ns;
};

static long finish_thread(void *map, const void *key, struct thread *th, struct finish *f)
{
	thread_sum(th);
	if (f->now_ns > th->bin_ns) {
		times_move(th, th->state, f->now_ns);
		if (th->bin_ns < f->now_ns)
			times_emit(th, f->now_ns);
	}
	return 0;
}

SEC("raw_tp")
int finish(void *ctx)
{
	struct finish f = {.now_ns = bpf_ktime_get_ns()};

	bpf_for_each_map_elem(&threads, finish_thread, &f, 0);
	return 0;
}
