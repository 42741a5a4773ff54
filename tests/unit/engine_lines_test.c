/* SPDX-License-Identifier: Apache-2.0 */
/* src/engine: log lines with known spans. */
#include "engine/engine.h"

#include <stdlib.h>
#include <time.h>

#include "../tap.h"
#include "base/clock.h"
#include "engine/adapter.h"

static int32_t add_process(struct trace *t, int32_t pid, int32_t parent, uint64_t start_ns)
{
	struct process *p = vec_add(&t->processes);

	p->pid = pid;
	p->parent = parent;
	p->start_ns = start_ns;
	p->exec_ns = p->end_ns = UNKNOWN;
	return (int32_t)t->processes.n - 1;
}

static void add_line(struct trace *t, double at, int32_t process, const char *text)
{
	struct log_line *l = vec_add(&t->log);

	l->at_ns = (uint64_t)(at * 1e9 + 0.5);
	l->process = process;
	l->fd = 1;
	l->text = trace_str(t, text);
}

static const struct span *span_named(const struct trace *t, const char *name)
{
	for (size_t i = 0; i < t->spans.n; i++)
		if (strcmp(t->spans.v[i].name, name) == 0)
			return &t->spans.v[i];
	return NULL;
}

static void is_span(const struct trace *t, const char *name, double from, double to,
		    int32_t process, bool container, enum item item)
{
	const struct span *s = span_named(t, name);

	if (!ok(s != NULL, "'%s' is declared", name))
		return;
	is_int((int64_t)s->start_ns, (int64_t)(from * 1e9 + 0.5), "'%s' begins", name);
	is_int((int64_t)s->end_ns, (int64_t)(to * 1e9 + 0.5), "'%s' ends", name);
	is_int(s->process, process, "'%s' has its process", name);
	is_int(s->container, container, "'%s' container or not", name);
	is_str(item_word(s->item), item_word(item), "'%s' has its item", name);
}

static void open_trace(struct trace *t)
{
	trace_init(t);
	add_process(t, 1001, NO_INDEX, 0);
	add_process(t, 1013, 0, 7 * NS_PER_SEC);
	add_process(t, 1019, 1, 11 * NS_PER_SEC);
	t->run.end_ns = 100 * NS_PER_SEC;
	t->run.ready_ns = t->run.end_ns;
}

static void test_spans(void)
{
	struct trace t;

	open_trace(&t);
	add_line(&t, 13, 2,
		 "(Worker pid=1019) INFO 06-12 10:00:00 [model_runner.py:1] Starting to load model "
		 "/m...");
	add_line(&t, 14, 2,
		 "Loading safetensors checkpoint shards:   0% Completed | 0/3 [00:00<?, ?it/s]");
	add_line(&t, 15.5, 2,
		 "Loading safetensors checkpoint shards: 100% Completed | 3/3 [00:01<00:00, "
		 "5.10it/s]");
	add_line(
		&t, 17, 0,
		"(Worker pid=1019) INFO [default_loader.py:384] Loading weights took 2.51 seconds");
	add_line(&t, 19, 2,
		 "\033[0;36m(Worker pid=1019)\033[0;0m INFO Model loading took 0.50 GiB memory and "
		 "5.74 seconds");
	add_line(&t, 29, 2, "(Worker pid=1019) INFO Dynamo bytecode transform time: 3.07 s");
	add_line(&t, 37, 2,
		 "(Worker pid=1019) INFO Compiling a graph for compile range (1, 2048) takes 5.03 "
		 "s");
	add_line(&t, 38, 2, "(Worker pid=1019) INFO torch.compile takes 11.30 s in total");
	add_line(&t, 41, 1,
		 "(EngineCore pid=1013) INFO [kv_cache_utils.py:1] GPU KV cache size: 32,768 "
		 "tokens");
	add_line(&t, 43, 2, "(Worker pid=1019) INFO Warming up model for the compilation...");
	add_line(&t, 59, 2, "(Worker pid=1019) INFO Warming up done.");
	add_line(&t, 61, 1,
		 "(EngineCore pid=1013) INFO init engine (profile, create kv cache, warmup model) "
		 "took 41.00 seconds");
	engine_declare_spans(NULL, &t);
	is_str(t.run.engine, "vllm", "the log tells the engine");
	is_span(&t, "loading weights", 14.49, 17, 2, false, ITEM_WEIGHTS);
	is_span(&t, "loading shards", 14, 15.5, 2, false, ITEM_WEIGHTS);
	is_span(&t, "model loading", 13.26, 19, 2, true, ITEM_WEIGHTS);
	is_span(&t, "dynamo", 25.93, 29, 2, false, ITEM_GRAPHS_JIT);
	is_span(&t, "compile graph", 31.97, 37, 2, false, ITEM_GRAPHS_JIT);
	is_span(&t, "torch.compile", 26.7, 38, 2, true, ITEM_GRAPHS_JIT);
	is_span(&t, "KV cache", 41, 43, 1, false, ITEM_ALLOCATOR);
	is_span(&t, "warm-up", 43, 59, 2, false, ITEM_GRAPHS_JIT);
	is_span(&t, "init engine", 20, 61, 1, true, ITEM_GRAPHS_JIT);
	is_int((int64_t)t.spans.n, 9, "and nothing else");
	trace_done(&t);
}

/* The same facts in the words of several releases: the same spans. */
static void test_phrasings(void)
{
	static const char *const styles[][3] = {
		{"INFO 01-02 03:04:05 loader.py:447] Loading weights took 3.70 seconds",
		 "INFO Graph capturing finished in 11 secs, took 0.42 GiB",
		 "INFO init engine (profile, create kv cache, warmup model) took 23.00 seconds"},
		{"(VllmWorker rank=0 pid=1019) INFO Loading weights took 3.70 s",
		 "(VllmWorker rank=0 pid=1019) INFO Graph capturing finished in 11.0 s",
		 "(EngineCore_0 pid=1013) INFO init engine (profile, create kv cache, warmup "
		 "model) took 23.0 s"},
		{"(EngineCore_DP0 pid=1019) INFO Loading weights took 3700 ms",
		 "(EngineCore_DP0 pid=1019) INFO Graph capturing finished in 11 seconds, took 0.42 "
		 "GB",
		 "(EngineCore_DP0 pid=1013) INFO init engine (profile, create kv cache, warmup "
		 "model) took 23 s (compilation: 9.1 s)"},
		{"(Worker_TP0 pid=1019) INFO [x.py] Loading weights took 3.7 secs (rank 0)",
		 "(Worker_TP0 pid=1019) INFO Graph capturing finished in 11 secs",
		 "(EngineCore pid=1013) init engine (profile, create kv cache, warmup model) took "
		 "23.00 s"},
	};

	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
		struct trace t;

		open_trace(&t);
		add_line(&t, 20, 2, styles[i][0]);
		add_line(&t, 40, 2, styles[i][1]);
		add_line(&t, 50, 1, styles[i][2]);
		add_line(&t, 51, 2, "Weights were loaded in a most unusual 17 seconds");
		engine_declare_spans(&engine_vllm, &t);
		diag("style %zu", i);
		is_span(&t, "loading weights", 16.3, 20, 2, false, ITEM_WEIGHTS);
		is_span(&t, "graph capture", 29, 40, 2, false, ITEM_GRAPHS_JIT);
		is_span(&t, "init engine", 27, 50, 1, true, ITEM_GRAPHS_JIT);
		is_int((int64_t)t.spans.n, 3, "an unknown phrasing declares nothing");
		is_int((int64_t)t.log.n, 4, "and is kept");
		trace_done(&t);
	}
}

static void test_unfinished(void)
{
	struct trace t;

	open_trace(&t);
	t.processes.v[2].end_ns = 47 * NS_PER_SEC;
	t.run.ready_ns = UNKNOWN;
	add_line(&t, 43, 2, "(Worker pid=1019) INFO Warming up model for the compilation...");
	engine_declare_spans(&engine_vllm, &t);
	is_span(&t, "warm-up", 43, 47, 2, false, ITEM_GRAPHS_JIT);
	trace_done(&t);

	open_trace(&t);
	add_line(&t, 43, 2, "(Worker pid=1019) INFO Warming up model for the compilation...");
	add_line(&t, 53, 2, "(Worker pid=1019) INFO Warmed up, at last!");
	engine_declare_spans(&engine_vllm, &t);
	is_int((int64_t)t.spans.n, 0, "a start that became ready: no length is made up");
	is_int((int64_t)t.diagnostics.n, 1, "but it is said");
	trace_done(&t);

	open_trace(&t);
	add_line(&t, 31, 2,
		 "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):   0%|          | 0/67 "
		 "[00:00<?, ?it/s]");
	add_line(&t, 37, 2,
		 "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  90%|####      | 60/67 "
		 "[00:06<00:01, 9.9it/s]");
	add_line(&t, 41, 2,
		 "(Worker pid=1019) Compiling model again due to a load failure from /c/model, "
		 "reason: bad magic");
	add_line(&t, 43, 2, "Loading weights took 99999 seconds");
	engine_declare_spans(&engine_vllm, &t);
	is_span(&t, "graph capture", 31, 37, 2, false, ITEM_GRAPHS_JIT);
	is_span(&t, "loading weights", 11, 43, 2, false, ITEM_WEIGHTS);
	is_int((int64_t)t.diagnostics.n, 1, "a cache that failed to load is said");
	trace_done(&t);

	open_trace(&t);
	add_line(&t, 31, 2, "hello");
	engine_declare_spans(NULL, &t);
	is_int((int64_t)t.spans.n, 0, "an unknown engine declares nothing");
	is_str(t.run.engine, NULL, "and has no name");
	trace_done(&t);
}

static void test_patterns(void)
{
	int bad = 0;

	for (const struct line_rule *r = engine_vllm.lines; r->key; r++) {
		line_matches(r->pattern, "", 0, NULL, NULL);
		bad += r->group > 9;
	}
	is_int(bad, 0, "every group can be had");
	/*
	 * A pattern that does not compile matches nothing: this line matches the longest of them.
	 */
	ok(line_matches(engine_vllm.lines[0].pattern, "Starting to load model x", 0, NULL, NULL),
	   "patterns compile");
}

/* Output that was kept back: lines that tell their own time are taken by it, others are said to be late. */
static void test_late(void)
{
	static const char *const stamps[] = {"06-12 10:00:20", "06-12 12:00:20", "06-12 10:00:49"};
	static const double ends[] = {21, 50,
				      50}; /* another zone is no word on it; one second is usual */
	struct trace t;

	setenv("TZ", "UTC", 1);
	tzset();
	for (int i = 0; i < 3; i++) {
		char line[160];

		open_trace(&t);
		t.run.wall_anchor_ns = UINT64_C(1781258400) * NS_PER_SEC; /* 2026-06-12 10:00:00 */
		t.run.mono_anchor_ns = 0;
		snprintf(line, sizeof(line),
			 "(Worker pid=1019) INFO %s [default_loader.py:384] Loading weights took "
			 "2.00 "
			 "seconds",
			 stamps[i]);
		add_line(&t, 50, 2, line);
		add_line(&t, 50, 2, "(Worker pid=1019) INFO torch.compile takes 1.00 s in total");
		engine_declare_spans(&engine_vllm, &t);
		is_span(&t, "loading weights", ends[i] - 2, ends[i], 2, false, ITEM_WEIGHTS);
		is_span(&t, "torch.compile", ends[i] - 1, ends[i], 2, true, ITEM_GRAPHS_JIT);
		is_int((int64_t)t.diagnostics.n, 1, "it is said");
		ok(t.diagnostics.n && strstr(t.diagnostics.v[0].text,
					     i == 0 ? "up to 29 s after" : "came together"),
		   "how late: %s", t.diagnostics.n ? t.diagnostics.v[0].text : "");
		is_int((int64_t)t.log.v[0].at_ns, 50 * NS_PER_SEC, "the log keeps when it came");
		trace_done(&t);
	}
}

/* Once a clock told a time that cannot be, it is not believed later, when the run is long enough for it. */
static void test_zone(void)
{
	/* An hour behind, and ahead: the run starts at 10:00:00. */
	static const char *const stamps[][2] = {{"06-12 09:00:10", "06-12 10:23:20"},
						{"06-12 11:00:10", "06-12 10:23:20"},
						{"06-12 10:00:10", "06-12 10:23:20"}};
	static const double ends[] = {5000, 5000, 1401};

	setenv("TZ", "UTC", 1);
	tzset();
	for (int i = 0; i < 3; i++) {
		char line[160];
		struct trace t;

		open_trace(&t);
		t.run.end_ns = t.run.ready_ns = 6000 * NS_PER_SEC;
		t.run.wall_anchor_ns = UINT64_C(1781258400) * NS_PER_SEC;
		t.run.mono_anchor_ns = 0;
		snprintf(line, sizeof(line), "INFO %s [x.py:1] hello", stamps[i][0]);
		add_line(&t, 10, 2, line);
		snprintf(line, sizeof(line),
			 "INFO %s [default_loader.py:384] Loading weights took 2.00 seconds",
			 stamps[i][1]);
		add_line(&t, 5000, 2, line);
		engine_declare_spans(&engine_vllm, &t);
		is_span(&t, "loading weights", ends[i] - 2, ends[i], 2, false, ITEM_WEIGHTS);
		trace_done(&t);
	}
}

/* A pid in a line is the writer's: of its own namespace, or of the only one that has it. */
static void test_namespaces(void)
{
	static const char took[] =
		"(Worker pid=7) INFO [default_loader.py:384] Loading weights took "
		"2.00 seconds";
	struct trace t;

	open_trace(&t);
	t.pid_ns = 1;
	for (int i = 1; i < 3; i++) {
		t.processes.v[i].pid_ns = 2;
		t.processes.v[i].ns_pid = i == 1 ? 1 : 7;
	}
	add_process(&t, 7, 0, 12 * NS_PER_SEC); /* 7 here is another */
	t.processes.v[3].pid_ns = 1;
	add_line(&t, 20, 1, took);
	engine_declare_spans(&engine_vllm, &t);
	is_int(t.spans.n ? t.spans.v[0].process : -1, 2, "the writer's own namespace");
	trace_done(&t);

	for (int others = 1; others < 3; others++) {
		open_trace(&t);
		t.pid_ns = t.processes.v[0].pid_ns = 1;
		for (int i = 1; i < 3; i++) {
			t.processes.v[i].pid_ns = 1 + (uint32_t)i;
			t.processes.v[i].ns_pid = i == 2 || others == 2 ? 7 : 3;
		}
		add_line(&t, 20, 0, took);
		engine_declare_spans(&engine_vllm, &t);
		is_int(t.spans.n ? t.spans.v[0].process : -1, others == 1 ? 2 : 0,
		       others == 1 ? "the only one that has the number"
				   : "two that have it: the writer");
		is_int((int64_t)t.diagnostics.n, others - 1, "and it is said to be ambiguous");
		trace_done(&t);
	}
}

int main(void)
{
	test_spans();
	test_late();
	test_zone();
	test_namespaces();
	test_phrasings();
	test_unfinished();
	test_patterns();
	return done_testing();
}
