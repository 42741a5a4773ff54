/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. Nothing outside src/probe includes it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Short chains: each link is a miss of the cache, when coldprof wakes from time to time. */
#define HASH_BKT_CAPACITY_THRESH 3U
#include <uthash.h>

#include "base/vec.h"
#include "probe/probe.h"

struct trace;
struct perf;
struct perf_event_attr;
struct bpf;
struct file_entry;
struct space;
struct walk;
struct log_part;
struct last_time;

/* Who tells of forks, execs and exits. */
enum tree_by { TREE_PROC, TREE_PERF, TREE_BPF };

/*
 * Faults of one thread in one region, whose file is
 * found once the mappings are known up to its end.
 */
struct fault_piece {
	int32_t process, pid, tid;
	uint64_t start_ns, end_ns, min_address, max_address, wait_ns, fill_bytes, dev, ino;
	uint64_t faults;
	bool populate;	 /* a call that faults nothing: the range is the call's */
	bool from_call;	 /* dev, ino and offset are those of the call's descriptor */
	uint64_t offset; /* of the range in the file */
};

/* A thread whose CPU time is sampled from /proc. */
struct thread {
	int32_t tid;
	uint64_t cpu_ns, runnable_ns; /* cumulative, so much of it is in records */
	uint64_t at_ns;		      /* of the last sample */
	uint32_t idle;		      /* samples in a row without work */
	uint64_t next_ns;	      /* not looked at before */
	bool seen;
	bool numbered; /* its number in its own pid namespace was looked up */
	bool queued; /* the last sample found it waiting for a CPU, which the kernel had not told yet */
	int fd;	     /* its schedstat, -1 not open */
	UT_hash_handle hh;
};

/* A process of the observed tree that is alive, or a zombie. */
struct proc {
	int32_t pid, ppid;
	int32_t index;	 /* in trace.processes */
	uint64_t ticks;	 /* start time as /proc tells it: tells a reused pid */
	bool exe_wanted; /* an exec was told without its program */
	struct thread *threads;
	UT_hash_handle hh;
};

/* A listening socket: whose it is, was looked up so many times. */
struct known_socket {
	uint32_t inode, tries;
	uint64_t unseen_ns; /* when it was not there yet */
};

struct probe {
	struct probe_options opt;
	struct trace *trace;
	int tier;
	int epoll_fd, timer_fd;
	int log_timer_fd; /* looks again for log lines that did not wake us; -1 none */
	bool log_came;
	uint64_t log_bytes, lines_cut;	    /* kept of log; lines that were not */
	uint64_t period_ns, sample_cost_ns; /* of the sampler; the cost smoothed */
	uint64_t opened_ns;
	const char *barrier_exe; /* the root's program before its exec: ours; NULL not known */
	uint64_t own_cpu_ns;	 /* of coldprof when the probe was ready */
	uint64_t setup_cpu_ns;
	struct proc *procs; /* by pid */
	uint64_t next_walk_ns, next_listen_ns, next_title_ns, next_forget_ns;
	VEC(struct known_socket) sockets; /* listening ones already looked at */
	int diag_fd;			  /* socket diagnostics, -1 none */
	size_t listeners_told;
	uint64_t listen_looked_ns; /* the last time */
	enum tree_by tree_by;
	struct perf *perf; /* NULL: not opened */
	struct bpf *bpf;   /* NULL: not opened */
	struct file_entry *files;
	struct space *spaces;
	struct walk *walks;
	struct log_part *log;
	struct last_time *last_times;
	VEC(struct fault_piece) pending;
	bool faults_by_file; /* the kernel programs tell the files of faults: perf is not needed */
	uint64_t file_faults, anonymous_faults, mixed_faults;
	uint64_t records, record_bytes, record_strays; /* strays: of processes that are not known */
	int thread_fds;
	bool stopped;
};

/* probe.c: is the running kernel older than that? */
bool probe_kernel_before(int major, int minor);

/* tree.c: the one place that edits trace.processes and trace.execs. */
struct proc *tree_find(struct probe *p, int32_t pid);
/* A new process; a living one of the same pid is taken for ended. Returns it. */
struct proc *tree_fork(struct probe *p, int32_t pid, int32_t ppid, uint64_t at_ns);
/* An exec that succeeded. `exe` and `command` may be NULL. */
void tree_exec(struct probe *p, struct proc *proc, uint64_t at_ns, const char *exe,
	       const char *command);
/* `status` as wait(2) gives it, -1 unknown. Frees `proc`. */
void tree_exit(struct probe *p, struct proc *proc, uint64_t at_ns, int32_t status);
/* perf tells that a process is gone, but not how it ended. */
void tree_gone(struct probe *p, struct proc *proc, uint64_t at_ns);
void tree_name(struct probe *p, struct proc *proc, const char *name);
/* The first program text that is mapped after an exec is that of the program. */
void tree_mapped(struct probe *p, int32_t pid, const char *path);
void tree_free(struct probe *p);

/*
 * pidns.c: numbers in pid namespaces other than ours. The kernel programs tell them; where they do
 * not run, /proc is asked while the process lives.
 */
uint32_t pidns_own(void); /* inode; 0 unknown */
void pidns_set(struct probe *p, struct proc *proc, uint32_t pid_ns, int32_t number);
void pidns_look(struct probe *p, struct proc *proc);

/* procfs.c: what else /proc tells of one process. */
/* The executable's path into `buf`. Returns: 0 or -errno. */
int procfs_exe(int32_t pid, char *buf, size_t size);
/*
 * Children of all threads of `pid`. Calls `fn` for each.
 * Returns: 0, -ENOSYS where the kernel lacks the list.
 */
int procfs_children(int32_t pid, void (*fn)(void *arg, int32_t child), void *arg);
/* The command line with secrets masked, NULL when it cannot be had. Caller frees. */
char *procfs_command(int32_t pid);
/* Inode of its pid namespace. Returns: 0 or -errno. */
int procfs_pid_ns(int32_t pid, uint32_t *ret_inode);
/* Number of the thread in its own pid namespace. Returns: 0 or -errno. */
int procfs_number(int32_t pid, int32_t tid, int32_t *ret_number);
/* The name of a file that `pid` has mapped. Returns: 0, -ENOENT, or -errno. */
int procfs_mapped(int32_t pid, uint64_t dev, uint64_t ino, char *buf, size_t size);
/*
 * The title that a process gave itself, or NULL when
 * its command line is that of an exec. Caller frees.
 */
char *procfs_title(int32_t pid);

/* sample.c: the sampler of tier 0. */
void sample_tree(struct probe *p, uint64_t now_ns);
void sample_threads(struct probe *p, uint64_t now_ns);
/* A thread whose start is known (else 0); the same one again is left alone. */
struct thread *thread_new(struct probe *p, struct proc *proc, int32_t tid, uint64_t start_ns);
void thread_gone(struct probe *p, struct proc *proc, int32_t tid);
/* After an exec there is one thread. */
void thread_only(struct probe *p, struct proc *proc, int32_t tid, uint64_t at_ns);

/* listen.c: listening sockets by asking, where no kernel program tells. */
void listen_begin(struct probe *p);
void listen_free(struct probe *p);
void listen_look(struct probe *p, uint64_t now_ns);
/* Note a listening socket; the same (process, port) only once. */
void listen_add(struct probe *p, int32_t index, uint16_t port, uint64_t at_ns, uint64_t late_ns,
		const char *address);

/* files.c: the file's index; `path` (may be NULL) is taken when none was known. */
int32_t files_get(struct probe *p, uint64_t dev, uint64_t ino, const char *path);
/* NO_INDEX: not met before. */
int32_t files_known(struct probe *p, uint64_t dev, uint64_t ino);
/* An inode of an overlay is met again under that of the file below it. */
void files_alias(struct probe *p, uint64_t ino, int32_t file);
/* A file without a name that `pid` has mapped: look there, some times. */
void files_name(struct probe *p, int32_t file, int32_t pid);
/* The run is over: sizes, file systems, and a name that says so for what never got a path. */
void files_end(struct probe *p);
void files_free(struct probe *p);

/* maps.c: `file` NO_INDEX is an anonymous mapping. */
void maps_add(struct probe *p, int32_t pid, uint64_t at_ns, uint64_t start, uint64_t bytes,
	      uint64_t offset, int32_t file);
void maps_fork(struct probe *p, int32_t ppid, int32_t pid, uint64_t at_ns);
void maps_exec(struct probe *p, int32_t pid, uint64_t at_ns);
void maps_exit(struct probe *p, int32_t pid, uint64_t at_ns);
/* The file at `address` at that moment, and its offset there; NO_INDEX none. */
int32_t maps_find(struct probe *p, int32_t pid, uint64_t address, uint64_t at_ns,
		  uint64_t *ret_offset);
/* Drop what ended long before `now_ns`; not each time. */
void maps_forget(struct probe *p, uint64_t now_ns);
void maps_free(struct probe *p);

/* access.c: a fault of tier 0, the last of `faults`; pieces of tier 1; reads and writes. */
void access_fault(struct probe *p, int32_t pid, int32_t tid, uint64_t address, uint64_t faults,
		  uint64_t at_ns);
void access_faults(struct probe *p, const struct fault_piece *f);
/* Faults whose file is known; `min_address` and `max_address` are offsets. */
void access_mapped(struct probe *p, const struct fault_piece *f);
/* Perhaps one that mapped a huge page: where its range is all of one file. */
void access_huge(struct probe *p, const struct fault_piece *f);
void access_populate(struct probe *p, const struct fault_piece *f);
void access_free(struct probe *p);

/*
 * perf.c: `faults` opens the fault events too (tier
 * 0). Returns: 0 or -errno, with nothing left open.
 */
int perf_open(struct probe *p, bool faults);
/* Read what is settled (or `all`). Returns: the time up to which everything was read. */
uint64_t perf_drain(struct probe *p, bool all);
void perf_report(struct probe *p);
void perf_close(struct probe *p);
void perf_attr(struct perf_event_attr *attr, uint64_t config);
int perf_event(struct perf_event_attr *attr, int32_t pid, int cpu);

/* bpf.c: -ENOSYS when it was not built in, -EPERM without the rights; `ret_program` (or NULL): which was refused. */
int bpf_open(struct probe *p, const char **ret_program);
void bpf_drain(struct probe *p);
/* Take the pieces that are still open, then let nothing more come. */
void bpf_finish(struct probe *p);
void bpf_close(struct probe *p);

/* records.c: one record of the kernel programs; `arg` is the probe. Returns: 0. */
int records_take(void *arg, void *data, size_t size);

/* times.c: one record of a thread; joined with the one before where both are alike. */
struct thread_time;
void times_add(struct probe *p, const struct thread_time *t);
/*
 * One from counters read now and then. The kernel charges a wait for a CPU when it ends, and CPU time at a tick: what
 * they hold beyond the record's length was before it, and is put there. Changes *t to what is its own.
 */
void times_add_sampled(struct probe *p, struct thread_time *t);
void times_free(struct probe *p);

/* log.c: what a process wrote to a descriptor that is log. */
/* Before and after the ring is drained: lines that came are followed by a look for more. */
void log_calm(struct probe *p);
void log_look_again(struct probe *p);
void log_add(struct probe *p, int32_t process, int32_t fd, uint64_t at_ns, const char *text,
	     size_t n);
/* The last lines may lack their newline. */
void log_end(struct probe *p);
void log_free(struct probe *p);
