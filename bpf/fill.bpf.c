/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages that come into the page cache: what storage
 * delivered, counted where the thread waited for it.
 */
#include "mapped.bpf.h"

/* A folio's pages, each age of the kernel in its own place; the flags come first in all of them. */
static __always_inline uint64_t folio_bytes(void *folio)
{
	uint64_t flags = 0;
	uint32_t order = 0, head = 6;

	bpf_probe_read_kernel(&flags, sizeof(flags), folio);
	if (bpf_core_enum_value_exists(enum pageflags, PG_head))
		head = (uint32_t)bpf_core_enum_value(enum pageflags, PG_head);
	if (!(flags & 1ull << (head & 63)))
		return 4096;
	if (bpf_core_field_exists(struct folio___order, _folio_order))
		order = BPF_CORE_READ((struct folio___order *)folio, _folio_order);
	else if (bpf_core_field_exists(struct folio___flags_1, _flags_1))
		order = BPF_CORE_READ((struct folio___flags_1 *)folio, _flags_1) & 0xff;
	else if (bpf_core_field_exists(struct page___5_15, compound_order))
		order = BPF_CORE_READ(
			(struct page___5_15 *)(folio + bpf_core_type_size(struct page)),
			compound_order);
	return 4096ull << (order & 31);
}

SEC("raw_tp/mm_filemap_add_to_page_cache")
int fill_add(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct address_space *mapping;
	struct io_slot *s;
	struct thread *th;
	struct inode *inode;
	uint64_t dev, ino, bytes, now, index;
	void *folio;

	if (detached)
		return 0;
	th = thread_or_worker(task);
	if (!th || th->op.kind == OP_WRITE || th->op.kind == OP_LOG)
		return 0;
	folio = (void *)ctx->args[0];
	/* A struct page of 5.15 keeps its mapping where a folio does. */
	if (bpf_core_type_exists(struct folio)) {
		mapping = PEEK(folio, folio, mapping);
		index = PEEK(folio, folio, index);
	} else {
		mapping = BPF_CORE_READ((struct page___5_15 *)folio, mapping);
		index = BPF_CORE_READ((struct page___5_15 *)folio, index);
	}
	inode = PEEK(address_space, mapping, host);
	/* Behind the file's end nothing is read: a copy into it makes it longer. */
	if (!inode_regular(inode) || index << PAGE_BITS >= (uint64_t)PEEK(inode, inode, i_size))
		return 0;
	dev = inode_dev(inode);
	ino = PEEK(inode, inode, i_ino);
	bytes = folio_bytes(folio);
	/*
	 * The inner of the two: a fault inside a read. One that ended in a signal never ends here.
	 */
	if (th->mapped.ino == ino && th->mapped.dev == dev && mapped_goes_on(th, task)) {
		th->mapped.fill_bytes += bytes;
		return 0;
	}
	if (th->fault_ns && (th->op.kind == OP_NONE || th->fault_ns >= th->op.start_ns)) {
		th->fault_fill += bytes;
		th->fault_dev = dev;
		th->fault_ino = ino;
		return 0;
	}
	if (th->op.kind == OP_READ || th->op.kind == OP_POPULATE) {
		th->op.fill_bytes += bytes;
		if (!th->op.ino) {
			th->op.dev = dev;
			th->op.ino = ino;
		}
		return 0;
	}
	now = bpf_ktime_get_ns();
	s = io_slot_of(th, dev, ino, KERNEL_FILL, now);
	s->r.end_ns = now;
	s->r.fill_bytes += bytes;
	return 0;
}
