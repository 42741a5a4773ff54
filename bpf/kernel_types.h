/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few kernel structures that the probes read, each with the few members used: the loader finds
 * the members' real places in the running kernel's BTF. A name with ___ and a suffix is another age
 * of the same structure.
 */
#pragma once
#include <linux/bpf.h>

typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} KERNEL_TYPE;

struct pid_namespace {
	struct ns_common ns;
} KERNEL_TYPE;

struct upid {
	int nr;
	struct pid_namespace *ns;
} KERNEL_TYPE;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} KERNEL_TYPE;

struct super_block {
	unsigned int s_dev;
	unsigned long s_flags, s_magic;
} KERNEL_TYPE;

struct inode {
	unsigned short i_mode;
	unsigned int i_flags;
	unsigned long i_ino;
	long long i_size;
	struct super_block *i_sb;
} KERNEL_TYPE;

struct address_space {
	struct inode *host;
} KERNEL_TYPE;

struct qstr {
	const unsigned char *name;
} KERNEL_TYPE;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
} KERNEL_TYPE;

struct vfsmount {
	struct dentry *mnt_root;
} KERNEL_TYPE;

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
} KERNEL_TYPE;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} KERNEL_TYPE;

struct file {
	struct path f_path;
	struct inode *f_inode;
	unsigned int f_flags;
	long long f_pos;
} KERNEL_TYPE;

struct fs_struct {
	struct path root;
} KERNEL_TYPE;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} KERNEL_TYPE;

struct files_struct {
	struct fdtable *fdt;
} KERNEL_TYPE;

struct percpu_counter {
	long long count;
} KERNEL_TYPE;

struct mm_struct {
	struct percpu_counter rss_stat[4];
	unsigned long arg_start, arg_end;
	struct file *exe_file;
} KERNEL_TYPE;

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	int group_exit_code;
} KERNEL_TYPE;

struct task_struct {
	unsigned int __state;
	int pid, tgid;
	int exit_code;
	unsigned long min_flt, maj_flt;
	unsigned in_iowait : 1;
	struct pid *thread_pid;
	struct mm_struct *mm;
	struct fs_struct *fs;
	struct files_struct *files;
	struct signal_struct *signal;
	struct task_struct *group_leader;
	char comm[16];
} KERNEL_TYPE;

struct bpf_iter__task {
	struct task_struct *task;
} KERNEL_TYPE;

struct linux_binprm {
	const char *filename;
} KERNEL_TYPE;

struct sock_common {
	unsigned short skc_family;
	unsigned short skc_num;
	unsigned int skc_rcv_saddr;
	struct {
		unsigned char bytes[16];
	} skc_v6_rcv_saddr;
} KERNEL_TYPE;

struct sock {
	struct sock_common __sk_common;
} KERNEL_TYPE;

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di, si, dx, r10, r8, r9, orig_ax;
} KERNEL_TYPE;
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	unsigned long long regs[31];
	int syscallno;
} KERNEL_TYPE;
#endif

/* Since 5.19; before, the tracepoint does not tell the request. */
struct io_cqe {
	int res;
} KERNEL_TYPE;

struct io_kiocb {
	struct file *file;
	unsigned char opcode;
	struct io_cqe cqe;
} KERNEL_TYPE;

struct iovec {
	void *iov_base;
	unsigned long iov_len;
};

/* The context of a perf_event program: the real structure holds the registers first. */
#if defined(__TARGET_ARCH_x86)
struct perf_event_context {
	__u64 regs[21];
	__u64 sample_period;
	__u64 addr;
};
#elif defined(__TARGET_ARCH_arm64)
struct perf_event_context {
	__u64 regs[34];
	__u64 sample_period;
	__u64 addr;
};
#endif

/* A folio's number of pages lies where its age put it. */
struct page___5_15 {
	unsigned long flags;
	struct address_space *mapping;
	unsigned long index;
	unsigned char compound_order;
} KERNEL_TYPE;

struct folio {
	struct address_space *mapping;
	unsigned long index;
} KERNEL_TYPE;

struct folio___nr {
	unsigned int _folio_nr_pages;
} KERNEL_TYPE;

struct folio___order {
	unsigned char _folio_order;
} KERNEL_TYPE;

struct folio___flags_1 {
	unsigned long _flags_1;
} KERNEL_TYPE;

struct page {
	unsigned long flags;
} KERNEL_TYPE;

enum pageflags { PG_head = 6 };
