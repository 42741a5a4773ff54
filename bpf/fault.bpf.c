/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long each page fault took: PAGE_FAULTS fires at its start, PAGE_FAULTS_MIN or _MAJ at its
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

static __always_inline struct fault_slot *fault_slot_of(struct thread *th, uint64_t address,
							uint64_t start_ns)
{
	struct fault_slot *s;
	uint64_t region;
	uint32_t i;

	if (start_ns - th->window_ns >= KERNEL_BIN_NS) {
		th->window_ns = start_ns;
		th->evictions = 0;
	}
	if (th->evictions < COARSE_AFTER)
		region = (address >> FINE_SHIFT) + 1;
	else
		region = ((address >> COARSE_SHIFT) + 1) | 1ull << 63;
	for (i = 0; i < FAULT_SLOTS; i++) {
		s = &th->faults[i];
		if (s->region != region)
			continue;
		if (start_ns - s->start_ns < KERNEL_BIN_NS)
			return s;
		fault_slot_emit(th, s);
		goto fresh;
	}
	i = th->fault_victim;
	th->fault_victim = i + 1 < FAULT_SLOTS ? i + 1 : 0;
	if (i >= FAULT_SLOTS)
		i = 0;
	s = &th->faults[i];
	if (s->region) {
		fault_slot_emit(th, s);
		th->evictions++;
	}
fresh:
	s->region = region;
	s->start_ns = start_ns;
	s->min_address = ~0ull;
	s->max_address = 0;
	s->wait_ns = s->fill_bytes = s->dev = s->ino = 0;
	s->faults = s->major = 0;
	slot_opened(th, start_ns);
	return s;
}

static __always_inline int fault_end(struct perf_event_context *ctx, uint32_t major)
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
	s = fault_slot_of(th, address, start_ns);
	s->end_ns = now;
	s->wait_ns += now - start_ns;
	s->faults++;
	s->major += major;
	if (address < s->min_address)
		s->min_address = address;
	if (address > s->max_address)
		s->max_address = address;
	if (th->fault_ino) {
		s->fill_bytes += th->fault_fill;
		s->dev = th->fault_dev;
		s->ino = th->fault_ino;
	}
	th->fault_ns = 0;
	return 0;
}

SEC("perf_event")
int fault_end_minor(struct perf_event_context *ctx)
{
	return fault_end(ctx, 0);
}

SEC("perf_event")
int fault_end_major(struct perf_event_context *ctx)
{
	return fault_end(ctx, 1);
}
