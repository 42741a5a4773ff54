/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long each page fault took, where the kernel does not tell of faults
 * in files by itself (mapped.bpf.c): PAGE_FAULTS fires at its start, PAGE_FAULTS_MIN or _MAJ at its
 * end, with the same address on the same thread. Which file it was is found by coldprof, from the
 * mappings.
 */
#include "slots.bpf.h"

SEC("perf_event")
int fault_start(struct perf_event_context *ctx)
{
	struct thread *th;

	if (detached)
		return 0;
	th = thread_current();
	if (!th)
		return 0;
	th->fault_ns = bpf_ktime_get_ns();
	th->fault_address = ctx->addr;
	th->fault_fill = 0;
	th->fault_dev = th->fault_ino = 0;
	return 0;
}

static __always_inline int fault_end(struct perf_event_context *ctx)
{
	uint64_t address = ctx->addr, start_ns, now;
	struct fault_slot *s;
	struct thread *th;

	if (detached)
		return 0;
	th = thread_current();
	if (!th)
		return 0;
	th->fault_ends++;
	now = bpf_ktime_get_ns();
	start_ns = th->fault_ns;
	if (!start_ns || th->fault_address != address) {
		th->fault_untimed++;
		start_ns = now;
	}
	s = fault_slot_of(th, 0, 0, address, start_ns);
	fault_slot_add(s, address, address, start_ns, now);
	if (th->fault_ino) {
		s->r.fill_bytes += th->fault_fill;
		s->r.dev = th->fault_dev;
		s->r.ino = th->fault_ino;
	}
	th->fault_ns = 0;
	return 0;
}

SEC("perf_event")
int fault_end_minor(struct perf_event_context *ctx)
{
	return fault_end(ctx);
}

SEC("perf_event")
int fault_end_major(struct perf_event_context *ctx)
{
	return fault_end(ctx);
}
