/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads and writes by io_uring, when they are done: the request holds the file and how much came.
 * When each began is not known; what a request of its own asked storage for is seen as fills. Linux
 * before 5.19, whose requests have no cqe and whose tracepoint tells none, refuses the program.
 */
#include "path.bpf.h"
#include "slots.bpf.h"

enum {
	URING_READV = 1,
	URING_WRITEV = 2,
	URING_READ_FIXED = 4,
	URING_WRITE_FIXED = 5,
	URING_READ = 22,
	URING_WRITE = 23,
};

SEC("raw_tp/io_uring_complete")
int uring_complete(struct bpf_raw_tracepoint_args *ctx)
{
	struct io_kiocb *req = (void *)ctx->args[1];
	uint64_t dev, ino, now;
	struct io_slot *s;
	struct thread *th;
	struct inode *inode;
	struct file *file;
	uint32_t mode;
	uint8_t what;
	int bytes;

	if (detached || !req)
		return 0;
	th = thread_or_worker(bpf_get_current_task_btf());
	if (!th)
		return 0;
	what = BPF_CORE_READ(req, opcode);
	bytes = BPF_CORE_READ(req, cqe.res);
	if (bytes <= 0)
		return 0;
	file = BPF_CORE_READ(req, file);
	inode = BPF_CORE_READ(file, f_inode);
	if (!inode_regular(inode))
		return 0;
	if (what == URING_READ || what == URING_READV || what == URING_READ_FIXED)
		mode = BPF_CORE_READ(file, f_flags) & bpf_o_direct ? KERNEL_DIRECT : KERNEL_READ;
	else if (what == URING_WRITE || what == URING_WRITEV || what == URING_WRITE_FIXED)
		mode = KERNEL_WRITE;
	else
		return 0;
	dev = inode_dev(inode);
	ino = PEEK(inode, inode, i_ino);
	path_tell(th, file, dev, ino);
	now = bpf_ktime_get_ns();
	s = io_slot_of(th, dev, ino, mode, now);
	s->r.end_ns = now;
	s->r.ops++;
	s->r.bytes += (uint32_t)bytes;
	if (mode == KERNEL_DIRECT)
		s->r.fill_bytes += (uint32_t)bytes;
	return 0;
}
