/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/inside.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/proc.h"
#include "model/model.h"

/*
 * An idle thread is looked at less often, up to this many periods apart; its counters lose nothing.
 */
#define IDLE_PERIODS 8
#define THREAD_FDS   256
/* Counters and the moment at which they were read lie no further apart than this, if it can be had. */
#define READ_AT_MOST_NS (NS_PER_MS / 2)
#define READ_TRIES	4

static void child_seen(void *arg, int32_t pid)
{
	struct probe *p = arg;
	struct proc *proc = tree_find(p, pid);
	struct proc_stat st;
	uint64_t start_ns;

	if (proc_stat(pid, &st) < 0)
		return;
	if (proc && proc->ticks == st.start_ticks)
		return;
	/* The kernel tells the start in ticks, rounded down: never before the parent's. */
	start_ns = proc_start_ns(&st);
	proc = tree_find(p, st.ppid);
	if (proc && start_ns < p->trace->processes.v[proc->index].start_ns)
		start_ns = p->trace->processes.v[proc->index].start_ns;
	proc = tree_fork(p, pid, st.ppid, start_ns);
	proc->ticks = st.start_ticks;
	tree_name(p, proc, st.comm);
	pidns_look(p, proc);
}

static void exec_seen(struct probe *p, struct proc *proc, uint64_t now_ns, const char *exe)
{
	char *command = procfs_command(proc->pid);

	tree_exec(p, proc, now_ns, exe, command);
	free(command);
}

static void look(struct probe *p, struct proc *proc, uint64_t now_ns)
{
	struct process *it = &p->trace->processes.v[proc->index];
	char exe[PATH_MAX];
	struct proc_stat st;

	if (proc_stat(proc->pid, &st) < 0 || (proc->ticks && st.start_ticks != proc->ticks)) {
		tree_exit(p, proc, now_ns, -1);
		return;
	}
	proc->ticks = st.start_ticks;
	if (st.state == 'Z' || st.state == 'X') {
		tree_exit(p, proc, now_ns, st.exit_code);
		return;
	}
	if (procfs_exe(proc->pid, exe, sizeof(exe)) == 0) {
		if (!it->exe)
			it->exe = trace_str(p->trace, exe);
		else if (strcmp(it->exe, exe) != 0)
			exec_seen(p, proc, now_ns, exe);
	}
	tree_name(p, proc, st.comm);
}

void sample_tree(struct probe *p, uint64_t now_ns)
{
	struct proc *proc, *next;
	bool walk = now_ns >= p->next_walk_ns;

	HASH_ITER (hh, p->procs, proc, next)
		look(p, proc, now_ns);
	if (!walk)
		return;
	/* New entries go to the end of the list, so grandchildren are walked too. */
	for (proc = p->procs; proc; proc = proc->hh.next)
		procfs_children(proc->pid, child_seen, p);
	p->next_walk_ns = now_ns + p->period_ns;
}

/*
 * Counters that stand still: asleep, or waiting for a CPU, which the kernel counts when it ends. Its state tells the
 * two apart; a thread that was seen to sleep is taken to go on with that.
 */
static bool is_queued(const struct proc *proc, const struct thread *th)
{
	return (th->queued || !th->idle) && proc_thread_state(proc->pid, th->tid) == 'R';
}

static void thread_took(struct probe *p, struct proc *proc, struct thread *th, uint64_t cpu_ns,
			uint64_t runnable_ns, uint64_t now_ns)
{
	uint64_t cpu = cpu_ns - th->cpu_ns,
		 runnable = runnable_ns > th->runnable_ns ? runnable_ns - th->runnable_ns : 0;
	bool queued = !cpu && !runnable && th->at_ns && now_ns > th->at_ns && is_queued(proc, th);
	struct thread_time t = {
		.process = proc->index,
		.tid = th->tid,
		.start_ns = th->at_ns,
		.end_ns = now_ns,
		.cpu_ns = cpu,
		.runnable_ns = runnable,
		.io_wait_ns = UNKNOWN,
		.sleep_ns = UNKNOWN,
		.yields = UNKNOWN,
	};

	if (queued)
		t.runnable_ns = now_ns - th->at_ns;
	if (th->at_ns && now_ns > th->at_ns)
		times_add_sampled(p, &t);
	th->idle = cpu || runnable || queued ? 0 : th->idle + 1;
	th->next_ns = now_ns + p->period_ns / 2 +
		      p->period_ns * (th->idle < IDLE_PERIODS ? th->idle : IDLE_PERIODS);
	th->cpu_ns = cpu_ns;
	/* What is told ahead of the counters is taken off them when they follow. */
	th->runnable_ns = queued ? th->runnable_ns + t.runnable_ns : runnable_ns;
	th->queued = queued;
	th->at_ns = now_ns;
}

struct thread *thread_new(struct probe *p, struct proc *proc, int32_t tid, uint64_t start_ns)
{
	struct thread *th;

	(void)p;
	HASH_FIND(hh, proc->threads, &tid, sizeof(tid), th);
	if (th)
		return th;
	th = xcalloc(1, sizeof(*th));
	th->tid = tid;
	th->fd = -1;
	th->at_ns = start_ns;
	HASH_ADD(hh, proc->threads, tid, sizeof(th->tid), th);
	return th;
}

void thread_gone(struct probe *p, struct proc *proc, int32_t tid)
{
	struct thread *th;

	HASH_FIND(hh, proc->threads, &tid, sizeof(tid), th);
	if (!th)
		return;
	HASH_DEL(proc->threads, th);
	if (th->fd >= 0) {
		close(th->fd);
		p->thread_fds--;
	}
	free(th);
}

void thread_only(struct probe *p, struct proc *proc, int32_t tid, uint64_t at_ns)
{
	struct thread *th, *next;

	HASH_ITER (hh, proc->threads, th, next)
		if (th->tid != tid)
			thread_gone(p, proc, th->tid);
	thread_new(p, proc, tid, at_ns);
}

/* An open schedstat is read again at a third of the cost of opening it. */
static ssize_t read_schedstat(struct probe *p, struct proc *proc, struct thread *th, char *buf,
			      size_t size)
{
	char path[64];
	ssize_t n;

	if (th->fd >= 0) {
		n = pread(th->fd, buf, size - 1, 0);
		if (n > 0)
			buf[n] = '\0';
		return n;
	}
	proc_path(path, sizeof(path), proc->pid, "task/%d/schedstat", th->tid);
	if (p->thread_fds < THREAD_FDS) {
		th->fd = open(path, O_RDONLY | O_CLOEXEC);
		if (th->fd >= 0) {
			p->thread_fds++;
			return read_schedstat(p, proc, th, buf, size);
		}
	}
	return io_read_small(path, buf, size);
}

static void sample_thread(struct probe *p, struct proc *proc, struct thread *th, uint64_t now_ns)
{
	unsigned long long cpu_ns, runnable_ns;
	char buf[128];

	if (now_ns < th->next_ns)
		return;
	/*
	 * coldprof itself may be taken off its CPU between the counters and the clock; then the two belong
	 * to different moments, and what falls between them would be lost.
	 */
	for (int i = 0; i < READ_TRIES; i++) {
		now_ns = clock_now_ns();
		if (read_schedstat(p, proc, th, buf, sizeof(buf)) <= 0)
			return;
		if (clock_now_ns() - now_ns < READ_AT_MOST_NS)
			break;
	}
	if (sscanf(buf, "%llu %llu", &cpu_ns, &runnable_ns) != 2)
		return;
	thread_took(p, proc, th, cpu_ns, runnable_ns, now_ns);
	p->trace->saw |= SAW_CPU;
}

/* Where nothing tells of threads: list them. */
static void list_threads(struct probe *p, struct proc *proc)
{
	struct thread *th, *next;
	struct dirent *d;
	char path[64];
	DIR *dir;

	proc_path(path, sizeof(path), proc->pid, "task");
	dir = opendir(path);
	if (!dir)
		return;
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.')
			thread_new(p, proc, (int32_t)strtol(d->d_name, NULL, 10), 0)->seen = true;
	closedir(dir);
	HASH_ITER (hh, proc->threads, th, next) {
		if (!th->seen)
			thread_gone(p, proc, th->tid);
		else
			th->seen = false;
	}
}

static void sample_process(struct probe *p, struct proc *proc, uint64_t now_ns)
{
	struct thread *th, *next;

	if (p->tree_by != TREE_PERF)
		list_threads(p, proc);
	HASH_ITER (hh, proc->threads, th, next)
		sample_thread(p, proc, th, now_ns);
}

void sample_threads(struct probe *p, uint64_t now_ns)
{
	struct proc *proc, *next;

	HASH_ITER (hh, p->procs, proc, next)
		sample_process(p, proc, now_ns);
}
