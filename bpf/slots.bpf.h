/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pieces of at most KERNEL_BIN_NS in which faults and reads are gathered per thread. */
#pragma once
#include "state.bpf.h"

static __always_inline void fault_slot_emit(const struct thread *th, struct fault_slot *s)
{
	struct kernel_faults r;

	head_fill(&r.head, KERNEL_FAULTS, th, s->start_ns);
	r.end_ns = s->end_ns;
	r.min_address = s->min_address;
	r.max_address = s->max_address;
	r.wait_ns = s->wait_ns;
	r.fill_bytes = s->fill_bytes;
	r.dev = s->dev;
	r.ino = s->ino;
	r.faults = s->faults;
	r.major = s->major;
	emit(&r, sizeof(r), false);
	s->region = 0;
}

static __always_inline void io_slot_emit(const struct thread *th, struct io_slot *s)
{
	struct kernel_io r;

	head_fill(&r.head, KERNEL_IO, th, s->start_ns);
	r.end_ns = s->end_ns;
	r.dev = s->dev;
	r.ino = s->ino;
	r.bytes = s->bytes;
	r.fill_bytes = s->fill_bytes;
	r.busy_ns = s->busy_ns;
	r.min_offset = s->min_offset;
	r.max_offset = s->max_offset;
	r.ops = s->ops;
	r.mode = s->mode;
	emit(&r, sizeof(r), false);
	s->start_ns = 0;
}

static __noinline int slots_flush(struct thread *th)
{
	if (!th)
		return 0;
	for (int i = 0; i < FAULT_SLOTS; i++)
		if (th->faults[i].region)
			fault_slot_emit(th, &th->faults[i]);
	for (int i = 0; i < IO_SLOTS; i++)
		if (th->io[i].start_ns)
			io_slot_emit(th, &th->io[i]);
	th->oldest_ns = 0;
	return 0;
}

/* The thread ends, or the run does. */
static __always_inline void thread_sum(struct thread *th)
{
	slots_flush(th);
	count_by(KERNEL_FAULT_ENDS, th->fault_ends);
	count_by(KERNEL_FAULTS_UNTIMED, th->fault_untimed);
	th->fault_ends = th->fault_untimed = 0;
}

/* The slot of (file, mode), emptied if another's or too old. */
static __always_inline struct io_slot *io_slot_of(struct thread *th, uint64_t dev, uint64_t ino,
						  uint32_t mode, uint64_t start_ns)
{
	struct io_slot *s;
	uint32_t i;

	for (i = 0; i < IO_SLOTS; i++) {
		s = &th->io[i];
		if (s->start_ns && s->ino == ino && s->dev == dev && s->mode == mode) {
			if (start_ns - s->start_ns < KERNEL_BIN_NS)
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
	if (s->start_ns)
		io_slot_emit(th, s);
fresh:
	s->dev = dev;
	s->ino = ino;
	s->mode = mode;
	s->start_ns = start_ns;
	s->bytes = s->fill_bytes = s->busy_ns = 0;
	s->ops = 0;
	s->min_offset = ~0ull;
	s->max_offset = 0;
	slot_opened(th, start_ns);
	return s;
}
