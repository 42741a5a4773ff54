/* SPDX-License-Identifier: Apache-2.0 */
/* One start: set it up while the guest waits, watch it (start_watch.c), and tell how it ended. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
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

/* For the requests to the server and what else comes later, where the limit is low. */
#define SPARE_FILES 8

/* The probes take what there is, and do with less: some descriptors are kept back from them. */
static int open_probe(struct start *s, const struct probe_options *opt, struct err *err)
{
	int spare[SPARE_FILES], rc;

	for (int i = 0; i < SPARE_FILES; i++)
		spare[i] = fcntl(s->watch.epoll_fd, F_DUPFD_CLOEXEC, 0);
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
	struct probe_options probe = {.max_tier = rec->max_tier > 1 ? 1 : rec->max_tier,
				      .line = watch_line,
				      .line_arg = s};
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
	return watch_begin(s, err);
}

static int set_up(struct start *s, struct err *err)
{
	struct record *rec = s->rec;
	int rc;

	s->stored = mmap(NULL, sizeof(*s->stored), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->stored == MAP_FAILED)
		s->stored = NULL;
	if (watch_open(s) || !s->stored)
		return err_sys(err, errno, "cannot set up the start");
	if (rec->preload)
		session_make(s);
	s->env = environment_make(environ, s->memory.session[0] ? rec->shim : NULL,
				  s->memory.session[0] ? s->memory.session : NULL,
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
	holder_stop(&s->memory.holder);
	ring_close(&s->memory.ring);
	environment_free(s->env);
	vec_free(&s->before.caches_held);
	vec_free(&s->before.disks);
	trace_done(&s->trace);
	if (s->stored)
		munmap(s->stored, sizeof(*s->stored));
	watch_close(s);
	if (s->line.tty_fd >= 0)
		close(s->line.tty_fd);
}

static int status_of(const struct start *s)
{
	if (s->timed_out)
		return EXIT_TIMEOUT;
	if (s->root.gone)
		return WIFSIGNALED(s->root.status) ? 128 + WTERMSIG(s->root.status)
						   : WEXITSTATUS(s->root.status);
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
		.watch.epoll_fd = -1,
		.watch.signal_fd = -1,
		.watch.tick_fd = -1,
		.line.tty_fd = rec->quiet ? -1 : status_line_open(),
		.memory.ring = {.fd = -1},
		.launch = {.pid = -1, .outcome_fd = -1, .go_fd = -1},
	};
	int rc;

	trace_init(&s.trace);
	rc = set_up(&s, err);
	if (!rc) {
		launch_release(&s.launch);
		if (rec->timeout_ns)
			s.deadline_ns = clock_now_ns() + rec->timeout_ns;
		watch_loop(&s);
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
