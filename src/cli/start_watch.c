/* SPDX-License-Identifier: Apache-2.0 */
/* One loop until the guest and our own work are done: what comes in, and what it means. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "cli/status_line.h"
#include "launch/ready.h"
#include "probe/probe.h"

/* While the start is recorded all that is urgent comes by its own descriptor. */
#define CALM_TICK_NS  (200 * NS_PER_MS)
#define ALONE_TICK_NS (500 * NS_PER_MS)
#define TICK_NS	      (50 * NS_PER_MS)
#define SCAN_NS	      (200 * NS_PER_MS)
#define SURVIVORS_NS  (200 * NS_PER_MS)

enum what { ON_SIGNAL, ON_OUTCOME, ON_PROBE, ON_READY, ON_TICK };

/* The recording is over: store, show, and stop the guest where that was asked for. */
static void start_end(struct start *s, const char *ending, uint64_t at_ns)
{
	const char *mark;
	uint64_t ready_ns;

	if (!s->root.exec_failed && ready_reached(s->ready, &mark, &ready_ns)) {
		s->trace.run.ready_mark = mark;
		s->trace.run.ready_ns = ready_ns;
		ending = "ready";
		at_ns = ready_ns;
	}
	s->phase = PHASE_SERVING;
	if (s->line.drawn)
		status_line_clear(s->line.tty_fd);
	finish_begin(s, ending, at_ns);
	if (s->stop_when_ready || s->timed_out)
		stop_begin(s);
}

/* The main process is gone while we record. */
static void root_ended(struct start *s)
{
	bool done = WIFEXITED(s->root.status) && !WEXITSTATUS(s->root.status);
	uint64_t now_ns = clock_now_ns();
	member_list living = {0};

	probe_drain(s->probe);
	start_living(s, &living);
	if (done && living.n && s->rec->mark.kind != MARK_EXIT) {
		s->next_look_ns = now_ns + SURVIVORS_NS; /* a daemon: it may still become ready */
		vec_free(&living);
		return;
	}
	if (living.n)
		relay_survivors(s, &living);
	vec_free(&living);
	ready_ended(s->ready, s->root.status, now_ns);
	start_end(s, WIFSIGNALED(s->root.status) ? "signal" : "exit", now_ns);
}

static void outcome(struct start *s)
{
	int rc = launch_outcome(&s->launch);

	if (rc == -EAGAIN)
		return;
	if (s->launch.exec_ns)
		s->trace.run.start_ns = s->launch.exec_ns;
	if (rc > 0) {
		s->root.exec_failed = true;
		cli_say("cannot run '%s': %s", s->rec->argv[0], strerror(rc));
	}
}

static void reap(struct start *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == s->launch.pid) {
			s->root.gone = true;
			s->root.status = status;
			s->trace.run.status = status;
			if (s->launch.outcome_fd >= 0)
				outcome(s);
			if (s->phase == PHASE_STARTING)
				root_ended(s);
		} else if (pid == s->finisher) {
			s->finisher = 0;
			if (WIFSIGNALED(status) && !*s->stored)
				cli_say("this run is not stored: what stores it ended by signal "
					"%d (%s)",
					WTERMSIG(status), strsignal(WTERMSIG(status)));
		} else if (pid == s->memory.holder.pid) {
			close(s->memory.holder.life_fd);
			s->memory.holder = (struct holder){0};
		}
	}
}

static void line(struct start *s, const char *text, uint64_t at_ns)
{
	int port;

	if (!s->rec->engine)
		s->rec->engine = engine_of_line(text);
	port = engine_port_of_line(s->rec->engine, text);
	if (port > 0) {
		if (!s->port) {
			s->port = (uint16_t)port;
			port_named(s);
		}
		ready_port(s->ready, (uint16_t)port);
	}
	ready_line(s->ready, text, at_ns);
}

void watch_line(void *start, const char *text, uint64_t at_ns)
{
	line(start, text, at_ns);
}

/* Where the kernel side does not see them lines come from the guests' memory. */
static void lines(struct start *s, uint64_t now_ns)
{
	static struct ring_record rec;
	struct ring_reader reader;

	if ((s->trace.saw & SAW_LOG) || !ready_wants_lines(s->ready) || now_ns < s->next_scan_ns ||
	    ring_reader_init(&reader, s->memory.ring.map, s->memory.ring.size_bytes))
		return;
	while (ring_next(&reader, &rec)) {
		if (rec.kind == WIRE_LOG)
			line(s, rec.words, rec.text.at_ns);
	}
	/* A full memory takes its time to read: never more than a twentieth of ours. */
	s->next_scan_ns = clock_now_ns() + (clock_now_ns() - now_ns) * 20;
	if (s->next_scan_ns < now_ns + SCAN_NS)
		s->next_scan_ns = now_ns + SCAN_NS;
}

static void set_tick(struct start *s)
{
	/* Nobody looks, and nothing but events is waited for. */
	bool alone = s->line.tty_fd < 0 && !s->root.gone && !s->deadline_ns;
	const uint64_t periods_ns[] = {
		[PHASE_STARTING] = alone ? ALONE_TICK_NS : CALM_TICK_NS,
		[PHASE_QUIET] = TICK_NS,
		[PHASE_STOPPING] = TICK_NS,
		[PHASE_OVER] = 0,
	};
	uint64_t period_ns = periods_ns[s->phase];
	struct itimerspec every = {
		.it_interval.tv_nsec = (long)period_ns,
		.it_value.tv_nsec = (long)period_ns,
	};

	if (s->watch.tick_ns != period_ns)
		timerfd_settime(s->watch.tick_fd, 0, &every, NULL);
	s->watch.tick_ns = period_ns;
}

static void tick(struct start *s)
{
	uint64_t now_ns = clock_now_ns(), ticks;
	member_list living = {0};

	if (read(s->watch.tick_fd, &ticks, sizeof(ticks)) < 0)
		return;
	if (s->phase == PHASE_QUIET || s->phase == PHASE_STOPPING) {
		stop_turn(s);
		return;
	}
	if (s->phase != PHASE_STARTING)
		return;
	lines(s, now_ns);
	status_line_draw(s->line.tty_fd, s, now_ns);
	if (s->deadline_ns && now_ns >= s->deadline_ns) {
		s->timed_out = true;
		start_end(s, "timeout", now_ns);
		return;
	}
	if (!s->root.gone || now_ns < s->next_look_ns)
		return;
	s->next_look_ns = now_ns + SURVIVORS_NS;
	if (!start_living(s, &living) && !living.n) {
		ready_ended(s->ready, s->root.status, now_ns);
		start_end(s, "exit", now_ns);
	} else {
		port_look(s, &living, now_ns);
	}
	vec_free(&living);
}

static void drain(struct start *s)
{
	if (s->phase != PHASE_STARTING)
		return;
	probe_drain(s->probe);
	probe_new_listeners(s->probe, port_listener, s);
	lines(s, clock_now_ns());
}

static int add(struct start *s, int fd, enum what what)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = what};

	return fd < 0 ? 0 : epoll_ctl(s->watch.epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

static bool over(const struct start *s)
{
	bool guest_done = s->phase == PHASE_OVER ||
			  (s->phase == PHASE_SERVING && (s->root.gone || s->signal));

	return guest_done && !s->finisher;
}

static void signals(struct start *s)
{
	struct signalfd_siginfo i;

	while (read(s->watch.signal_fd, &i, sizeof(i)) == sizeof(i)) {
		if (i.ssi_signo == SIGCHLD)
			reap(s);
		else if (relay_signal(s, &i))
			start_end(s, "signal", clock_now_ns());
	}
}

void watch_loop(struct start *s)
{
	const char *mark;
	uint64_t at_ns;

	while (!over(s)) {
		struct epoll_event ev[8];
		int n;

		set_tick(s);
		n = epoll_wait(s->watch.epoll_fd, ev, 8, -1);
		for (int i = 0; i < n; i++) {
			switch ((enum what)ev[i].data.u32) {
			case ON_SIGNAL:
				signals(s);
				break;
			case ON_OUTCOME:
				outcome(s);
				break;
			case ON_PROBE:
				drain(s);
				break;
			case ON_READY:
				ready_turn(s->ready);
				break;
			case ON_TICK:
				tick(s);
				break;
			}
		}
		if (s->phase == PHASE_STARTING && ready_reached(s->ready, &mark, &at_ns))
			start_end(s, "ready", at_ns);
	}
}

int watch_open(struct start *s)
{
	s->watch.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->watch.tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	s->watch.signal_fd = signalfd(-1, &s->rec->signals.blocked, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->watch.epoll_fd < 0 || s->watch.tick_fd < 0 || s->watch.signal_fd < 0 ? -1 : 0;
}

int watch_begin(struct start *s, struct err *err)
{
	if (add(s, s->watch.signal_fd, ON_SIGNAL) || add(s, s->launch.outcome_fd, ON_OUTCOME) ||
	    add(s, probe_fd(s->probe), ON_PROBE) || add(s, ready_fd(s->ready), ON_READY) ||
	    add(s, s->watch.tick_fd, ON_TICK))
		return err_sys(err, errno, "cannot watch the start");
	return 0;
}

void watch_close(struct start *s)
{
	if (s->watch.epoll_fd >= 0)
		close(s->watch.epoll_fd);
	if (s->watch.tick_fd >= 0)
		close(s->watch.tick_fd);
	if (s->watch.signal_fd >= 0)
		close(s->watch.signal_fd);
}
