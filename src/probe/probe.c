/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/probe.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "model/model.h"
#include "probe/inside.h"

#define SAMPLE_PERIOD_NS (20 * NS_PER_MS)
#define LISTEN_PERIOD_NS (50 * NS_PER_MS)
#define TITLE_PERIOD_NS	 (500 * NS_PER_MS)

static int64_t boot_offset(void)
{
	struct timespec boot;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (int64_t)((uint64_t)boot.tv_sec * NS_PER_SEC + (uint64_t)boot.tv_nsec -
			 clock_now_ns());
}

static uint64_t own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static int open_timer(struct probe *p, struct err *err)
{
	struct itimerspec every = {
		.it_interval.tv_nsec = (long)p->period_ns,
		.it_value.tv_nsec = (long)p->period_ns,
	};
	struct epoll_event ev = {.events = EPOLLIN};

	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll_fd < 0)
		return err_sys(err, errno, "cannot make an epoll descriptor");
	p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (p->timer_fd < 0 || timerfd_settime(p->timer_fd, 0, &every, NULL) < 0)
		return err_sys(err, errno, "cannot make a timer");
	ev.data.fd = p->timer_fd;
	if (epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, p->timer_fd, &ev) < 0)
		return err_sys(err, errno, "cannot watch the timer");
	return 0;
}

static int add_root(struct probe *p, struct err *err)
{
	char exe[PATH_MAX];
	struct proc_stat st;
	struct proc *root;
	int rc = procfs_stat(p->opt.root_pid, &st);

	if (rc < 0)
		return err_sys(err, -rc, "cannot read /proc/%d/stat", p->opt.root_pid);
	root = tree_fork(p, p->opt.root_pid, st.ppid, p->opened_ns);
	root->ticks = st.start_ticks;
	tree_name(p, root, st.comm);
	if (procfs_exe(root->pid, exe, sizeof(exe)) == 0)
		p->trace->processes.v[root->index].exe = trace_str(p->trace, exe);
	return 0;
}

int probe_open(const struct probe_options *opt, struct trace *t, struct probe **ret_probe,
	       struct err *err)
{
	struct probe *p = xcalloc(1, sizeof(*p));
	int rc;

	p->opt = *opt;
	p->trace = t;
	p->epoll_fd = p->timer_fd = -1;
	p->period_ns = SAMPLE_PERIOD_NS;
	p->opened_ns = clock_now_ns();
	p->own_cpu_ns = own_cpu_ns();
	p->boot_offset_ns = boot_offset();
	rc = open_timer(p, err);
	if (rc == 0)
		rc = add_root(p, err);
	if (rc < 0) {
		probe_close(p);
		return rc;
	}
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

		if (title && title[0] && p->trace->processes.v[proc->index].name &&
		    str_starts(title, p->trace->processes.v[proc->index].name))
			tree_name(p, proc, title);
		free(title);
	}
}

static void sample(struct probe *p)
{
	uint64_t now_ns = clock_now_ns();

	sample_tree(p, now_ns);
	sample_threads(p, now_ns);
	if (now_ns >= p->next_listen_ns) {
		listen_look(p, now_ns);
		p->next_listen_ns = now_ns + LISTEN_PERIOD_NS;
	}
	if (now_ns >= p->next_title_ns) {
		read_titles(p);
		p->next_title_ns = now_ns + TITLE_PERIOD_NS;
	}
}

void probe_drain(struct probe *p)
{
	uint64_t ticks;

	if (p->stopped)
		return;
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

void probe_stop(struct probe *p)
{
	if (p->stopped)
		return;
	sample(p);
	p->stopped = true;
	trace_note(p->trace, "probe", "info", (own_cpu_ns() - p->own_cpu_ns) / NS_PER_US,
		   "CPU microseconds that coldprof itself used while it recorded");
	close(p->timer_fd);
	p->timer_fd = -1;
}

void probe_close(struct probe *p)
{
	if (!p)
		return;
	tree_free(p);
	vec_free(&p->sockets);
	if (p->timer_fd >= 0)
		close(p->timer_fd);
	if (p->epoll_fd >= 0)
		close(p->epoll_fd);
	free(p);
}
