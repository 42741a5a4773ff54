/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src/ingest: calls, roles, lines and the tree, from
 * hand-made memories and traces with known answers.
 */
#include "ingest_trace.h"

#include <errno.h>

#include "base/err.h"

static void test_calls(void)
{
	struct wire_writer w;
	struct wire_call *c;
	struct trace t;

	open_trace(&t, 0);
	writer_open(&w);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	writer_symbol(&w, 3, WIRE_CLASS_INIT, "cuInit", 1, 17 * MS, 0,
		      WIRE_ROUTE_DLSYM | WIRE_ROUTE_PROC);
	writer_symbol(&w, 5, WIRE_CLASS_LAUNCH, "cuLaunchKernel", 104729, 0, 0, WIRE_ROUTE_PROC);
	c = writer_call(&w, 1009, WIRE_CLASS_INIT, 100 * MS, 117 * MS, 0);
	c->symbol = 3;
	writer_call(&w, 1009, WIRE_CLASS_CONTEXT, 119 * MS, 131 * MS, 0);
	c = writer_call(&w, 1009, WIRE_CLASS_ALLOC, 137 * MS, 139 * MS, 31337);
	c->result = 2;
	writer_call(&w, 1009, WIRE_CLASS_ALLOC, 149 * MS, 151 * MS, 7919);
	writer_call(&w, 1009, WIRE_CLASS_H2D, 157 * MS, 163 * MS, 65537);
	writer_call(&w, 1009, WIRE_CLASS_MODULE, 167 * MS, 173 * MS, 0);
	c = writer_call(&w, 1009, WIRE_CLASS_CAPTURE_BEGIN, 179 * MS, 180 * MS, 0);
	c->handle = 0xabc;
	c = writer_call(&w, 1009, WIRE_CLASS_CAPTURE_END, 190 * MS, 191 * MS, 0);
	c->handle = 0xabc;
	c->aux = 0xd1;
	c->extra = 43;
	c = writer_call(&w, 1009, WIRE_CLASS_INSTANTIATE, 193 * MS, 197 * MS, 0);
	c->handle = 0xe1;
	c->aux = 0xd1;
	c = writer_call(&w, 1009, WIRE_CLASS_UPLOAD, 199 * MS, 211 * MS, 0);
	c->handle = 0xe1;
	c = writer_call(&w, 1009, WIRE_CLASS_GRAPH_LAUNCH, 223 * MS, 226 * MS, 0);
	c->handle = 0xe1;
	c = writer_call(&w, 1009, WIRE_CLASS_SYNC, 227 * MS, 229 * MS, 0);
	is_int(run(&t, &w), 0, "calls are read");
	is_int((int64_t)t.processes.n, 1, "the image finds its process");
	ok(t.processes.v[0].shim, "which has the shim");
	is_str(t.processes.v[0].command, "server --port 8009", "and its words");
	is_int((int64_t)sum_time(&t, KIND_CU_INIT), 17 * MS, "cuInit");
	is_str(first(&t, KIND_CU_INIT)->what, "cuInit", "by its name");
	is_int((int64_t)sum_time(&t, KIND_CONTEXT), 12 * MS, "context");
	is_int((int64_t)sum_bytes(&t, KIND_ALLOC), 7919, "a failed allocation is none");
	is_int(count(&t, KIND_DEVICE_QUERY), 1, "but its time is kept");
	is_int((int64_t)sum_bytes(&t, KIND_H2D), 65537, "H2D bytes");
	is_int((int64_t)sum_time(&t, KIND_MODULE_LOAD), 6 * MS, "module load");
	is_int((int64_t)sum_time(&t, KIND_CAPTURE), 12 * MS,
	       "a capture is from its begin to its end");
	is_int((int64_t)sum_time(&t, KIND_SYNC), 2 * MS, "sync");
	is_int((int64_t)t.graphs.n, 1, "one graph");
	if (t.graphs.n) {
		is_int((int64_t)t.graphs.v[0].nodes, 43, "its nodes");
		is_int((int64_t)t.graphs.v[0].capture_ns, 12 * MS, "its capture");
		is_int((int64_t)t.graphs.v[0].instantiate_ns, 4 * MS, "its instantiation");
		is_int((int64_t)t.graphs.v[0].upload_ns, 12 * MS, "its upload");
		is_int((int64_t)t.graphs.v[0].first_replay_ns, 3 * MS, "its first replay");
	}
	is_int((int64_t)t.cuda.n, 2, "symbols are counted");
	is_int((int64_t)t.cuda.v[1].calls, 104729, "launches by number");
	is_str(t.coverage.v[0].route, "dlsym+cuGetProcAddress", "routes");
	writer_close(&w);
	trace_done(&t);
}

/* An address is given out again once its graph is gone, captured or executable; so PyTorch makes them. */
static void test_graphs(void)
{
	struct wire_writer w;
	struct wire_call *c;
	struct trace t;

	open_trace(&t, 0);
	writer_open(&w);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t at = (1 + i) * 1000 * MS;

		writer_call(&w, 1009, WIRE_CLASS_CAPTURE_BEGIN, at, at + MS, 0)->handle = 0xabc;
		c = writer_call(&w, 1009, WIRE_CLASS_CAPTURE_END, at + (10 + i) * MS,
				at + (11 + i) * MS, 0);
		c->handle = 0xabc;
		c->aux = 0xd1;
		c->extra = 41 + i;
		c = writer_call(&w, 1009, WIRE_CLASS_INSTANTIATE, at + 20 * MS, at + (23 + i) * MS,
				0);
		c->handle = i < 2 ? 0xe1 : 0xe2;
		c->aux = 0xd1;
		/* Another thread replays it. */
		c = writer_call(&w, 1008, WIRE_CLASS_GRAPH_LAUNCH, at + 30 * MS, at + (37 + i) * MS,
				0);
		c->handle = i < 2 ? 0xe1 : 0xe2;
		c = writer_call(&w, 1009, WIRE_CLASS_GRAPH_DESTROY, at + 50 * MS, at + 51 * MS, 0);
		c->handle = i < 2 ? 0xe1 : 0xe2;
	}
	run(&t, &w);
	is_int((int64_t)t.graphs.n, 3, "three graphs");
	for (uint64_t i = 0; i < t.graphs.n; i++) {
		const struct graph *g = &t.graphs.v[i];

		is_int((int64_t)g->nodes, (int64_t)(41 + i), "the nodes of each");
		is_int((int64_t)g->capture_ns, (int64_t)((11 + i) * MS), "its capture");
		is_int((int64_t)g->instantiate_ns, (int64_t)((3 + i) * MS), "its instantiation");
		is_int((int64_t)g->first_replay_ns, (int64_t)((7 + i) * MS), "its first replay");
	}
	writer_close(&w);
	trace_done(&t);
}

/* What the shim makes a record of is evidence. */
static void test_classes(void)
{
	enum { CALL, FIRST, LONG, COUNT };
	static const struct {
		const char *word;
		int how;
	} classes[] = {
#define X(id, word, how) {word, how},
		WIRE_CLASSES(X)
#undef X
	};

	for (int i = 0; i < WIRE_CLASS_COUNT; i++) {
		struct wire_writer w;
		struct trace t;
		struct wire_call *c;

		/* The two are one piece: test_calls. */
		if (classes[i].how == COUNT || i == WIRE_CLASS_CAPTURE_BEGIN ||
		    i == WIRE_CLASS_CAPTURE_END)
			continue;
		open_trace(&t, 0);
		writer_open(&w);
		writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server",
			       argv_words, sizeof(argv_words));
		writer_call(&w, 1009, (enum wire_class)i, 100 * MS, 117 * MS, 0);
		c = writer_call(&w, 1009, (enum wire_class)i, 200 * MS, 219 * MS, 0);
		c->result = 7;
		run(&t, &w);
		is_int((int64_t)t.evidence.n, 2, "%s: evidence, and of a failed one too",
		       classes[i].word);
		writer_close(&w);
		trace_done(&t);
	}
}

/* NCCL's, whether or not the other ranks came. */
static void test_collectives(void)
{
	struct wire_writer w;
	struct trace t;

	open_trace(&t, 0);
	writer_open(&w);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	writer_call(&w, 1009, WIRE_CLASS_COLLECTIVE, 100 * MS, 117 * MS, 0);
	writer_call(&w, 1009, WIRE_CLASS_COLLECTIVE, 200 * MS, 219 * MS, 0)->result = 2;
	run(&t, &w);
	is_int((int64_t)sum_time(&t, KIND_COLLECTIVE), 36 * MS, "collective set-up");
	writer_close(&w);
	trace_done(&t);
}

static void test_copies(void)
{
	struct wire_writer w;
	struct trace t;

	open_trace(&t, 0);
	writer_open(&w);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	writer_call(&w, 1009, WIRE_CLASS_H2D, 1000 * MS, 1010 * MS, 3 * MB);
	writer_call(&w, 1009, WIRE_CLASS_H2D, 1500 * MS, 1501 * MS, 4099);
	writer_call(&w, 1009, WIRE_CLASS_H2D, 5000 * MS, 5001 * MS, 101);
	writer_call(&w, 1009, WIRE_CLASS_H2D, 7300 * MS, 7301 * MS, 103);
	writer_call(&w, 1009, WIRE_CLASS_H2D, 8000 * MS, 8010 * MS, 5 * MB);
	run(&t, &w);
	is_int((int64_t)sum_bytes(&t, KIND_H2D), (int64_t)(8 * MB + 4099 + 103),
	       "copies of weights, and small ones near them");
	is_int((int64_t)sum_bytes(&t, KIND_DEVICE_USE), 101,
	       "a small copy far from weights is input");
	writer_close(&w);
	trace_done(&t);
}

static void test_roles(void)
{
	static const struct {
		const char *exe, *command;
		int role;
	} cases[] = {
		{"/usr/bin/x86_64-linux-gnu-g++-12", "g++ -O2 -c a.cpp -o a.o", ROLE_COMPILER},
		{"/usr/bin/g++", "g++ --version", ROLE_VERSION_PROBE},
		{"/usr/bin/g++", "g++ -v", ROLE_VERSION_PROBE},
		{"/usr/bin/g++", "g++ -v x.cpp", ROLE_COMPILER},
		{"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "cc1plus -quiet a.cpp", ROLE_COMPILER},
		{"/usr/local/cuda/bin/ptxas", "ptxas -arch sm_90 a.ptx", ROLE_COMPILER},
		{"/usr/bin/clang-14", "clang-14 -x c - -o b", ROLE_COMPILER},
		{"/usr/bin/ninja", "ninja -v -j 3", ROLE_COMPILER},
		{"/usr/bin/ninja", "ninja --version", ROLE_VERSION_PROBE},
		{"/usr/bin/ld", "ld -r a.o", ROLE_COMPILER},
		{"/usr/bin/gcc", "gcc -print-file-name=libc.so", ROLE_VERSION_PROBE},
		{"/usr/bin/python3", "python3 compile_worker.py", ROLE_PLAIN},
		{"/usr/bin/accelerate", "accelerate launch", ROLE_PLAIN},
		{"/usr/bin/lscpu", "lscpu", ROLE_PLAIN},
	};
	struct trace t;

	open_trace(&t, SAW_TREE);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int32_t p = add_process(&t, 2000 + (int32_t)i, 0, (100 + i) * MS, cases[i].exe,
					cases[i].command);

		t.processes.v[p].end_ns = (1100 + i) * MS;
	}
	/* g++ runs cc1plus: one compile. */
	add_process(&t, 3001, 1, 101 * MS, "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
		    "cc1plus a.cpp");
	/* g++ --version runs nothing that counts. */
	add_process(&t, 3011, 2, 102 * MS, "/usr/bin/as", "as --version");
	run(&t, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_int(t.processes.v[i + 1].role, cases[i].role, "%s", cases[i].command);
	is_int(count(&t, KIND_COMPILER), 7, "one piece for each outermost compiler");
	is_int((int64_t)sum_time(&t, KIND_COMPILER), 7 * 1000 * MS, "for its lifetime");
	trace_done(&t);
}

static void test_lines(void)
{
	struct wire_writer w;
	struct trace t;
	char line[64];

	open_trace(&t, 0);
	writer_open(&w);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	writer_log(&w, 300 * MS, WIRE_LOG_CR, "load:  50%");
	writer_log(&w, 301 * MS, 0, "load: 100%");
	writer_log(&w, 200 * MS, WIRE_LOG_OPEN, "one ");
	writer_log(&w, 200 * MS + 1, WIRE_LOG_OPEN,
		   "line of a length that needs more than a single slot to hold it");
	writer_log(&w, 200 * MS + 2, 0, "!");
	for (int i = 0; i < 997; i++) {
		snprintf(line, sizeof(line), "waiting for shard %d, %d s", i % 4, i);
		writer_log(&w, (1000 + (uint64_t)i) * MS, 0, line);
	}
	run(&t, &w);
	is_int((int64_t)t.log.n, 5, "997 repeats are two lines");
	is_str(t.log.v[0].text,
	       "one line of a length that needs more than a single slot to hold it!",
	       "a line of three writes");
	is_str(t.log.v[1].text, "load:  50%", "bars in order of time");
	is_int((int64_t)t.log.v[3].at_ns, 1000 * MS, "the first repeat");
	is_int((int64_t)t.log.v[4].at_ns, 1996 * MS, "the last repeat");
	trace_done(&t);

	open_trace(&t, SAW_LOG);
	struct log_line *l = vec_add(&t.log);
	l->text = trace_str(&t, "a\rb\r\nargs: {'api_key': ['a b'], 'port': 80} http://u:p@h/\n");
	l->at_ns = 100 * MS;
	run(&t, &w);
	is_int((int64_t)t.log.n, 3,
	       "lines that the kernel side saw are split, and the shim's are not taken again");
	is_str(t.log.v[2].text, "args: {'api_key': ***, 'port': 80} http://h/",
	       "secrets in a line are masked");
	writer_close(&w);
	trace_done(&t);
}

/* Without kernel side: images are the tree. */
static void test_tree(void)
{
	struct wire_writer w;
	struct trace t;

	open_trace(&t, 0);
	writer_open(&w);
	writer_process(&w, 1031, 1021, 50 * MS, 0, "/nowhere/worker", "", 0);
	writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server", argv_words,
		       sizeof(argv_words));
	writer_process(&w, 1021, 1009, 40 * MS, WIRE_PROCESS_EXEC, "/usr/bin/gcc", "gcc\0-c\0a.c",
		       10);
	writer_call(&w, 1021, WIRE_CLASS_INIT, 41 * MS, 43 * MS, 0);
	run(&t, &w);
	is_int((int64_t)t.processes.n, 3, "two more processes");
	is_int(t.processes.v[1].parent, 0, "child of the root");
	is_int(t.processes.v[2].parent, 1, "grandchild");
	is_int(t.processes.v[1].role, ROLE_COMPILER, "known by its words");
	is_int(first(&t, KIND_CU_INIT)->process, 1, "records find their process");
	writer_close(&w);
	trace_done(&t);
}

/* Without the kernel side /proc shows an exec late, and one into a program without the shim alone. */
static void test_exec(void)
{
	static const struct {
		const char *shown, *want, *what;
	} cases[] = {
		{"/bin/sh", "/bin/sh", "another program"},
		{"/usr/bin/../bin/cat", "/bin/cat", "the same by another name"},
		{"/nowhere/sh", "/bin/cat", "one that is not there any more"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wire_writer w;
		struct trace t;
		struct process *p;

		open_trace(&t, 0);
		writer_open(&w);
		writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/bin/cat", "cat", 4);
		p = &t.processes.v[0];
		p->exe = cases[i].shown;
		p->exec_ns = 33 * MS;
		*(struct exec_event *)vec_add(&t.execs) =
			(struct exec_event){0, 33 * MS, cases[i].shown, "shown"};
		run(&t, &w);
		p = &t.processes.v[0];
		is_str(p->exe, cases[i].want, "/proc shows %s later", cases[i].what);
		is_int((int64_t)p->exec_ns, (i ? 13 : 33) * MS, "the moment of that exec");
		is_int((int64_t)t.execs.n, 2, "both are kept");
		is_int(p->uncovered != NULL, !i, "the shim %s in it", i ? "is" : "is not");
		writer_close(&w);
		trace_done(&t);
	}
}

/* The kernel's name of what was run by a link of /proc is not the program's. */
static void test_names(void)
{
	static const struct {
		const char *name, *exe, *want;
	} cases[] = {
		{"exe", "/opt/server", "server"},
		{"5", "/opt/server", "server"},
		{"exe", NULL, "exe"},
		{"worker:1", "/opt/server", "worker:1"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trace t;

		open_trace(&t, SAW_TREE);
		add_process(&t, 1013, 0, 13 * MS, cases[i].exe, NULL);
		t.processes.v[1].name = cases[i].name;
		run(&t, NULL);
		is_str(t.processes.v[1].name, cases[i].want, "%s of %s", cases[i].name,
		       cases[i].exe ? cases[i].exe : "?");
		trace_done(&t);
	}
}

static void test_yields(void)
{
	struct wire_writer w;
	struct trace t;

	for (int saw = 0; saw < 2; saw++) {
		open_trace(&t, saw ? SAW_TREE | SAW_TIMES : SAW_CPU);
		writer_open(&w);
		writer_process(&w, 1009, 1, 13 * MS, WIRE_PROCESS_EXEC, "/nowhere/server",
			       argv_words, sizeof(argv_words));
		for (uint64_t i = 0; i < 3; i++) {
			struct thread_time *x = vec_add(&t.times);

			*x = (struct thread_time){0,	  1009, i * 100 * MS, (i + 1) * 100 * MS,
						  1,	  2,	UNKNOWN,      UNKNOWN,
						  UNKNOWN};
		}
		writer_yield(&w, 1009, 110 * MS, 190 * MS, 40009);
		writer_yield(&w, 1009, 195 * MS, 199 * MS, 2003);
		writer_yield(&w, 1013, 110 * MS, 190 * MS, 7);
		run(&t, &w);
		ok(t.times.v[0].yields == UNKNOWN && t.times.v[2].yields == UNKNOWN,
		   "no yields where none were seen");
		is_int((int64_t)t.times.v[1].yields, saw ? -1 : 42012,
		       "yields of the thread at the time");
		writer_close(&w);
		trace_done(&t);
	}
}

static void test_nothing(void)
{
	struct err err = {{0}, {0}};
	struct trace t;

	open_trace(&t, 0);
	is_int(run(&t, NULL), 0, "no shim and no probe: still a trace");
	is_int((int64_t)t.evidence.n, 0, "without evidence");
	is_str(t.run.state, "unknown", "and of unknown state");
	trace_done(&t);

	trace_init(&t);
	is_int(ingest_run(&(struct ingest_options){0}, NULL, 0, &t, &err), -EINVAL,
	       "no process: an error");
	ok(err.msg[0], "in words");
	trace_done(&t);
}

int main(void)
{
	test_calls();
	test_graphs();
	test_classes();
	test_collectives();
	test_copies();
	test_roles();
	test_lines();
	test_tree();
	test_exec();
	test_names();
	test_yields();
	test_nothing();
	return done_testing();
}
