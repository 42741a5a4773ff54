/* SPDX-License-Identifier: Apache-2.0 */
/* One start: set it up while the guest waits, then one loop until the guest and our own work are
 * done. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "launch/environment.h"
#include "launch/ready.h"
#include "probe/probe.h"
#include "store/store.h"

#define TICK_NS	     (50 * NS_PER_MS)
#define SCAN_NS	     (200 * NS_PER_MS)
#define SURVIVORS_NS (200 * NS_PER_MS)
#define NAMED_MAX    8

enum what { ON_SIGNAL, ON_OUTCOME, ON_PROBE, ON_READY, ON_TICK };

static void end_run(struct start *s, const char *ending, uint64_t at_ns);

int start_living(struct start *s, member_list *ret)
{
	pid_t not_ours[] = {s->holder.pid > 0 ? s->holder.pid : -1,
			    s->finisher > 0 ? s->finisher : -1, 0};
	VEC(pid_t) known = {0};
	VEC(uint64_t) since = {0};
	struct tree_options opt = {
		.root = s->root_gone ? -1 : s->launch.pid,
		.session = s->session[0] ? s->session : NULL,
		.not_ours = not_ours,
		.subreaper = s->rec->counted,
	};
	int rc;

	vec_for_each (p, &s->trace.processes) {
		if (p->end_ns == UNKNOWN && p->pid > 0 && p->pid != s->launch.pid) {
			vec_push(&known, p->pid);
			vec_push(&since, p->start_ns);
		}
	}
	vec_push(&known, 0);
	vec_push(&since, 0);
	opt.known = known.v;
	opt.known_start_ns = since.v;
	rc = tree_living(&opt, ret);
	vec_free(&known);
	vec_free(&since);
	return rc;
}

/* A guest that sends a signal to its group has told itself already. */
static bool sent_by_guest(struct start *s, pid_t sender)
{
	member_list living = {0};
	bool found = false;

	if (sender <= 0 || start_living(s, &living))
		return false;
	vec_for_each (m, &living)
		found |= m->pid == sender;
	vec_free(&living);
	return found || sender == s->launch.pid;
}

static bool ends_us(int signal)
{
	return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

static void pass_signal(struct start *s, const struct signalfd_siginfo *i)
{
	int number = (int)i->ssi_signo;
	bool sent = i->ssi_code <= 0;

	if (number == SIGPIPE || number == SIGTTOU || number == SIGXFSZ || number == SIGXCPU)
		return;
	if (number == SIGUSR1) {
		finish_snapshot(s);
		return;
	}
	if (sent && sent_by_guest(s, (pid_t)i->ssi_pid))
		return;
	s->interrupted |= ends_us(number);
	if (s->root_gone) {
		if (ends_us(number) && s->phase == PHASE_STARTING) {
			s->signal = number;
			end_run(s, "signal", clock_now_ns());
		}
		return;
	}
	/* What the terminal or the kernel sends reaches the whole process group by itself. */
	if (!sent)
		return;
	if (i->ssi_code == SI_QUEUE)
		sigqueue(s->launch.pid, number,
			 (union sigval){.sival_ptr = (void *)(uintptr_t)i->ssi_ptr});
	else
		kill(s->launch.pid, number);
}

static void tell_survivors(struct start *s, const member_list *living)
{
	struct str names = {0};

	for (size_t i = 0; i < living->n && i < NAMED_MAX; i++)
		str_addf(&names, "%s%d (%s)", i ? ", " : "", (int)living->v[i].pid,
			 living->v[i].name);
	if (living->n > NAMED_MAX)
		str_add(&names, ", ...");
	trace_note(&s->trace, "launch", "warning", living->n,
		   "processes that outlived the main process: %s", str_get(&names));
	cli_say("the command ended, but %zu of its processes live on: %s", living->n,
		str_get(&names));
	str_free(&names);
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
		tell_survivors(s, &living);
	vec_free(&living);
	ready_ended(s->ready, s->root_status, now_ns);
	end_run(s, WIFSIGNALED(s->root_status) ? "signal" : "exit", now_ns);
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
			s->finisher_status = status;
		} else if (pid == s->holder.pid) {
			close(s->holder.life_fd);
			s->holder = (struct holder){0};
		}
	}
}

static bool same_network(pid_t pid)
{
	char path[40], theirs[64] = "", ours[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	return readlink(path, theirs, sizeof(theirs) - 1) < 0 ||
	       readlink("/proc/self/ns/net", ours, sizeof(ours) - 1) < 0 || !strcmp(theirs, ours);
}

static void listener(void *arg, uint16_t port, int32_t process)
{
	struct start *s = arg;

	vec_for_each (l, &s->trace.listeners) {
		if (l->port == port && l->process == process) {
			bool here = process < 0 || same_network(s->trace.processes.v[process].pid);

			ready_listener(s->ready, port, l->address, here, l->at_ns);
			return;
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
		s->port = s->port ? s->port : (uint16_t)port;
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

static void set_tick(struct start *s, bool on)
{
	struct itimerspec every = {0};

	if (on)
		every.it_interval.tv_nsec = every.it_value.tv_nsec = (long)TICK_NS;
	if (s->ticking != on)
		timerfd_settime(s->tick_fd, 0, &every, NULL);
	s->ticking = on;
}

static void end_run(struct start *s, const char *ending, uint64_t at_ns)
{
	const char *mark;
	uint64_t ready_ns;

	if (ready_reached(s->ready, &mark, &ready_ns)) {
		s->trace.run.ready_mark = mark;
		s->trace.run.ready_ns = ready_ns;
		ending = "ready";
		at_ns = ready_ns;
	}
	if (s->exec_failed)
		ending = "exec";
	s->phase = PHASE_SERVING;
	finish_begin(s, ending, at_ns);
	if (s->stop_when_ready || s->timed_out)
		stop_begin(s);
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
	if (s->deadline_ns && now_ns >= s->deadline_ns) {
		s->timed_out = true;
		end_run(s, "timeout", now_ns);
		return;
	}
	if (!s->root_gone || now_ns < s->next_look_ns)
		return;
	s->next_look_ns = now_ns + SURVIVORS_NS;
	if (!start_living(s, &living) && !living.n) {
		ready_ended(s->ready, s->root_status, now_ns);
		end_run(s, "exit", now_ns);
	}
	vec_free(&living);
}

static void drain(struct start *s)
{
	if (s->phase != PHASE_STARTING)
		return;
	probe_drain(s->probe);
	probe_new_listeners(s->probe, listener, s);
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
		else
			pass_signal(s, &i);
	}
}

static void loop(struct start *s)
{
	const char *mark;
	uint64_t at_ns;

	while (!over(s)) {
		struct epoll_event ev[8];
		int n;

		set_tick(s, s->phase != PHASE_SERVING && s->phase != PHASE_OVER);
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
			end_run(s, "ready", at_ns);
	}
}

static void log_files(struct start *s, uint64_t dev[2], uint64_t ino[2])
{
	(void)s;
	for (int i = 0; i < 2; i++) {
		struct stat st;

		if (!fstat(i + 1, &st)) {
			dev[i] = wire_dev(st.st_dev);
			ino[i] = st.st_ino;
		}
	}
}

/* Without memory the guest runs as it would without us, and the run says so. */
static void make_session(struct start *s)
{
	struct ring_options opt = {0};
	struct session session;
	struct err err = {0};
	int rc;

	log_files(s, opt.log_dev, opt.log_ino);
	rc = ring_create(&opt, &s->ring);
	if (rc) {
		s->ring.map = NULL;
		err_sys(&err, -rc, "no memory for the shim's records");
	} else {
		rc = holder_start(&s->ring, s->rec->as_user ? &s->rec->user : NULL, &s->holder,
				  &session, &err);
	}
	if (!rc)
		rc = session_format(&session, s->session, sizeof(s->session)) < 0 ? -EINVAL : 0;
	if (rc) {
		s->session[0] = '\0';
		trace_note(&s->trace, "launch", "warning", UNKNOWN, "the shim is off: %s", err.msg);
		if (!s->rec->quiet)
			cli_say("the shim is off: %s", err.msg);
	}
}

/* What does not stop a start: it is told, and tried again when the run is over. */
static bool passing_trouble(int rc)
{
	return rc == -EBUSY || rc == -EAGAIN || rc == -ENOSPC || rc == -EIO || rc == -EDQUOT;
}

static bool give_up_early(void *arg)
{
	return clock_now_ns() < *(uint64_t *)arg;
}

static int begin_in_store(struct start *s, struct err *err)
{
	uint64_t until_ns = clock_now_ns() + NS_PER_SEC;
	struct store *store;
	int rc = store_open(s->rec->db, STORE_WRITE, &store, err);

	if (!rc) {
		store_on_busy(store, give_up_early, &until_ns);
		rc = store_begin_run(store, &s->trace, err);
		store_close(store);
	}
	if (rc && passing_trouble(rc)) {
		cli_say("%s; the command is started all the same", err->msg);
		return 0;
	}
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
	ready.port = (uint16_t)(port > 0 ? port : 0);
	ready.health_path = rec->engine ? engine_health_path(rec->engine) : NULL;
	rc = launch_fork(rec->argv, s->env, user, &rec->signals, &s->launch, err);
	if (rc)
		return rc;
	log_files(s, probe.log_dev, probe.log_ino);
	probe.root_pid = s->launch.pid;
	rc = probe_open(&probe, &s->trace, &s->probe, err);
	if (!rc)
		rc = ready_open(&ready, &s->ready, err);
	if (rc)
		return rc;
	s->trace.run.tier = probe_tier(s->probe);
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
	if (s->epoll_fd < 0 || s->tick_fd < 0 || s->signal_fd < 0)
		return err_sys(err, errno, "cannot set up the start");
	if (rec->preload)
		make_session(s);
	s->env = environment_make(environ, s->session[0] ? rec->shim : NULL,
				  s->session[0] ? s->session : NULL,
				  rec->as_user ? &rec->user : NULL);
	facts_of_run(s);
	rc = begin_in_store(s, err);
	if (rc)
		return rc;
	files_before(s);
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
	trace_done(&s->trace);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
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
		.ring = {.fd = -1},
		.launch = {.pid = -1, .pid_fd = -1, .outcome_fd = -1, .go_fd = -1},
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
			.run = s.trace.run.id,
			.ready = s.trace.run.ready_ns != UNKNOWN,
			.interrupted = s.interrupted,
			.timed_out = s.timed_out,
			.exit_status = s.signal ? 128 + s.signal : status_of(&s),
		};
	}
	tear_down(&s);
	return rc;
}
