/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done with a finished recording, in a child of coldprof: it has all of the trace by fork,
 * and neither a slow or locked database nor a fault in our own arithmetic can hold up a signal or
 * change the status that coldprof passes on.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attribute/attribute.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "cli/show_ledger.h"
#include "ingest/ingest.h"
#include "launch/ready.h"
#include "probe/probe.h"
#include "store/store.h"

static int read_evidence(struct start *s, struct err *err)
{
	struct ingest_options opt = {.engine = s->rec->engine,
				     .cache_folders = s->rec->caches.v,
				     .cache_held = s->before.caches_held.v,
				     .caches_all = s->rec->caches_all,
				     .weight_files = s->rec->weights.v};

	return ingest_run(&opt, s->memory.ring.map,
			  s->memory.ring.map ? s->memory.ring.size_bytes : 0, &s->trace, err);
}

/* All of it or nothing. */
static int put(struct start *s, struct store *store, struct ledger *l, bool have_ledger,
	       struct err *err)
{
	struct trace *t = &s->trace;
	int rc = t->run.id ? 0 : store_begin_run(store, t, err);

	if (!rc)
		rc = store_begin(store, err);
	if (rc)
		return rc;
	rc = store_put_trace(store, t, err);
	if (!rc && have_ledger)
		rc = store_put_ledger(store, t->run.id, l->segments.v, l->segments.n, l->rows.v,
				      l->rows.n, err);
	if (!rc && have_ledger)
		rc = store_put_notes(store, t->run.id, l->notes.v, l->notes.n, err);
	if (!rc)
		return store_commit(store, err);
	store_rollback(store);
	return rc;
}

static void delta(struct start *s)
{
	struct err err = {0};

	if (!s->rec->runs.n)
		cli_say("no delta ledger: of the starts before this one none is stored");
	else if (show_delta_made(s->rec->db, s->rec->runs.v[0], s->trace.run.id, &err) < 0)
		cli_error(&err);
}

/* Its exec is told by our barrier, where nothing else saw it. */
static void root_began(struct start *s)
{
	struct process *root = s->trace.processes.n ? s->trace.processes.v : NULL;

	if (root && root->exec_ns == UNKNOWN && s->launch.exec_ns)
		root->start_ns = root->exec_ns = s->launch.exec_ns;
}

/* A line that is waited for in vain may have come. */
static void line_unseen(struct start *s)
{
	struct trace *t = &s->trace;

	if (s->rec->mark.kind == MARK_LOG && !t->run.ready_mark && !(t->saw & SAW_LOG))
		trace_note(t, "launch", "warning", UNKNOWN,
			   "the line of %s may have come unseen: without kernel probes those that "
			   "C's stdio writes are not seen",
			   s->rec->mark.text);
}

static int work(struct start *s)
{
	struct trace *t = &s->trace;
	struct ledger ledger = {0};
	struct store *store;
	struct err err = {0};
	bool have_ledger;
	int rc, failed = 0;

	if (s->root.exec_failed) {
		session_drop(s);
		return 0;
	}
	rc = read_evidence(s, &err);
	root_began(s);
	if (rc) {
		trace_note(t, "ingest", "loss", UNKNOWN, "the records could not be read: %s",
			   err.msg);
		cli_say("the records could not be read: %s", err.msg);
	}
	state_judge(t, s->cold_wanted);
	line_unseen(s);
	outside_end(s);
	have_ledger = !attribute(t, t->run.end_ns, &ledger);
	err = (struct err){0};
	rc = store_open(s->rec->db, STORE_WRITE, &store, &err);
	if (!rc) {
		rc = put(s, store, &ledger, have_ledger, &err);
		store_close(store);
	}
	if (rc) {
		cli_error(&err);
		cli_say("this run is not stored; the command goes on");
		failed = 1;
		t->run.id = 0; /* no report finds it */
	}
	*s->stored = t->run.id;
	if (have_ledger && !s->rec->quiet)
		show_made(t, &ledger);
	if (s->show_delta && !rc && !s->rec->quiet)
		delta(s);
	return failed;
}

static void fold_up(struct start *s)
{
	struct trace *t = &s->trace;

	if (s->memory.ring.map)
		ring_off(&s->memory.ring);
	probe_stop(s->probe);
	holder_stop(&s->memory.holder);
	if (ready_polls(s->ready))
		trace_note(t, "launch", "info", ready_polls(s->ready),
			   "HTTP requests of coldprof to the server");
}

void finish_begin(struct start *s, const char *ending, uint64_t end_ns)
{
	struct trace *t = &s->trace;

	t->run.ending = trace_str(t, ending);
	t->run.end_ns = end_ns;
	fold_up(s);
	s->finisher = fork();
	if (!s->finisher)
		_exit(work(s));
	if (s->finisher < 0) {
		s->finisher = 0;
		cli_say("cannot store this run: %s", strerror(errno));
	}
}

void finish_snapshot(struct start *s)
{
	struct ledger ledger = {0};
	struct err err = {0};
	pid_t pid;

	if (s->phase != PHASE_STARTING) {
		if (*s->stored)
			cli_say("the recording is over: coldprof report --run %lld",
				(long long)*s->stored);
		else
			cli_say("the recording is over: this run is not stored%s",
				s->finisher ? " yet" : "");
		return;
	}
	probe_drain(s->probe);
	pid = fork();
	if (pid)
		return;
	s->trace.run.end_ns = clock_now_ns();
	s->trace.run.ending = trace_str(&s->trace, "so far");
	if (!read_evidence(s, &err) && !attribute(&s->trace, s->trace.run.end_ns, &ledger))
		show_made(&s->trace, &ledger);
	else
		cli_say("no ledger yet: %s", err.msg[0] ? err.msg : "nothing is recorded so far");
	_exit(0);
}
