/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/probe.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/str.h"
#include "model/model.h"
#include "probe/inside.h"

#define SAMPLE_PERIOD_NS (20 * NS_PER_MS)
#define SLOW_PERIOD_NS	 (200 * NS_PER_MS)
#define COARSE_PERIOD_NS (50 * NS_PER_MS)
#define COSTLY_PERIOD_NS (250 * NS_PER_MS)
#define DRAIN_PERIOD_NS	 (500 * NS_PER_MS) /* full rings and what is urgent wake coldprof earlier */
#define TITLE_PERIOD_NS	 NS_PER_SEC

static uint64_t own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static int set_timer(struct probe *p, uint64_t period_ns)
{
	struct itimerspec every = {
		.it_interval.tv_nsec = (long)period_ns,
		.it_value.tv_nsec = (long)period_ns,
	};

	p->period_ns = period_ns;
	return timerfd_settime(p->timer_fd, 0, &every, NULL);
}

static uint64_t within(uint64_t n, uint64_t low, uint64_t high)
{
	return n < low ? low : n > high ? high : n;
}

/*
 * The counters of threads lose nothing between samples, but where in the time between it was: they
 * are taken at a 200th of the start's age, and so that they cost about a 500th of a processor, but at
 * a 100th of its age at the latest. Where only the sampler finds processes it stays fast.
 */
static void slow_down(struct probe *p, uint64_t now_ns, uint64_t took_ns)
{
	uint64_t age_ns = now_ns - p->opened_ns, want_ns,
		 latest_ns = within(age_ns / 100, COARSE_PERIOD_NS, COSTLY_PERIOD_NS);

	p->sample_cost_ns = (7 * p->sample_cost_ns + took_ns) / 8;
	want_ns =
		within(500 * p->sample_cost_ns, within(age_ns / 200, 0, SLOW_PERIOD_NS), latest_ns);
	if (!(p->trace->saw & SAW_TIMES) && p->tree_by != TREE_PROC &&
	    want_ns >= p->period_ns * 3 / 2)
		set_timer(p, want_ns);
}

static int add_timer(struct probe *p, int *ret_fd, struct err *err)
{
	struct epoll_event ev = {.events = EPOLLIN};

	*ret_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (*ret_fd < 0)
		return err_sys(err, errno, "cannot make a timer");
	ev.data.fd = *ret_fd;
	if (epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, *ret_fd, &ev) < 0)
		return err_sys(err, errno, "cannot watch the timer");
	return 0;
}

/* Not yet set. */
static int open_timers(struct probe *p, struct err *err)
{
	int rc = add_timer(p, &p->timer_fd, err);

	return rc ? rc : add_timer(p, &p->log_timer_fd, err);
}

static void add_root(struct probe *p)
{
	char exe[PATH_MAX];
	struct proc_stat st = {.ppid = getpid(), .comm = "coldprof"};
	struct proc *root;
	int rc = proc_stat(p->opt.root_pid, &st);

	/* Where /proc is not mounted the command runs all the same. */
	if (rc < 0 && !proc_is_ours())
		trace_note(p->trace, "proc", "warning", UNKNOWN,
			   "/proc is not mounted, or is that of another pid namespace: nothing is "
			   "read from it (unshare has --mount-proc)");
	else if (rc < 0)
		trace_note(p->trace, "proc", "warning", UNKNOWN, "cannot read /proc/%d/stat: %s",
			   p->opt.root_pid, strerror(-rc));
	root = tree_fork(p, p->opt.root_pid, st.ppid, p->opened_ns);
	root->ticks = st.start_ticks;
	tree_name(p, root, p->opt.root_name ? p->opt.root_name : st.comm);
	pidns_set(p, root, p->trace->pid_ns, 0);
	if (procfs_exe(root->pid, exe, sizeof(exe)) == 0)
		p->barrier_exe = trace_str(p->trace, exe);
	p->trace->processes.v[root->index].exe = p->barrier_exe;
}

/* Whose exec nobody saw does not run the program that waited at the barrier. */
static void forget_barrier(struct probe *p)
{
	vec_for_each (it, &p->trace->processes) {
		if (p->opt.root_name && it->exec_ns == UNKNOWN && it->exe == p->barrier_exe)
			it->exe = NULL;
	}
}

bool probe_kernel_before(int major, int minor)
{
	struct utsname u;
	int is_major, is_minor;

	return uname(&u) == 0 && sscanf(u.release, "%d.%d", &is_major, &is_minor) == 2 &&
	       (is_major < major || (is_major == major && is_minor < minor));
}

/* Who may load programs, for somebody who may not. */
static const char *who_may(void)
{
	char map[64];

	if (geteuid() != 0)
		return " (needs root, or CAP_BPF and CAP_PERFMON)";
	if (io_read_small("/proc/self/uid_map", map, sizeof(map)) > 0 && !strstr(map, "4294967295"))
		return " (this root is that of a user namespace, as in a rootless container)";
	return " (this root lacks CAP_BPF or CAP_PERFMON: docker run --cap-add=BPF "
	       "--cap-add=PERFMON)";
}

static void note_tier_0(struct probe *p, int rc, const char *program)
{
	const char *why = strerror(-rc), *next = "";

	if (rc == -EPERM || rc == -EACCES)
		next = who_may();
	else if (rc == -ESRCH && access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		why = "the kernel does not tell its types in /sys/kernel/btf/vmlinux";
	else if (probe_kernel_before(5, 15))
		next = " (Linux 5.15 and newer take them)";
	trace_note(p->trace, "bpf", "warning", UNKNOWN,
		   "tier 0: kernel probes cannot be loaded: %s%s%s%s%s", program ? "program " : "",
		   program ? program : "", program ? ": " : "", why, next);
}

/* From the best source to the least; what is missing becomes a diagnostic. */
static void choose(struct probe *p)
{
	const char *program = NULL;
	int rc;

	rc = p->opt.max_tier >= 1 ? bpf_open(p, &program) : -ECANCELED;
	if (rc == 0)
		p->tier = 1;
	else if (rc == -ENOSYS)
		trace_note(p->trace, "bpf", "warning", UNKNOWN,
			   "tier 0: kernel probes are not built in");
	else if (rc != -ECANCELED)
		note_tier_0(p, rc, program);
	/* Mappings are told with the faults, and nothing else is missing. */
	if (p->faults_by_file && p->tree_by == TREE_BPF)
		return;
	rc = p->opt.max_tier >= 0 ? perf_open(p, !(p->trace->saw & SAW_FAULTS)) : -ECANCELED;
	if (rc < 0) {
		if (rc != -ECANCELED)
			trace_note(p->trace, "perf", "info", UNKNOWN,
				   "no perf events: %s (kernel.perf_event_paranoid is above 2, or "
				   "seccomp)",
				   strerror(-rc));
		/* Without mappings an address tells no file. */
		p->trace->saw &= ~(unsigned)(SAW_FAULTS | SAW_WAITS);
		return;
	}
	p->trace->saw |= SAW_FAULTS;
	if (p->tree_by == TREE_PROC) {
		p->tree_by = TREE_PERF;
		p->trace->saw |= SAW_TREE;
	}
}

int probe_open(const struct probe_options *opt, struct trace *t, struct probe **ret_probe,
	       struct err *err)
{
	struct probe *p = xcalloc(1, sizeof(*p));
	int rc = 0;

	p->opt = *opt;
	p->trace = t;
	p->epoll_fd = p->timer_fd = p->log_timer_fd = p->diag_fd = -1;
	p->opened_ns = clock_now_ns();
	t->pid_ns = pidns_own();
	p->own_cpu_ns = own_cpu_ns();
	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll_fd < 0)
		rc = err_sys(err, errno, "cannot make an epoll descriptor");
	/* Before the kernel's probes, which take what descriptors there are. */
	if (rc == 0)
		rc = open_timers(p, err);
	if (rc == 0) {
		add_root(p);
		choose(p);
		listen_begin(p);
		if (set_timer(p, p->trace->saw & SAW_TIMES ? DRAIN_PERIOD_NS : SAMPLE_PERIOD_NS) <
		    0)
			rc = err_sys(err, errno, "cannot set a timer");
	}
	if (rc < 0) {
		probe_close(p);
		return rc;
	}
	p->setup_cpu_ns = own_cpu_ns() - p->own_cpu_ns;
	p->own_cpu_ns += p->setup_cpu_ns;
	*ret_probe = p;
	return 0;
}

int probe_tier(const struct probe *p)
{
	return p->tier;
}

int probe_fd(const struct probe *p)
{
	return p->epoll_fd;
}

static void read_titles(struct probe *p)
{
	struct proc *proc, *next;

	HASH_ITER (hh, p->procs, proc, next) {
		char *title = procfs_title(proc->pid);

		pidns_look(p, proc);

		if (title && title[0] && p->trace->processes.v[proc->index].name &&
		    str_starts(title, p->trace->processes.v[proc->index].name))
			tree_name(p, proc, title);
		free(title);
	}
}

static void sample(struct probe *p)
{
	uint64_t now_ns = clock_now_ns(), began_ns = own_cpu_ns();

	if (p->tree_by == TREE_PROC)
		sample_tree(p, now_ns);
	if (!(p->trace->saw & SAW_TIMES))
		sample_threads(p, now_ns);
	if (!(p->trace->saw & SAW_LISTEN) && now_ns >= p->next_listen_ns) {
		listen_look(p, now_ns);
	}
	if (now_ns >= p->next_title_ns) {
		read_titles(p);
		p->next_title_ns = now_ns + TITLE_PERIOD_NS;
	}
	slow_down(p, now_ns, own_cpu_ns() - began_ns);
}

/* Faults whose mappings are known by now. */
static void resolve(struct probe *p, uint64_t until_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->pending.n; i++) {
		struct fault_piece *f = &p->pending.v[i];

		if (f->end_ns > until_ns)
			p->pending.v[kept++] = *f;
		else if (f->populate)
			access_populate(p, f);
		else
			access_faults(p, f);
	}
	p->pending.n = kept;
}

static void take(struct probe *p, bool all)
{
	uint64_t until_ns = UINT64_MAX;

	bpf_drain(p);
	if (p->perf)
		until_ns = perf_drain(p, all);
	if (p->perf || p->faults_by_file) {
		resolve(p, until_ns);
		maps_forget(p, clock_now_ns());
	} else {
		vec_clear(&p->pending);
	}
}

void probe_drain(struct probe *p)
{
	struct epoll_event ev[8];
	uint64_t ticks;

	if (p->stopped)
		return;
	log_calm(p);
	/* The events are taken here, so that what is edge-triggered becomes quiet. */
	epoll_wait(p->epoll_fd, ev, 8, 0);
	take(p, false);
	log_look_again(p);
	if (read(p->timer_fd, &ticks, sizeof(ticks)) == sizeof(ticks))
		sample(p);
}

void probe_new_listeners(struct probe *p, void (*fn)(void *arg, uint16_t port, int32_t process),
			 void *arg)
{
	for (; p->listeners_told < p->trace->listeners.n; p->listeners_told++) {
		const struct listener *l = &p->trace->listeners.v[p->listeners_told];

		fn(arg, l->port, l->process);
	}
}

static uint64_t peak_rss_bytes(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (uint64_t)r.ru_maxrss * 1024;
}

void probe_stop(struct probe *p)
{
	if (p->stopped)
		return;
	take(p, false);
	sample(p);
	bpf_finish(p);
	take(p, true);
	log_end(p);
	files_end(p);
	perf_report(p);
	perf_close(p);
	forget_barrier(p);
	p->stopped = true;
	if (p->anonymous_faults)
		trace_note(p->trace, "probe", "info", p->anonymous_faults,
			   "page faults on memory that is no file's");
	if (p->mixed_faults)
		trace_note(p->trace, "probe", "info", p->mixed_faults,
			   "page faults counted together over two files");
	trace_note(p->trace, "probe", "info", p->setup_cpu_ns / NS_PER_US,
		   "CPU microseconds to set the probes up, before the start");
	trace_note(p->trace, "probe", "cost", (own_cpu_ns() - p->own_cpu_ns) / NS_PER_US,
		   "CPU microseconds that coldprof itself used while it recorded");
	trace_note(p->trace, "probe", "info", peak_rss_bytes(),
		   "bytes of memory that coldprof used at most");
	close(p->timer_fd);
	p->timer_fd = -1;
}

void probe_close(struct probe *p)
{
	if (!p)
		return;
	bpf_close(p);
	perf_close(p);
	tree_free(p);
	files_free(p);
	maps_free(p);
	access_free(p);
	times_free(p);
	log_free(p);
	listen_free(p);
	if (p->timer_fd >= 0)
		close(p->timer_fd);
	if (p->log_timer_fd >= 0)
		close(p->log_timer_fd);
	if (p->epoll_fd >= 0)
		close(p->epoll_fd);
	free(p);
}
