/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. Nothing outside src/probe includes it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <uthash.h>

#include "base/vec.h"
#include "probe/probe.h"

struct trace;

/* A thread whose CPU time is sampled from /proc. */
struct thread {
	int32_t tid;
	uint64_t cpu_ns, runnable_ns, yields; /* cumulative, at the last sample */
	uint64_t at_ns;			      /* of the last sample */
	int32_t record;			      /* its last entry in trace.times, NO_INDEX */
	uint32_t idle;			      /* samples in a row without work */
	uint64_t next_ns;		      /* not looked at before */
	bool seen;
	UT_hash_handle hh;
};

/* A process of the observed tree that is alive, or a zombie. */
struct proc {
	int32_t pid, ppid;
	int32_t index;	/* in trace.processes */
	uint64_t ticks; /* start time as /proc tells it: tells a reused pid */
	uint64_t looked_ns;
	struct thread *threads;
	UT_hash_handle hh;
};

struct probe {
	struct probe_options opt;
	struct trace *trace;
	int tier;
	int epoll_fd, timer_fd;
	uint64_t period_ns;
	uint64_t opened_ns;
	int64_t boot_offset_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
	uint64_t own_cpu_ns;	/* of coldprof when the probe was opened */
	struct proc *procs;	/* by pid */
	uint64_t next_walk_ns, next_listen_ns, next_title_ns;
	VEC(uint64_t) sockets; /* inodes of the listening sockets already looked at */
	size_t listeners_told;
	bool stopped;
};

/* tree.c: the one place that edits trace.processes and trace.execs. */
struct proc *tree_find(struct probe *p, int32_t pid);
/* A new process; a living one of the same pid is taken for ended. Returns it. */
struct proc *tree_fork(struct probe *p, int32_t pid, int32_t ppid, uint64_t at_ns);
/* An exec that succeeded. `exe` and `command` may be NULL. */
void tree_exec(struct probe *p, struct proc *proc, uint64_t at_ns, const char *exe,
	       const char *command);
/* `status` as wait(2) gives it, -1 unknown. Frees `proc`. */
void tree_exit(struct probe *p, struct proc *proc, uint64_t at_ns, int32_t status);
void tree_name(struct probe *p, struct proc *proc, const char *name);
void tree_free(struct probe *p);

/* procfs.c: everything that /proc tells of one process. */
struct proc_stat {
	char state;
	int32_t ppid;
	uint64_t start_ticks;
	int32_t exit_code; /* as wait(2) gives it; -1 the kernel does not show it */
	char comm[64];
};
/* Returns: 0, or -errno (-ESRCH and -ENOENT: gone). */
int procfs_stat(int32_t pid, struct proc_stat *ret_stat);
/* The executable's path into `buf`. Returns: 0 or -errno. */
int procfs_exe(int32_t pid, char *buf, size_t size);
/* Children of all threads of `pid`. Calls `fn` for each. Returns: 0, -ENOSYS where the kernel lacks
 * the list. */
int procfs_children(int32_t pid, void (*fn)(void *arg, int32_t child), void *arg);
/* The title that a process gave itself, or NULL when its command line is that of an exec. Caller
 * frees. */
char *procfs_title(int32_t pid);

/* sample.c: the sampler of tier 0. */
void sample_tree(struct probe *p, uint64_t now_ns);
void sample_threads(struct probe *p, uint64_t now_ns);

/* listen.c */
void listen_look(struct probe *p, uint64_t now_ns);
/* Note a listening socket; the same (process, port) only once. */
void listen_add(struct probe *p, int32_t index, uint16_t port, uint64_t at_ns, const char *address);
