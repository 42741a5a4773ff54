/* SPDX-License-Identifier: Apache-2.0 */
/* A start that was made cold, and was not. */
#include <string.h>

#include "cli/record.h"

void state_judge(struct trace *t, bool cold_wanted)
{
	uint64_t resident = 0;
	size_t weights = 0, told = 0;

	if (!cold_wanted || (t->run.state && !strcmp(t->run.state, "cold")))
		return;
	vec_for_each (f, &t->files) {
		weights += f->cls == FILE_WEIGHTS;
		if (f->cls == FILE_WEIGHTS && f->resident_before_bytes != UNKNOWN) {
			resident += f->resident_before_bytes;
			told++;
		}
	}
	if (!weights)
		return;
	if (!told) {
		trace_note(
			t, "launch", "warning", UNKNOWN,
			"this start was to be cold; its weights were not known before it, or the "
			"kernel does not tell what of them was in the page cache: its state is %s",
			t->run.state ? t->run.state : "unknown");
		return;
	}
	trace_note(t, "launch", "warning", resident,
		   "bytes of weights that were resident in a start that was to be cold; its state "
		   "is %s",
		   t->run.state ? t->run.state : "unknown");
}
