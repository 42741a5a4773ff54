/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs share: the table of observed threads, the ring, the counters. */
#pragma once
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "wire/kernel.h"

#define S_IFMT	      0170000
#define S_IFREG	      0100000
#define SB_NOUSER     (1ull << 31)
#define O_DIRECT_FLAG (bpf_o_direct)

#define FAULT_SLOTS  12
#define IO_SLOTS     3
#define FINE_SHIFT   19 /* of addresses: a region should hold one mapping */
#define FILE_SHIFT   22 /* of offsets: what lies nearer is one walk to those who read */
#define COARSE_SHIFT 30
/*
 * So many pieces of one thread in one bin, then regions
 * become coarse: random faults must not flood the ring.
 */
#define COARSE_AFTER 192

/*
 * A member behind a pointer: a plain load where the kernel has casts (6.2), else a copy, which takes
 * five times as long. Also for pointers that the verifier knows well: it looks long for the name of
 * each that is read through one of those.
 */
#ifdef WITHOUT_CASTS
#define PEEK(type, p, member) BPF_CORE_READ((struct type *)(p), member)
#else
extern void *bpf_rdonly_cast(const void *obj, uint32_t btf_id) __ksym;
#define PEEK(type, p, member)                                                                      \
	(((struct type *)bpf_rdonly_cast((p), bpf_core_type_id_kernel(struct type)))->member)
#endif

/* Set by coldprof before the programs are loaded. */
const volatile uint32_t pidns_inum;
const volatile uint64_t log_dev[2], log_ino[2];
const volatile uint32_t bpf_o_direct = 040000;
const volatile bool
	by_file; /* faults as the kernel tells their files: mapped.bpf.c, not fault.bpf.c */
const volatile uint64_t began_ns;   /* the run */
const volatile uint64_t wake_bytes; /* the ring wakes coldprof when it holds so much */
const volatile uint64_t log_bytes;  /* and takes no more log lines when it holds so much */

enum thread_state { RUN, RUNNABLE, IO_WAIT, SLEEP };

enum op_kind { OP_NONE, OP_READ, OP_WRITE, OP_LOG, OP_POPULATE, OP_MAP };

/* Gathered as the records that they become; their head lacks the thread. */
struct fault_slot {
	uint64_t region; /* 0 free */
	struct kernel_faults r;
};

struct io_slot {
	struct kernel_io r; /* head.at_ns 0: free */
};

/* The system call that the thread is in, where it is one of ours. */
struct op {
	uint32_t kind, mode; /* enum op_kind, enum kernel_io_mode */
	uint64_t start_ns;
	uint64_t dev, ino, offset, fill_bytes;
	uint64_t buffer, count; /* first two arguments that matter */
	uint32_t fd, vector, from_call, regular;
};

struct inode_key {
	uint64_t dev, ino;
};

/*
 * A fault in a file, from the first that the kernel told of it (mapped.bpf.c). It
 * goes on as long as the kernel has not counted it among the faults of its task.
 */
struct mapped {
	uint64_t dev, ino;	   /* ino 0: none */
	uint64_t count;		   /* of the task when it began */
	uint64_t start_ns, end_ns; /* end: when it was last heard of */
	uint64_t min, max;	   /* offsets */
	uint64_t fill_bytes;
};

/* The last fault of any kind, until it is known whether it mapped a huge page. */
struct begun {
	uint64_t address, at_ns; /* at_ns: of the first in this huge page */
	int64_t pages;		 /* of files that the process had then */
	uint32_t told;		 /* its file was told */
};

struct thread {
	int32_t pid, tid; /* in coldprof's namespace; coldprof itself sets those of the root */
	/* times */
	uint32_t state;
	uint64_t since_ns, bin_ns; /* 0: not seen yet */
	uint64_t spent_ns[4];
	uint64_t yields;
	/* faults, by file or by address */
	struct mapped mapped;
	struct begun begun;
	uint64_t fault_ns, fault_address, fault_fill, fault_dev, fault_ino;
	uint64_t window_ns;
	uint32_t evictions, fault_victim;
	uint32_t fault_ends, fault_untimed; /* of this thread; added to the counters at its end */
	/* reads */
	uint32_t io_victim;
	uint64_t oldest_ns; /* begin of the oldest slot in use; 0 none */
	struct op op;
	struct inode_key told; /* the last one whose path was told */
	struct fault_slot faults[FAULT_SLOTS];
	struct io_slot io[IO_SLOTS];
};

/* Hangs on the task itself: whether it is observed is one load for all that are not. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KERNEL_COUNTERS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} counters SEC(".maps");

uint32_t detached; /* the run is over */
/* Where paths begin, addresses: "/" of coldprof and its command, which may be in a chroot. */
uint64_t top_mount, top_dentry;

static __always_inline uint64_t inode_dev(struct inode *inode)
{
	struct super_block *sb = PEEK(inode, inode, i_sb);

	return PEEK(super_block, sb, s_dev);
}

static __always_inline bool inode_regular(struct inode *inode)
{
	return (PEEK(inode, inode, i_mode) & S_IFMT) == S_IFREG;
}

/* On the kernel's own mount: shared memory and memfds, which are nobody's files. */
static __always_inline bool inode_nobodys(struct inode *inode)
{
	struct super_block *sb = PEEK(inode, inode, i_sb);

	return PEEK(super_block, sb, s_flags) & SB_NOUSER;
}

static __always_inline void count_by(uint32_t which, uint32_t by)
{
	uint64_t *n = bpf_map_lookup_elem(&counters, &which);

	if (n)
		*n += by;
}

static __always_inline void count(uint32_t which)
{
	count_by(which, 1);
}

/* Hand a record over. `urgent` ones wake coldprof at once, the rest when the ring fills. */
static __always_inline void emit(void *record, uint64_t size, bool urgent)
{
	uint64_t flags = BPF_RB_NO_WAKEUP;

	if (urgent || bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) >= wake_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&records, record, size, flags) < 0)
		count(KERNEL_LOST_RECORDS);
}

/* NULL: not observed. */
static __always_inline struct thread *thread_of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, NULL, 0);
}

static __always_inline struct thread *thread_current(void)
{
	return thread_of(bpf_get_current_task_btf());
}

/* The number of `pid` in coldprof's namespace; 0 when it is not visible there. */
static __always_inline int32_t number_of(struct pid *pid)
{
	uint32_t level = BPF_CORE_READ(pid, level);
	void *numbers = (void *)pid + bpf_core_field_offset(struct pid, numbers);
	uint64_t size = bpf_core_type_size(struct upid);

	for (uint32_t i = 0; i < 8; i++) {
		struct upid *u = numbers + i * size;
		struct pid_namespace *ns;

		if (i > level)
			break;
		ns = BPF_CORE_READ(u, ns);
		if (BPF_CORE_READ(ns, ns.inum) == pidns_inum)
			return BPF_CORE_READ(u, nr);
	}
	return 0;
}

/* The number of `task` in its own namespace, and that namespace's inode. */
static __always_inline int32_t inner_number(struct task_struct *task, uint32_t *ret_ns)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	uint32_t level = BPF_CORE_READ(pid, level);
	struct upid *u = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
			 level * bpf_core_type_size(struct upid);
	struct pid_namespace *ns = BPF_CORE_READ(u, ns);

	*ret_ns = BPF_CORE_READ(ns, ns.inum);
	return BPF_CORE_READ(u, nr);
}

static __always_inline int32_t tid_of(struct task_struct *task)
{
	return number_of(BPF_CORE_READ(task, thread_pid));
}

static __always_inline int32_t pid_of(struct task_struct *task)
{
	return number_of(BPF_CORE_READ(task, group_leader, thread_pid));
}

static __always_inline void thread_add(struct task_struct *task, int32_t pid, int32_t tid,
				       uint64_t now)
{
	struct thread *th =
		bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!th) {
		count(KERNEL_LOST_THREADS);
		return;
	}
	th->pid = pid;
	th->tid = tid;
	th->state = RUNNABLE;
	th->since_ns = th->bin_ns = now;
}

/*
 * Of the current task, or of a thread that the kernel itself made in one of ours to do its reads:
 * io_uring's workers are told by no fork.
 */
static __always_inline struct thread *thread_or_worker(struct task_struct *task)
{
	struct thread *th = thread_of(task), *first;

	if (th || task->pid == task->tgid)
		return th;
	first = thread_of(task->group_leader);
	if (!first)
		return NULL;
	thread_add(task, first->pid, tid_of(task), bpf_ktime_get_ns());
	th = thread_of(task);
	if (th)
		th->state = RUN;
	return th;
}

static __always_inline void head_fill(struct kernel_head *head, uint32_t kind,
				      const struct thread *th, uint64_t at_ns)
{
	head->kind = kind;
	head->pid = th->pid;
	head->tid = th->tid;
	head->value = 0;
	head->at_ns = at_ns;
}

static __always_inline void slot_opened(struct thread *th, uint64_t now)
{
	if (!th->oldest_ns)
		th->oldest_ns = now;
}
