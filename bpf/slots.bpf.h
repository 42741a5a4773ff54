/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pieces of at most KERNEL_BIN_NS in which faults and reads are gathered per thread. */
#pragma once
#include "state.bpf.h"

/* Not static, as others here: the kernel verifies these once, whatever the callers know. */
__noinline int fault_slot_emit(const struct thread *th, struct fault_slot *s)
{
	if (!th || !s)
		return 0;
	head_fill(&s->r.head, KERNEL_FAULTS, th, s->r.head.at_ns);
	emit(&s->r, sizeof(s->r), false);
	s->region = 0;
	return 0;
}

__noinline int io_slot_emit(const struct thread *th, struct io_slot *s)
{
	if (!th || !s)
		return 0;
	head_fill(&s->r.head, KERNEL_IO, th, s->r.head.at_ns);
	emit(&s->r, sizeof(s->r), false);
	s->r.head.at_ns = 0;
	return 0;
}

/* Addresses, or offsets in a file. */
static __always_inline uint64_t region_of(struct thread *th, uint64_t at, uint64_t start_ns)
{
	if (start_ns - th->window_ns >= KERNEL_BIN_NS) {
		th->window_ns = start_ns;
		th->evictions = 0;
	}
	if (th->evictions < COARSE_AFTER)
		return (at >> (by_file ? FILE_SHIFT : FINE_SHIFT)) + 1;
	return ((at >> COARSE_SHIFT) + 1) | 1ull << 63;
}

/* The slot of the region that holds `at`, emptied if another's or too old. By address, dev and ino are 0. */
static __always_inline struct fault_slot *
fault_slot_of(struct thread *th, uint64_t dev, uint64_t ino, uint64_t at, uint64_t start_ns)
{
	uint64_t region = region_of(th, at, start_ns);
	struct fault_slot *s;
	uint32_t i;

	for (i = 0; i < FAULT_SLOTS; i++) {
		s = &th->faults[i];
		if (s->region != region || (by_file && (s->r.ino != ino || s->r.dev != dev)))
			continue;
		if (start_ns - s->r.head.at_ns < KERNEL_BIN_NS)
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
	s->r.head.at_ns = start_ns;
	s->r.min = ~0ull;
	s->r.max = s->r.wait_ns = s->r.fill_bytes = 0;
	s->r.dev = dev;
	s->r.ino = ino;
	s->r.faults = 0;
	s->r.by_file = by_file;
	slot_opened(th, start_ns);
	return s;
}

/* One more fault, at [min, max]. */
static __always_inline void fault_slot_add(struct fault_slot *s, uint64_t min, uint64_t max,
					   uint64_t start_ns, uint64_t end_ns)
{
	s->r.end_ns = end_ns;
	s->r.wait_ns += end_ns - start_ns;
	s->r.faults++;
	if (min < s->r.min)
		s->r.min = min;
	if (max > s->r.max)
		s->r.max = max;
}

__noinline int slots_flush(struct thread *th)
{
	if (!th)
		return 0;
	for (int i = 0; i < FAULT_SLOTS; i++)
		if (th->faults[i].region)
			fault_slot_emit(th, &th->faults[i]);
	for (int i = 0; i < IO_SLOTS; i++)
		if (th->io[i].r.head.at_ns)
			io_slot_emit(th, &th->io[i]);
	th->oldest_ns = by_file && th->mapped.ino ? th->mapped.start_ns : 0;
	return 0;
}

/* The slot of (file, mode), emptied if another's or too old. */
static __always_inline struct io_slot *io_slot_of(struct thread *th, uint64_t dev, uint64_t ino,
						  uint32_t mode, uint64_t start_ns)
{
	struct io_slot *s;
	uint32_t i;

	for (i = 0; i < IO_SLOTS; i++) {
		s = &th->io[i];
		if (s->r.head.at_ns && s->r.ino == ino && s->r.dev == dev && s->r.mode == mode) {
			if (start_ns - s->r.head.at_ns < KERNEL_BIN_NS)
				return s;
			io_slot_emit(th, s);
			goto fresh;
		}
	}
	i = th->io_victim;
	th->io_victim = i + 1 < IO_SLOTS ? i + 1 : 0;
	if (i >= IO_SLOTS)
		i = 0;
	s = &th->io[i];
	if (s->r.head.at_ns)
		io_slot_emit(th, s);
fresh:
	s->r.head.at_ns = start_ns;
	s->r.dev = dev;
	s->r.ino = ino;
	s->r.mode = mode;
	s->r.bytes = s->r.fill_bytes = s->r.busy_ns = 0;
	s->r.ops = 0;
	s->r.min_offset = ~0ull;
	s->r.max_offset = 0;
	slot_opened(th, start_ns);
	return s;
}
