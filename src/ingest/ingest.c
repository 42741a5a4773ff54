/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/ingest.h"

#include <errno.h>

#include "base/err.h"
#include "engine/engine.h"
#include "ingest/inside.h"

static void open_memory(struct ingest *in, const void *map, size_t size)
{
	int rc;

	if (!map)
		return;
	rc = ring_reader_init(&in->reader, map, size);
	in->memory = rc == 0;
	if (rc < 0)
		trace_note(
			in->t, "ingest", "loss", UNKNOWN,
			rc == -EPROTO
				? "the shim's memory is of another version: nothing of it is read"
				: "the shim's memory is damaged at its head: nothing of it is "
				  "read");
}

static void note_loss(struct ingest *in)
{
	struct ring_loss loss;

	if (!in->memory)
		return;
	ring_loss(&in->reader, &loss);
	if (loss.processes)
		trace_note(in->t, "shim", "loss", loss.processes,
			   "programs found no room in the process table");
	if (loss.records)
		trace_note(in->t, "shim", "loss", loss.records,
			   "records found no room, %llu of them reads and mappings",
			   (unsigned long long)loss.bulk);
	if (loss.damaged + in->skipped)
		trace_note(in->t, "shim", "loss", loss.damaged + in->skipped,
			   "records made no sense and were skipped");
	if (loss.left)
		trace_note(
			in->t, "shim", "loss", loss.left,
			"programs without the shim: from seccomp or mlockall on, or because their "
			"address space is limited");
	if (loss.attached_socket)
		trace_note(in->t, "shim", "info", loss.attached_socket,
			   "programs reached the memory by the socket");
}

int ingest_run(const struct ingest_options *opt, const void *map, size_t size, struct trace *t,
	       struct err *err)
{
	struct ingest in = {.opt = opt, .t = t};

	if (!t->processes.n)
		return err_set(err, EINVAL, "a trace without a process cannot be read");
	open_memory(&in, map, size);
	files_index(&in);
	guests_read(&in);
	memory_read(&in);
	files_classify(&in);
	roles_derive(&in);
	touch_derive(&in);
	access_derive(&in);
	cuda_derive(&in);
	lines_split(&in);
	engine_declare_spans(opt->engine, t);
	lines_fold(&in);
	evidence_coalesce(t);
	guests_uncovered(&in);
	lines_unseen(&in);
	state_derive(&in);
	note_loss(&in);
	files_done(&in);
	guests_done(&in);
	vec_free(&in.calls);
	vec_free(&in.mappings);
	vec_free(&in.touches);
	return 0;
}
