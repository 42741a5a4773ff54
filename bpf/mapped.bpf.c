/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Faults in files, as the kernel itself tells of them (Linux 6.12): nine of ten faults of a start are
 * of memory that is no file's, and cost next to nothing here. mm_filemap_map_pages maps what the page
 * cache holds around the address and never waits; mm_filemap_fault comes before the slow way, which
 * waits for storage and then begins the fault anew. The time of a fault is what lies between the first
 * and the last that is heard of it, so one that does not wait takes none.
 *
 * A huge page is mapped without a word: that the process has so many more pages of files since its
 * last fault tells it, and the address of that fault where.
 */
#include "mapped.bpf.h"

static __always_inline int mapped_told(struct address_space *mapping, uint64_t first, uint64_t last)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t dev, ino, now;
	struct inode *inode;
	struct thread *th;
	struct mapped *m;

	if (detached)
		return 0;
	th = thread_of(task);
	if (!th)
		return 0;
	inode = PEEK(address_space, mapping, host);
	if (inode_nobodys(inode))
		return 0;
	dev = inode_dev(inode);
	ino = PEEK(inode, inode, i_ino);
	th->begun.told = 1;
	if (th->op.kind == OP_POPULATE) {
		if (!th->op.ino) {
			th->op.dev = dev;
			th->op.ino = ino;
		}
		return 0;
	}
	m = &th->mapped;
	now = bpf_ktime_get_ns();
	first <<= PAGE_BITS;
	last <<= PAGE_BITS;
	if (m->ino == ino && m->dev == dev && mapped_goes_on(th, task)) {
		m->end_ns = now;
		if (first < m->min)
			m->min = first;
		if (last > m->max)
			m->max = last;
		return 0;
	}
	mapped_close(th);
	m->dev = dev;
	m->ino = ino;
	m->count = faults_of(task);
	m->start_ns = m->end_ns = now;
	m->min = first;
	m->max = last;
	m->fill_bytes = 0;
	slot_opened(th, now);
	return 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(mapped_fault, struct address_space *mapping, unsigned long index)
{
	return mapped_told(mapping, index, index);
}

SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(mapped_around, struct address_space *mapping, unsigned long first, unsigned long last)
{
	return mapped_told(mapping, first, last);
}

static __always_inline int mapped_begun(uint64_t address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *th;

	if (detached)
		return 0;
	th = thread_of(task);
	if (!th)
		return 0;
	huge_look(th, task);
	if ((address ^ th->begun.address) >> HUGE_BITS)
		th->begun.at_ns = bpf_ktime_get_ns();
	th->begun.address = address;
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(mapped_begun_user, unsigned long address)
{
	return mapped_begun(address);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(mapped_begun_kernel, unsigned long address)
{
	return mapped_begun(address);
}
