/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must be there before the guest is: the session's memory, and the run's row in the database.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "store/store.h"

void session_log_files(uint64_t dev[2], uint64_t ino[2])
{
	for (int i = 0; i < 2; i++) {
		struct stat st;

		if (!fstat(i + 1, &st)) {
			dev[i] = wire_dev(st.st_dev);
			ino[i] = st.st_ino;
		}
	}
}

/* Without memory the guest runs as it would without us, and the run says so. */
void session_make(struct start *s)
{
	struct ring_options opt = {0};
	struct session session;
	struct err err = {0};
	int rc;

	session_log_files(opt.log_dev, opt.log_ino);
	rc = ring_create(&opt, &s->memory.ring);
	if (rc) {
		s->memory.ring.map = NULL;
		err_sys(&err, -rc, "no memory for the shim's records");
	} else {
		rc = holder_start(&s->memory.ring, s->rec->as_user ? &s->rec->user : NULL,
				  &s->memory.holder, &session, &err);
	}
	if (!rc && session_format(&session, s->memory.session, sizeof(s->memory.session)) < 0)
		rc = err_set(&err, EINVAL, "the way to its memory cannot be put into one variable");
	if (rc) {
		s->memory.session[0] = '\0';
		trace_note(&s->trace, "launch", "warning", UNKNOWN, "the shim is off: %s", err.msg);
		if (!s->rec->quiet)
			cli_say("the shim is off: %s", err.msg);
	}
}

#define BEGIN_WAIT_MS 1000 /* the start is not to wait for a database */

/*
 * What does not stop a start: it is told, and tried again when the run is over. An I/O error is not
 * of that kind: a file that cannot be read or written now is none to record into.
 */
static bool passing_trouble(int rc)
{
	return rc == -EBUSY || rc == -EAGAIN || rc == -ENOSPC || rc == -EDQUOT;
}

int session_begin(struct start *s, struct err *err)
{
	struct store *store;
	int rc = store_open_within(s->rec->db, STORE_WRITE, BEGIN_WAIT_MS, &store, err);

	if (!rc) {
		rc = store_begin_run(store, &s->trace, err);
		store_close(store);
	}
	if (rc && passing_trouble(rc)) {
		cli_say("%s; the command is started all the same", err->msg);
		return 0;
	}
	return rc;
}

void session_drop(struct start *s)
{
	struct store *store;
	struct err err = {0};
	int rc;

	if (!s->trace.run.id)
		return;
	rc = store_open_within(s->rec->db, STORE_WRITE, BEGIN_WAIT_MS, &store, &err);
	if (!rc) {
		rc = store_drop_run(store, s->trace.run.id, &err);
		store_close(store);
	}
	if (rc)
		cli_say("run %lld stays in the list, and never was: %s", (long long)s->trace.run.id,
			err.msg);
}
