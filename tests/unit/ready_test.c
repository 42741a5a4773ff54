/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is there at the first look was made behind the start, not before it. */
#include "launch/ready.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "launch/mark.h"
#include "model/model.h"
#include "tests/tap.h"

#define LIMIT_MS 10000

int main(void)
{
	char folder[] = "/tmp/ready_test.XXXXXX", text[64], *path;
	struct mark_spec mark;
	struct trace t;
	struct ready_options opt = {.mark = &mark, .trace = &t};
	struct ready *r;
	struct err err = {0};
	const char *name;
	uint64_t at_ns;

	if (!mkdtemp(folder))
		bail("no folder");
	trace_init(&t);
	snprintf(text, sizeof(text), "file:%s/up", folder);
	path = text + 5;
	if (mark_parse(text, &mark, &err) || ready_open(&opt, &r, &err))
		bail("%s", err.msg);
	t.run.start_ns = clock_now_ns();
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	struct pollfd p = {.fd = ready_fd(r), .events = POLLIN};
	is_int(poll(&p, 1, LIMIT_MS), 1, "it looks");
	ready_turn(r);
	ok(ready_reached(r, &name, &at_ns), "and finds the file");
	if (t.marks.n)
		ok(t.marks.v[0].late_ns <= at_ns - t.run.start_ns,
		   "which was not there before the start");
	ready_close(r);
	mark_done(&mark);
	trace_done(&t);
	unlink(path);
	rmdir(folder);
	return done_testing();
}
