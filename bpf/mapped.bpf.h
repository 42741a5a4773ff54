/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is open between one event of a thread and the next, where faults are told by file. */
#pragma once
#include "slots.bpf.h"

#define PAGE_BITS 12
#define HUGE_BITS 21
#define HUGE_MASK ((1ull << HUGE_BITS) - 1)
/* Fewer than a huge page: the kernel's counter is exact to the batches of its processors. */
#define HUGE_SEEN_PAGES 256

enum { PAGES_OF_FILES = 0, PAGES_OF_SHMEM = 3 };

/* The faults of a task that are over. */
static __always_inline uint64_t faults_of(struct task_struct *task)
{
	return task->min_flt + task->maj_flt;
}

static __always_inline bool mapped_goes_on(const struct thread *th, struct task_struct *task)
{
	return by_file && th->mapped.ino && th->mapped.count == faults_of(task);
}

/* The fault is over. */
__noinline int mapped_close(struct thread *th)
{
	struct fault_slot *s;
	struct mapped *m;

	if (!th || !th->mapped.ino)
		return 0;
	m = &th->mapped;
	s = fault_slot_of(th, m->dev, m->ino, m->min, m->start_ns);
	fault_slot_add(s, m->min, m->max, m->start_ns, m->end_ns);
	s->r.fill_bytes += m->fill_bytes;
	m->ino = 0;
	return 0;
}

static __always_inline void huge_emit(struct thread *th)
{
	struct kernel_faults r = {};

	head_fill(&r.head, KERNEL_FAULTS, th, th->begun.at_ns);
	r.end_ns = th->begun.at_ns;
	r.min = th->begun.address & ~HUGE_MASK;
	r.max = r.min + HUGE_MASK + 1 - (1ull << PAGE_BITS);
	r.faults = 1;
	emit(&r, sizeof(r), false);
}

/* Has the last fault mapped a huge page? */
static __always_inline void huge_look(struct thread *th, struct task_struct *task)
{
	struct mm_struct *mm = PEEK(task_struct, task, mm);
	struct begun *b = &th->begun;
	int64_t pages = mm->rss_stat[PAGES_OF_FILES].count + mm->rss_stat[PAGES_OF_SHMEM].count;

	if (pages - b->pages >= HUGE_SEEN_PAGES && b->address && !b->told)
		huge_emit(th);
	b->pages = pages;
	b->told = 0;
}

/* The thread is taken off its processor: what is old enough is handed over, but not what goes on. */
static __always_inline void thread_out(struct thread *th, struct task_struct *task, uint64_t now)
{
	if (by_file)
		huge_look(th, task);
	if (!th->oldest_ns || now - th->oldest_ns < KERNEL_BIN_NS)
		return;
	if (by_file && !mapped_goes_on(th, task))
		mapped_close(th);
	slots_flush(th);
}

/* All that was gathered up to an exec or the end. */
static __always_inline void thread_flush(struct thread *th)
{
	if (by_file)
		mapped_close(th);
	slots_flush(th);
	th->begun.address = 0;
}

/* The thread ends, or the run does. */
static __always_inline void thread_sum(struct thread *th, struct task_struct *task)
{
	if (by_file)
		th->fault_ends = (uint32_t)faults_of(task);
	thread_flush(th);
	count_by(KERNEL_FAULT_ENDS, th->fault_ends);
	count_by(KERNEL_FAULTS_UNTIMED, th->fault_untimed);
	th->fault_ends = th->fault_untimed = 0;
}
