/* SPDX-License-Identifier: Apache-2.0 */
/* What notes say of a start that was killed while it loaded; and what they leave out where nobody could see. */
#include <signal.h>

#include "../tap.h"
#include "attribute/attribute.h"

#define S UINT64_C(1000000000)

/* The note about a run that ended after 10 s; the weights' bytes were asked for in part, or (UNKNOWN) unseen. */
static void killed(unsigned saw, uint64_t asked, const char *want, const char *what)
{
	struct file f = {.path = "/m/1.safetensors", .size_bytes = 1000000, .cls = FILE_WEIGHTS};
	struct process p = {.pid = 1,
			    .parent = NO_INDEX,
			    .start_ns = 100 * S,
			    .exec_ns = UNKNOWN,
			    .end_ns = UNKNOWN,
			    .status = -1,
			    .name = "server"};
	struct file_io io = {.bin_ns = 105 * S,
			     .asked_bytes = asked,
			     .mapped_bytes = UNKNOWN,
			     .storage_bytes = UNKNOWN,
			     .mode = IO_READ};
	const char *note = "";
	struct ledger l;
	struct trace t;

	trace_init(&t);
	t.saw = saw;
	t.run.start_ns = 100 * S;
	t.run.end_ns = 110 * S;
	t.run.ready_ns = UNKNOWN;
	t.run.status = SIGKILL;
	vec_push(&t.processes, p);
	vec_push(&t.files, f);
	vec_push(&t.io, io);
	if (attribute(&t, t.run.end_ns, &l))
		bail("the start cannot be attributed");
	vec_for_each (n, &l.notes)
		if (strncmp(*n, "not ready", 9) == 0)
			note = *n;
	is_str(note, want, "%s", what);
	ledger_done(&l);
	trace_done(&t);
}

int main(void)
{
	killed(0, 250000,
	       "not ready; SIGKILL in process init; 25% of the weights' 1.0 MB had been read",
	       "how far the load had come");
	killed(SAW_READS | SAW_FAULTS, 0,
	       "not ready; SIGKILL in process init; 0% of the weights' 1.0 MB had been read",
	       "nothing, where it would have been seen");
	killed(0, UNKNOWN, "not ready; SIGKILL in process init",
	       "no number where reads were not seen");
	killed(SAW_READS, 0, "not ready; SIGKILL in process init",
	       "nor where only mappings could have told");
	return done_testing();
}
