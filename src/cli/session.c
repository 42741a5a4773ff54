/* SPDX-License-Identifier: Apache-2.0 */
/* What must be there before the guest is: the session's memory, and the run's row in the database.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
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

int session_begin(struct start *s, struct err *err)
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
