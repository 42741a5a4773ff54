/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads and writes of regular files, log lines, and the calls that fill a mapping without a fault.
 */
#include "mapped.bpf.h"
#include "path.bpf.h"

#if defined(__TARGET_ARCH_x86)
enum {
	NR_READ = 0,
	NR_WRITE = 1,
	NR_MMAP = 9,
	NR_PREAD = 17,
	NR_PWRITE = 18,
	NR_READV = 19,
	NR_WRITEV = 20,
	NR_SCHED_YIELD = 24,
	NR_MADVISE = 28,
	NR_SENDFILE = 40,
	NR_MLOCK = 149,
	NR_MLOCKALL = 151,
	NR_READAHEAD = 187,
	NR_FADVISE = 221,
	NR_SPLICE = 275,
	NR_PREADV = 295,
	NR_PWRITEV = 296,
	NR_MLOCK2 = 325,
	NR_COPY_FILE_RANGE = 326,
	NR_PREADV2 = 327,
	NR_PWRITEV2 = 328,
};
/* The registers come as a typed pointer: a load, no helper. */
#define ARG(regs, i)                                                                               \
	((i) == 0   ? (regs)->di                                                                   \
	 : (i) == 1 ? (regs)->si                                                                   \
	 : (i) == 2 ? (regs)->dx                                                                   \
	 : (i) == 3 ? (regs)->r10                                                                  \
	 : (i) == 4 ? (regs)->r8                                                                   \
		    : (regs)->r9)
#define CALL_NR(regs) ((long)(regs)->orig_ax)
#elif defined(__TARGET_ARCH_arm64)
enum {
	NR_READ = 63,
	NR_WRITE = 64,
	NR_READV = 65,
	NR_WRITEV = 66,
	NR_PREAD = 67,
	NR_PWRITE = 68,
	NR_PREADV = 69,
	NR_PWRITEV = 70,
	NR_SENDFILE = 71,
	NR_SPLICE = 76,
	NR_SCHED_YIELD = 124,
	NR_READAHEAD = 213,
	NR_MMAP = 222,
	NR_FADVISE = 223,
	NR_MLOCK = 228,
	NR_MLOCKALL = 230,
	NR_MADVISE = 233,
	NR_MLOCK2 = 284,
	NR_COPY_FILE_RANGE = 285,
	NR_PREADV2 = 286,
	NR_PWRITEV2 = 287,
};
#define ARG(regs, i)  ((regs)->regs[i])
#define CALL_NR(regs) ((long)(regs)->syscallno)
#endif

#define S_DAX		       0x2000
#define HUGETLBFS	       0x958458f6
#define MAP_ANONYMOUS_FLAG     0x20
#define MAP_LOCKED_FLAG	       0x2000
#define MAP_POPULATE_FLAG      0x8000
#define MADV_POPULATE_READ_NR  22
#define MADV_POPULATE_WRITE_NR 23

enum {
	CALL_READ = 1,
	CALL_WRITE = 2,
	CALL_VECTOR = 4,
	CALL_AT = 8, /* the position is the fourth argument */
	CALL_POINTER =
		16, /* the position lies where the argument behind the file points to, if anywhere */
	CALL_SECOND = 32, /* the file is the second argument */
	CALL_MMAP = 64,
	CALL_MADVISE = 128,
	CALL_MLOCK = 256,
	CALL_MLOCKALL = 512,
	CALL_AHEAD = 1024,
	CALL_YIELD = 2048,
};

/*
 * What a call is to us: asked before the thread is looked
 * up, since every call of the machine passes here.
 */
static __always_inline uint32_t call_of(long nr)
{
	switch (nr) {
	case NR_READ:
		return CALL_READ;
	case NR_READV:
		return CALL_READ | CALL_VECTOR;
	case NR_PREAD:
		return CALL_READ | CALL_AT;
	case NR_PREADV:
	case NR_PREADV2:
		return CALL_READ | CALL_VECTOR | CALL_AT;
	case NR_SENDFILE:
		return CALL_READ | CALL_SECOND | CALL_POINTER;
	case NR_SPLICE:
	case NR_COPY_FILE_RANGE:
		return CALL_READ | CALL_POINTER;
	case NR_WRITE:
		return CALL_WRITE;
	case NR_WRITEV:
		return CALL_WRITE | CALL_VECTOR;
	case NR_PWRITE:
		return CALL_WRITE | CALL_AT;
	case NR_PWRITEV:
	case NR_PWRITEV2:
		return CALL_WRITE | CALL_VECTOR | CALL_AT;
	case NR_READAHEAD:
	case NR_FADVISE:
		return CALL_AHEAD;
	case NR_MMAP:
		return CALL_MMAP;
	case NR_MADVISE:
		return CALL_MADVISE;
	case NR_MLOCK:
	case NR_MLOCK2:
		return CALL_MLOCK;
	case NR_MLOCKALL:
		return CALL_MLOCKALL;
	case NR_SCHED_YIELD:
		return CALL_YIELD;
	}
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kernel_log);
} log_room SEC(".maps");

static __always_inline struct file *file_of(uint32_t fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct files_struct *open = PEEK(task_struct, task, files);
	struct fdtable *table = PEEK(files_struct, open, fdt);
	struct file **files = PEEK(fdtable, table, fd), *file = NULL;

	if (fd < PEEK(fdtable, table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return file;
}

static __always_inline bool is_log(const struct op *op)
{
	return (op->ino == log_ino[0] && op->dev == log_dev[0]) ||
	       (op->ino == log_ino[1] && op->dev == log_dev[1]);
}

/* Note the file of the call; OP_NONE when it is not one of ours. */
static __always_inline void io_enter(struct thread *th, struct pt_regs *regs, uint32_t call)
{
	uint32_t fd = (uint32_t)(call & CALL_SECOND ? ARG(regs, 1) : ARG(regs, 0));
	uint32_t kind = call & CALL_READ ? OP_READ : OP_WRITE;
	uint64_t at = call & CALL_SECOND ? ARG(regs, 2) : ARG(regs, 1);
	struct file *file = file_of(fd);
	struct op *op = &th->op;
	struct inode *inode;

	if (!file)
		return;
	inode = PEEK(file, file, f_inode);
	op->regular = inode_regular(inode);
	if (!op->regular && kind != OP_WRITE)
		return;
	op->dev = inode_dev(inode);
	op->ino = PEEK(inode, inode, i_ino);
	if (kind == OP_WRITE && is_log(op)) {
		op->buffer = ARG(regs, 1);
		op->count = ARG(regs, 2);
		kind = OP_LOG;
	} else if (!op->regular) {
		return;
	}
	op->mode = kind != OP_READ			      ? KERNEL_WRITE
		   : PEEK(file, file, f_flags) & bpf_o_direct ? KERNEL_DIRECT
							      : KERNEL_READ;
	op->offset = call & CALL_AT ? ARG(regs, 3) : (uint64_t)PEEK(file, file, f_pos);
	if (call & CALL_POINTER && at)
		bpf_probe_read_user(&op->offset, sizeof(op->offset), (void *)at);
	op->fd = fd;
	op->vector = call & CALL_VECTOR;
	op->fill_bytes = 0;
	op->start_ns = bpf_ktime_get_ns();
	op->kind = kind;
	if (op->regular)
		path_tell(th, file, op->dev, op->ino);
}

/* A call that brings pages in and asks for no bytes: they are counted as they come, and here named. */
static __always_inline void ahead_enter(struct thread *th, uint32_t fd)
{
	struct file *file = file_of(fd);
	struct inode *inode;

	if (!file)
		return;
	inode = PEEK(file, file, f_inode);
	if (inode_regular(inode))
		path_tell(th, file, inode_dev(inode), PEEK(inode, inode, i_ino));
}

static __always_inline void populate_enter(struct thread *th, uint64_t address, uint64_t bytes)
{
	struct op *op = &th->op;

	op->buffer = address;
	op->count = bytes;
	op->dev = op->ino = op->offset = op->fill_bytes = 0;
	op->from_call = 0;
	op->start_ns = bpf_ktime_get_ns();
	op->kind = OP_POPULATE;
}

/* Faults in these are told neither by file nor by the count of pages. */
static __always_inline bool is_unseen(struct inode *inode)
{
	struct super_block *sb = PEEK(inode, inode, i_sb);

	return PEEK(inode, inode, i_flags) & S_DAX || PEEK(super_block, sb, s_magic) == HUGETLBFS;
}

/* A mapping is told by its file's name, and where its faults come by address. */
static __always_inline void mmap_enter(struct thread *th, struct pt_regs *regs)
{
	bool populate = ARG(regs, 3) & (MAP_POPULATE_FLAG | MAP_LOCKED_FLAG);
	int32_t fd = (int32_t)ARG(regs, 4);
	struct op *op = &th->op;
	struct inode *inode;
	struct file *file;

	if (fd < 0 || ARG(regs, 3) & MAP_ANONYMOUS_FLAG || (!populate && !by_file))
		return;
	file = file_of((uint32_t)fd);
	if (!file)
		return;
	inode = PEEK(file, file, f_inode);
	if (populate)
		populate_enter(th, 0, ARG(regs, 1));
	else if (!inode_regular(inode) || inode_nobodys(inode))
		return;
	op->dev = inode_dev(inode);
	op->ino = PEEK(inode, inode, i_ino);
	path_tell(th, file, op->dev, op->ino);
	if (by_file && is_unseen(inode))
		count(KERNEL_UNSEEN_MAPS);
	op->count = ARG(regs, 1);
	op->offset = ARG(regs, 5);
	op->from_call = 1;
	if (!populate && op->count >= 1 << HUGE_BITS)
		op->kind = OP_MAP;
}

static __always_inline void advice_enter(struct thread *th, struct pt_regs *regs)
{
	uint64_t advice = ARG(regs, 2);

	if (advice == MADV_POPULATE_READ_NR || advice == MADV_POPULATE_WRITE_NR)
		populate_enter(th, ARG(regs, 0), ARG(regs, 1));
}

SEC("tp_btf/sys_enter")
int BPF_PROG(io_sys_enter, struct pt_regs *regs, long nr)
{
	uint32_t call = call_of(nr);
	struct thread *th;

	if (!call || detached)
		return 0;
	th = thread_current();
	if (!th)
		return 0;
	if (call == CALL_YIELD) {
		th->yields++;
		return 0;
	}
	th->op.kind = OP_NONE;
	if (call & (CALL_READ | CALL_WRITE))
		io_enter(th, regs, call);
	else if (call == CALL_MMAP)
		mmap_enter(th, regs);
	else if (call == CALL_AHEAD)
		ahead_enter(th, (uint32_t)ARG(regs, 0));
	else if (call == CALL_MADVISE)
		advice_enter(th, regs);
	else if (call == CALL_MLOCK)
		populate_enter(th, ARG(regs, 0), ARG(regs, 1));
	else
		populate_enter(th, 0, 0);
	return 0;
}

uint64_t log_woke_ns;

/* Who writes line after line is not to be held up at each: coldprof looks again by itself after a while. */
static __always_inline bool log_wakes(uint64_t now)
{
	if (now - log_woke_ns < KERNEL_LOG_CALM_NS)
		return false;
	log_woke_ns = now;
	return true;
}

static __always_inline void log_emit(struct thread *th, uint64_t now, uint64_t written)
{
	struct kernel_log *room;
	struct op *op = &th->op;
	uint64_t from = op->buffer, n = written;
	uint32_t zero = 0;

	/* The rest of the ring is for what is not told twice. */
	if (bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) > log_bytes) {
		count(KERNEL_LOST_LINES);
		return;
	}
	room = bpf_map_lookup_elem(&log_room, &zero);
	if (!room)
		return;
	head_fill(&room->head, KERNEL_LOG, th, now);
	room->head.value = op->fd;
	room->cut = 0;
	if (op->vector) {
		struct iovec v[2] = {};
		uint64_t first;

		if (bpf_probe_read_user(v, op->count > 1 ? sizeof(v) : sizeof(v[0]), (void *)from) <
		    0)
			return;
		first = v[0].iov_len;
		if (first > KERNEL_LOG_MAX / 2)
			first = KERNEL_LOG_MAX / 2;
		if (bpf_probe_read_user(room->text, first, v[0].iov_base) < 0)
			return;
		n = v[1].iov_len;
		if (n > KERNEL_LOG_MAX / 2)
			n = KERNEL_LOG_MAX / 2;
		if (n && bpf_probe_read_user(room->text + first, n, v[1].iov_base) < 0)
			n = 0;
		n += first;
		room->cut = n < written;
	} else {
		if (n > KERNEL_LOG_MAX) {
			n = KERNEL_LOG_MAX;
			room->cut = 1;
		}
		if (bpf_probe_read_user(room->text, n, (void *)from) < 0)
			return;
	}
	room->bytes = (uint32_t)n;
	n += sizeof(*room) - KERNEL_LOG_MAX;
	if (n > sizeof(*room))
		n = sizeof(*room);
	emit(room, n, log_wakes(now));
}

static __always_inline void populate_emit(struct thread *th, uint64_t now, long ret)
{
	struct kernel_populate r = {};
	struct op *op = &th->op;

	head_fill(&r.head, KERNEL_POPULATE, th, op->start_ns);
	r.end_ns = now;
	r.address = op->from_call ? (uint64_t)ret : op->buffer;
	r.bytes = op->count;
	r.dev = op->dev;
	r.ino = op->ino;
	r.offset = op->offset;
	r.fill_bytes = op->fill_bytes;
	r.from_call = op->from_call;
	emit(&r, sizeof(r), false);
}

static __always_inline void map_emit(struct thread *th, uint64_t now, long ret)
{
	struct kernel_map r = {};

	head_fill(&r.head, KERNEL_MAP, th, now);
	r.dev = th->op.dev;
	r.ino = th->op.ino;
	r.address = (uint64_t)ret;
	r.bytes = th->op.count;
	r.offset = th->op.offset;
	emit(&r, sizeof(r), false);
}

static __always_inline void io_done(struct thread *th, uint64_t now, uint64_t bytes)
{
	struct op *op = &th->op;
	struct io_slot *s = io_slot_of(th, op->dev, op->ino, op->mode, op->start_ns);

	s->r.end_ns = now;
	s->r.ops++;
	s->r.bytes += bytes;
	s->r.fill_bytes += op->mode == KERNEL_DIRECT ? bytes : op->fill_bytes;
	s->r.busy_ns += now - op->start_ns;
	if (op->offset < s->r.min_offset)
		s->r.min_offset = op->offset;
	if (op->offset + bytes > s->r.max_offset)
		s->r.max_offset = op->offset + bytes;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(io_sys_exit, struct pt_regs *regs, long ret)
{
	struct thread *th;
	uint64_t now;
	uint32_t kind;

	if (!(call_of(CALL_NR(regs)) & ~CALL_YIELD) || detached)
		return 0;
	th = thread_current();
	if (!th)
		return 0;
	kind = th->op.kind;
	if (kind == OP_NONE)
		return 0;
	th->op.kind = OP_NONE;
	now = bpf_ktime_get_ns();
	if (kind == OP_POPULATE || kind == OP_MAP) {
		if (ret < 0 && ret >= -4095)
			return 0;
		if (kind == OP_POPULATE)
			populate_emit(th, now, ret);
		else
			map_emit(th, now, ret);
		return 0;
	}
	if (ret <= 0)
		return 0;
	if (kind == OP_LOG)
		log_emit(th, now, (uint64_t)ret);
	if (th->op.regular)
		io_done(th, now, (uint64_t)ret);
	return 0;
}
