/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: make_db FILE: four hand-made runs. 1: a cold start; 2: the same, warm; 3: names that break
 * careless writers; 4: begun, never finished.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "model/model.h"
#include "store/store.h"
#include "tests/unit/traces.h"

#define S(seconds) ((uint64_t)((seconds)*1e9))
#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define T0	   S(1000) /* of the monotonic clock; run 1 starts at 2026-01-02T03:04:05.678Z */

static struct err err;

static void must(int r)
{
	if (r < 0) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
}

static void begin(struct trace *t, const char *command, const char *label, const char *state,
		  double ready_s)
{
	trace_init(t);
	t->run.command_json = command;
	t->run.label = label;
	t->run.cwd = "/srv";
	t->run.engine = "vllm";
	t->run.kernel = "6.12.1";
	t->run.host = "box";
	t->run.wall_anchor_ns = UINT64_C(1767323045678000000);
	t->run.mono_anchor_ns = T0;
	t->run.start_ns = T0;
	t->run.ready_ns = T0 + S(ready_s);
	t->run.end_ns = t->run.ready_ns;
	t->run.ready_mark = "http:8000/health";
	t->run.ending = "ready";
	t->run.tier = 1;
	t->run.state = state;
	t->run.state_files = "mixed";
	t->run.state_caches = "filled";
	t->saw = SAW_TREE | SAW_READS | SAW_FAULTS | SAW_WAITS | SAW_FILLS | SAW_TIMES |
		 SAW_LISTEN | SAW_LOG;
}

static void add_process(struct trace *t, int pid, int parent, double start_s, const char *name)
{
	struct process p = {.pid = pid,
			    .ppid = parent < 0 ? 1 : t->processes.v[parent].pid,
			    .parent = parent,
			    .start_ns = T0 + S(start_s),
			    .exec_ns = T0 + S(start_s),
			    .end_ns = UNKNOWN,
			    .status = -1,
			    .shim = true,
			    .name = name,
			    .exe = "/usr/bin/python3",
			    .command = "python3 -m vllm"};

	vec_push(&t->processes, p);
}

static void add_file(struct trace *t, const char *path, uint64_t storage)
{
	struct file f = {path,	    NULL,   8 << 20 | 1,  42,
			 400000000, "ext4", FILE_WEIGHTS, storage ? 0 : 400000000};
	int32_t i = (int32_t)t->files.n;

	vec_push(&t->files, f);
	for (int bin = 0; bin < 4; bin++)
		vec_push(&t->io, ((struct file_io){1, i, T0 + S(5 + bin * 0.01), 0, storage / 4,
						   100000000, 0, 250, S(0.05), IO_MAPPED}));
}

static void add_evidence(struct trace *t, enum kind kind, int32_t file, double a, double b,
			 uint64_t bytes)
{
	vec_push(&t->evidence,
		 ((struct evidence){1, 101, (uint16_t)kind, SOURCE_BPF, file, T0 + S(a), T0 + S(b),
				    bytes, kind == KIND_FAULT ? S(b - a) : UNKNOWN, NULL}));
}

/* Scale: seconds of the weights; everything else keeps its length. */
static void hand_made(struct trace *t, const char *state, double weights_s, uint64_t storage)
{
	double w = 5 + weights_s;

	begin(t, "[\"vllm\",\"serve\",\"/models/tiny\"]", "model=tiny;node=a", state, w + 5);
	add_process(t, 100, NO_INDEX, 0, "vllm");
	add_process(t, 101, 0, 1, "VLLM::Worker");
	add_file(t, "/models/tiny/model-00001-of-00001.safetensors", storage);
	add_evidence(t, KIND_CU_INIT, NO_INDEX, 3, 3.5, 0);
	add_evidence(t, KIND_CONTEXT, NO_INDEX, 3.5, 4.5, 0);
	add_evidence(t, KIND_ALLOC, NO_INDEX, 4.5, 5, 1000000000);
	add_evidence(t, KIND_FAULT, 0, 5, w, 400000000);
	add_evidence(t, KIND_CAPTURE, NO_INDEX, w + 1, w + 3, 0);
	add_evidence(t, KIND_MODULE_LOAD, 0, w + 1, w + 1.25, 0);
	add_evidence(t, KIND_MODULE_LOAD, 0, w + 2, w + 2.25, 0);
	vec_push(&t->listeners, ((struct listener){0, 8000, T0 + S(w + 4), 0, "127.0.0.1"}));
	vec_push(&t->marks, ((struct mark){"port:8000", T0 + S(w + 4), 0}));
	vec_push(&t->marks, ((struct mark){"http:8000/health", T0 + S(w + 5), UNKNOWN}));
	vec_push(&t->log,
		 ((struct log_line){1, 2, T0 + S(w + 0.5), "Loading weights took 2.00 seconds"}));
	vec_push(&t->cuda, ((struct cuda_count){1, "cuMemAlloc_v2", 12, S(0.5), 1000000000}));
	vec_push(&t->cuda, ((struct cuda_count){1, "cuLaunchKernel", 90000, UNKNOWN, 0}));
	vec_push(&t->coverage,
		 ((struct coverage){1, "cuMemAlloc_v2", "cuGetProcAddress", 1, true}));
	vec_push(&t->graphs, ((struct graph){1, 1, 300, S(2), S(0.1), UNKNOWN, UNKNOWN}));
	vec_push(&t->diagnostics,
		 ((struct diagnostic){"probe", "cost",
				      "CPU microseconds that we used while it recorded", 12500}));
	vec_push(&t->diagnostics,
		 ((struct diagnostic){"engine", "info", "the log speaks of coldprof itself", 7}));
	vec_push(&t->diagnostics,
		 ((struct diagnostic){"shim", "loss", "records that found no room", 3}));
	vec_push(&t->settings, ((struct setting){"env.CUDA_VISIBLE_DEVICES", "0"}));
}

static struct ledger_row row(enum item item, const char *sub, enum grade grade, double wall_s,
			     double work_s, uint64_t bytes)
{
	return (struct ledger_row){(uint16_t)item,
				   (uint16_t)grade,
				   sub,
				   S(wall_s),
				   work_s < 0 ? UNKNOWN : S(work_s),
				   bytes,
				   S(wall_s / 2),
				   0,
				   S(wall_s / 4),
				   S(wall_s / 4)};
}

static void store_hand_made(struct store *s, const char *state, double weights_s, uint64_t storage)
{
	double w = 5 + weights_s;
	const struct ledger_row rows[] = {
		row(ITEM_PROCESS_INIT, "init: vllm", GRADE_MEASURED, 1, -1, UNKNOWN),
		row(ITEM_PROCESS_INIT, "init: VLLM::Worker", GRADE_MEASURED, 2, -1, UNKNOWN),
		row(ITEM_CUDA_CONTEXT, "cuInit", GRADE_MEASURED, 0.5, 0.5, UNKNOWN),
		row(ITEM_CUDA_CONTEXT, "primary context", GRADE_MEASURED, 1, 1, UNKNOWN),
		row(ITEM_ALLOCATOR, "device memory", GRADE_MEASURED, 0.5, 0.5, 1000000000),
		row(ITEM_WEIGHTS, "fault wait", GRADE_MEASURED, weights_s, weights_s, 400000000),
		row(ITEM_GRAPHS_JIT, "graph capture", GRADE_MEASURED, 2, 2, UNKNOWN),
		row(ITEM_SERVING_UP, "start: vllm", GRADE_INFERRED, 1, -1, UNKNOWN),
		row(ITEM_SERVING_UP, "listen to ready", GRADE_INFERRED, 1, -1, UNKNOWN),
		row(ITEM_OTHER, "weights \xe2\x86\x92 jit", GRADE_INFERRED, 1, -1, UNKNOWN),
	};
	const struct {
		enum item item;
		enum grade grade;
		const char *sub, *rule;
		double a, b;
		int process;
	} cuts[] = {
		{ITEM_PROCESS_INIT, GRADE_MEASURED, "init: vllm", "1.3", 0, 1, 0},
		{ITEM_PROCESS_INIT, GRADE_MEASURED, "init: VLLM::Worker", "2.3", 1, 3, 1},
		{ITEM_CUDA_CONTEXT, GRADE_MEASURED, "cuInit", "2.1", 3, 3.5, 1},
		{ITEM_CUDA_CONTEXT, GRADE_MEASURED, "primary context", "2.1", 3.5, 4.5, 1},
		{ITEM_ALLOCATOR, GRADE_MEASURED, "device memory", "2.1", 4.5, 5, 1},
		{ITEM_WEIGHTS, GRADE_MEASURED, "fault wait", "2.1", 5, w, 1},
		{ITEM_OTHER, GRADE_INFERRED, "weights \xe2\x86\x92 jit", "2.7", w, w + 1, 1},
		{ITEM_GRAPHS_JIT, GRADE_MEASURED, "graph capture", "2.1", w + 1, w + 3, 1},
		{ITEM_SERVING_UP, GRADE_INFERRED, "start: vllm", "1.4", w + 3, w + 4, NO_INDEX},
		{ITEM_SERVING_UP, GRADE_INFERRED, "listen to ready", "1.4", w + 4, w + 5, NO_INDEX},
	};
	const char *notes[] = {"cuInit was called by one process of two"};
	struct segment segments[COUNT(cuts)];
	struct trace t;

	for (size_t i = 0; i < COUNT(cuts); i++)
		segments[i] = (struct segment){T0 + S(cuts[i].a),
					       T0 + S(cuts[i].b),
					       (uint16_t)cuts[i].item,
					       (uint16_t)cuts[i].grade,
					       cuts[i].process,
					       cuts[i].sub,
					       cuts[i].rule,
					       UNKNOWN,
					       UNKNOWN,
					       UNKNOWN,
					       UNKNOWN};
	hand_made(&t, state, weights_s, storage);
	must(store_begin_run(s, &t, &err));
	must(store_put_trace(s, &t, &err));
	must(store_put_ledger(s, t.run.id, segments, COUNT(segments), rows, COUNT(rows), &err));
	must(store_put_notes(s, t.run.id, notes, 1, &err));
	trace_done(&t);
}

/* Every name that is shown is hostile. */
static void store_hostile(struct store *s)
{
	struct ledger_row rows[N_HOSTILE];
	struct trace t;

	begin(&t, "[\"a,b\",\"\\u001b[31m\\\"\"]",
	      "note=say \"hi\", \033[31mred\033[0m;path=/a\tb\nc", "\033[2Jcold", 16);
	t.run.ready_mark = "log:\xff.*,\"";
	for (size_t i = 0; i < N_HOSTILE; i++) {
		const char *h = hostile_strings[i];

		add_process(&t, 200 + (int)i, i ? 0 : NO_INDEX, 0, h);
		add_file(&t, h, 1000);
		vec_push(&t.cuda, ((struct cuda_count){0, h, 1, 1, 1}));
		vec_push(&t.coverage, ((struct coverage){0, h, h, 1, false}));
		vec_push(&t.marks, ((struct mark){h, T0 + S(1), 0}));
		vec_push(&t.diagnostics, ((struct diagnostic){h, "warning", h, UNKNOWN}));
		vec_push(&t.settings, ((struct setting){h, h}));
		rows[i] = row(ITEM_PROCESS_INIT, h, GRADE_MEASURED, 1, 1, UNKNOWN);
	}
	add_file(&t, trace_strf(&t, "/%0300d/\xe6\xa8\xa1\xe5\x9e\x8b.safetensors", 7), 1);
	must(store_begin_run(s, &t, &err));
	must(store_put_trace(s, &t, &err));
	must(store_put_ledger(s, t.run.id, NULL, 0, rows, N_HOSTILE, &err));
	trace_done(&t);
}

int main(int argc, char **argv)
{
	struct store *s;
	struct trace t;

	if (argc != 2)
		return 2;
	must(store_open(argv[1], STORE_WRITE, &s, &err));
	store_hand_made(s, "cold", 6, 400000000);
	store_hand_made(s, "warm", 2, 0);
	store_hostile(s);
	begin(&t, "[\"sleep\",\"1\"]", NULL, NULL, 1);
	t.run.ready_ns = t.run.end_ns = UNKNOWN;
	t.run.ready_mark = t.run.ending = NULL;
	t.run.tier = -1;
	must(store_begin_run(s, &t, &err));
	trace_done(&t);
	store_close(s);
	return 0;
}
