/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One start: set it up while the guest waits, then
 * one loop until the guest and our own work are done.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "cli/status_line.h"
#include "launch/environment.h"
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

	if (!s->exec_failed && ready_reached(s->ready, &mark, &ready_ns)) {
		s->trace.run.ready_mark = mark;
		s->trace.run.ready_ns = ready_ns;
		ending = "ready";
		at_ns = ready_ns;
	}
	s->phase = PHASE_SERVING;
	if (s->line_drawn)
		status_line_clear(s->tty_fd);
	finish_begin(s, ending, at_ns);
	if (s->stop_when_ready || s->timed_out)
		stop_begin(s);
}

/* The main process is gone while we record. */
static void root_ended(struct start *s)
{
	bool done = WIFEXITED(s->root_status) && !WEXITSTATUS(s->root_status);
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
	ready_ended(s->ready, s->root_status, now_ns);
	start_end(s, WIFSIGNALED(s->root_status) ? "signal" : "exit", now_ns);
}

static void outcome(struct start *s)
{
	int rc = launch_outcome(&s->launch);

	if (rc == -EAGAIN)
		return;
	if (s->launch.exec_ns)
		s->trace.run.start_ns = s->launch.exec_ns;
	if (rc > 0) {
		s->exec_failed = true;
		cli_say("cannot run '%s': %s", s->rec->argv[0], strerror(rc));
	}
}

static void reap(struct start *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == s->launch.pid) {
			s->root_gone = true;
			s->root_status = status;
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
		} else if (pid == s->holder.pid) {
			close(s->holder.life_fd);
			s->holder = (struct holder){0};
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

/* Lines come from the kernel side where it sees them, else from the guests' memory. */
static void lines(struct start *s, uint64_t now_ns)
{
	static struct ring_record rec;
	struct ring_reader reader;

	for (; s->lines_seen < s->trace.log.n; s->lines_seen++)
		line(s, s->trace.log.v[s->lines_seen].text, s->trace.log.v[s->lines_seen].at_ns);
	if ((s->trace.saw & SAW_LOG) || !ready_wants_lines(s->ready) || now_ns < s->next_scan_ns ||
	    ring_reader_init(&reader, s->ring.map, s->ring.size_bytes))
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
	bool alone = s->tty_fd < 0 && !s->root_gone && !s->deadline_ns;
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

	if (s->tick_ns != period_ns)
		timerfd_settime(s->tick_fd, 0, &every, NULL);
	s->tick_ns = period_ns;
}

static void tick(struct start *s)
{
	uint64_t now_ns = clock_now_ns(), ticks;
	member_list living = {0};

	if (read(s->tick_fd, &ticks, sizeof(ticks)) < 0)
		return;
	if (s->phase == PHASE_QUIET || s->phase == PHASE_STOPPING) {
		stop_turn(s);
		return;
	}
	if (s->phase != PHASE_STARTING)
		return;
	lines(s, now_ns);
	status_line_draw(s->tty_fd, s, now_ns);
	if (s->deadline_ns && now_ns >= s->deadline_ns) {
		s->timed_out = true;
		start_end(s, "timeout", now_ns);
		return;
	}
	if (!s->root_gone || now_ns < s->next_look_ns)
		return;
	s->next_look_ns = now_ns + SURVIVORS_NS;
	if (!start_living(s, &living) && !living.n) {
		ready_ended(s->ready, s->root_status, now_ns);
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

static int watch(struct start *s, int fd, enum what what)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = what};

	return fd < 0 ? 0 : epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

static bool over(const struct start *s)
{
	bool guest_done = s->phase == PHASE_OVER ||
			  (s->phase == PHASE_SERVING && (s->root_gone || s->signal));

	return guest_done && !s->finisher;
}

static void signals(struct start *s)
{
	struct signalfd_siginfo i;

	while (read(s->signal_fd, &i, sizeof(i)) == sizeof(i)) {
		if (i.ssi_signo == SIGCHLD)
			reap(s);
		else if (relay_signal(s, &i))
			start_end(s, "signal", clock_now_ns());
	}
}

static void loop(struct start *s)
{
	const char *mark;
	uint64_t at_ns;

	while (!over(s)) {
		struct epoll_event ev[8];
		int n;

		set_tick(s);
		n = epoll_wait(s->epoll_fd, ev, 8, -1);
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

/* For the requests to the server and what else comes later, where the limit is low. */
#define SPARE_FILES 8

/* The probes take what there is, and do with less: some descriptors are kept back from them. */
static int open_probe(struct start *s, const struct probe_options *opt, struct err *err)
{
	int spare[SPARE_FILES], rc;

	for (int i = 0; i < SPARE_FILES; i++)
		spare[i] = fcntl(s->epoll_fd, F_DUPFD_CLOEXEC, 0);
	rc = probe_open(opt, &s->trace, &s->probe, err);
	for (int i = 0; i < SPARE_FILES; i++)
		if (spare[i] >= 0)
			close(spare[i]);
	return rc;
}

static int start_guest(struct start *s, struct err *err)
{
	struct record *rec = s->rec;
	const struct guest_user *user = rec->as_user ? &rec->user : NULL;
	struct probe_options probe = {.max_tier = rec->max_tier > 1 ? 1 : rec->max_tier};
	struct ready_options ready = {.mark = &rec->mark, .trace = &s->trace};
	int rc, port = engine_port(rec->engine, rec->argv);

	s->port = rec->mark.port ? rec->mark.port : (uint16_t)(port > 0 ? port : 0);
	port_before(s);
	ready.port = (uint16_t)(port > 0 ? port : 0);
	ready.health_path = rec->engine ? engine_health_path(rec->engine) : NULL;
	rc = launch_fork(rec->argv, s->env, user, &rec->signals, &s->launch, err);
	if (rc)
		return rc;
	session_log_files(probe.log_dev, probe.log_ino);
	probe.root_pid = s->launch.pid;
	probe.root_name = str_base_name(rec->argv[0]);
	rc = ready_open(&ready, &s->ready, err);
	if (!rc)
		rc = open_probe(s, &probe, err);
	if (rc)
		return rc;
	s->trace.run.tier = probe_tier(s->probe);
	if (rec->max_tier > 1)
		trace_note(&s->trace, "cupti", "warning", UNKNOWN,
			   "tier 2 was asked for; CUPTI is not part of this version, tier %d was "
			   "taken",
			   s->trace.run.tier);
	if (watch(s, s->signal_fd, ON_SIGNAL) || watch(s, s->launch.outcome_fd, ON_OUTCOME) ||
	    watch(s, probe_fd(s->probe), ON_PROBE) || watch(s, ready_fd(s->ready), ON_READY) ||
	    watch(s, s->tick_fd, ON_TICK))
		return err_sys(err, errno, "cannot watch the start");
	return 0;
}

static int set_up(struct start *s, struct err *err)
{
	struct record *rec = s->rec;
	int rc;

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	s->signal_fd = signalfd(-1, &rec->signals.blocked, SFD_CLOEXEC | SFD_NONBLOCK);
	s->stored = mmap(NULL, sizeof(*s->stored), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->stored == MAP_FAILED)
		s->stored = NULL;
	if (s->epoll_fd < 0 || s->tick_fd < 0 || s->signal_fd < 0 || !s->stored)
		return err_sys(err, errno, "cannot set up the start");
	if (rec->preload)
		session_make(s);
	s->env = environment_make(environ, s->session[0] ? rec->shim : NULL,
				  s->session[0] ? s->session : NULL,
				  rec->as_user ? &rec->user : NULL);
	facts_of_run(s);
	rc = session_begin(s, err);
	if (rc)
		return rc;
	files_before(s);
	outside_begin(s);
	return start_guest(s, err);
}

static void tear_down(struct start *s)
{
	launch_close(&s->launch);
	ready_close(s->ready);
	probe_close(s->probe);
	holder_stop(&s->holder);
	ring_close(&s->ring);
	environment_free(s->env);
	vec_free(&s->caches_held);
	vec_free(&s->disks);
	trace_done(&s->trace);
	if (s->stored)
		munmap(s->stored, sizeof(*s->stored));
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	if (s->tty_fd >= 0)
		close(s->tty_fd);
	if (s->tick_fd >= 0)
		close(s->tick_fd);
	if (s->signal_fd >= 0)
		close(s->signal_fd);
}

static int status_of(const struct start *s)
{
	if (s->timed_out)
		return EXIT_TIMEOUT;
	if (s->root_gone)
		return WIFSIGNALED(s->root_status) ? 128 + WTERMSIG(s->root_status)
						   : WEXITSTATUS(s->root_status);
	return 128 + s->signal;
}

int start_run(struct record *rec, bool stop_when_ready, bool cold, bool show_delta,
	      struct start_result *ret_result, struct err *err)
{
	struct start s = {
		.rec = rec,
		.stop_when_ready = stop_when_ready,
		.cold_wanted = cold,
		.show_delta = show_delta,
		.epoll_fd = -1,
		.signal_fd = -1,
		.tick_fd = -1,
		.tty_fd = rec->quiet ? -1 : status_line_open(),
		.ring = {.fd = -1},
		.launch = {.pid = -1, .outcome_fd = -1, .go_fd = -1},
	};
	int rc;

	trace_init(&s.trace);
	rc = set_up(&s, err);
	if (!rc) {
		launch_release(&s.launch);
		if (rec->timeout_ns)
			s.deadline_ns = clock_now_ns() + rec->timeout_ns;
		loop(&s);
		*ret_result = (struct start_result){
			.run = *s.stored,
			.ready = s.trace.run.ready_ns != UNKNOWN,
			.interrupted = s.interrupted,
			.timed_out = s.timed_out,
			.exit_status = s.signal ? 128 + s.signal : status_of(&s),
		};
	} else {
		session_drop(&s);
	}
	tear_down(&s);
	return rc;
}
