/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process an image of the shim is, above all where its numbers
 * are those of another pid namespace: by hand, with known answers.
 */
#include "ingest_trace.h"

#define OURS   4026531836u
#define FIRST  4026532181u
#define SECOND 4026532303u

static const char worker_words[] = "worker\0--rank";

static void open_both(struct trace *t, struct wire_writer *w, unsigned saw)
{
	open_trace(t, saw);
	t->pid_ns = OURS;
	t->processes.v[0].pid_ns = OURS;
	writer_open(w);
}

/* A worker that the kernel side, or /proc, told of; `pid_ns` 0: it was gone before /proc was asked. */
static int32_t add_worker(struct trace *t, int32_t pid, int32_t parent, uint64_t start_ns,
			  uint32_t pid_ns, int32_t ns_pid)
{
	int32_t index = add_process(t, pid, parent, start_ns, "/nowhere/worker", "worker --rank");
	struct exec_event *e = vec_add(&t->execs);

	*e = (struct exec_event){index, start_ns, t->processes.v[index].exe,
				 t->processes.v[index].command};
	t->processes.v[index].pid_ns = pid_ns;
	t->processes.v[index].ns_pid = ns_pid;
	return index;
}

/* One that says so much of itself, and makes one call of `call_ns` in thread `tid`. */
static void image(struct wire_writer *w, uint32_t pid_ns, int32_t pid, int32_t ppid,
		  uint64_t start_ns, int32_t tid, uint64_t call_ns)
{
	struct wire_process *p;

	writer_process(w, pid, ppid, start_ns, WIRE_PROCESS_EXEC, "/nowhere/worker", worker_words,
		       sizeof(worker_words));
	p = (struct wire_process *)((char *)w->ring.map + writer_header(w)->process_offset);
	p[w->process].pid_ns = pid_ns;
	writer_call(w, tid, WIRE_CLASS_INIT, start_ns + MS, start_ns + MS + call_ns, 0);
}

static uint64_t call_of(const struct trace *t, int32_t process)
{
	uint64_t n = 0;

	vec_for_each (e, &t->evidence)
		n += e->kind == KIND_CU_INIT && e->process == process ? e->end_ns - e->start_ns : 0;
	return n;
}

static const char *note_of(const struct trace *t, const char *source, const char *part)
{
	vec_for_each (d, &t->diagnostics)
		if (!strcmp(d->source, source) && strstr(d->text, part))
			return d->text;
	return NULL;
}

static void close_both(struct trace *t, struct wire_writer *w)
{
	writer_close(w);
	trace_done(t);
}

/* Both are number 1 of their own namespace, the same program, at nearly the same moment. */
static void test_two_namespaces(void)
{
	struct wire_writer w;
	struct trace t;

	open_both(&t, &w, SAW_TREE);
	add_worker(&t, 5003, 0, 400 * MS, FIRST, 1);
	add_worker(&t, 5009, 0, 401 * MS, SECOND, 1);
	vec_push(&t.numbers, ((struct thread_number){2, 5011, 7}));
	image(&w, SECOND, 1, 0, 403 * MS, 7, 13);
	image(&w, FIRST, 1, 0, 404 * MS, 1, 17);
	run(&t, &w);
	is_int((int64_t)t.processes.n, 3, "no process is made up");
	is_int((int64_t)call_of(&t, 1), 17, "the first has its own call");
	is_int((int64_t)call_of(&t, 2), 13, "and the second");
	is_int(t.evidence.v[0].tid, 5011, "a thread has the number that the kernel side tells");
	is_int(t.evidence.v[1].tid, 5003, "the first thread that of its process");
	close_both(&t, &w);
}

/* A number here may be another's number there. */
static void test_same_number(void)
{
	struct wire_writer w;
	struct trace t;

	open_both(&t, &w, SAW_TREE);
	add_worker(&t, 17, 0, 400 * MS, OURS, 0);
	add_worker(&t, 5003, 0, 401 * MS, FIRST, 17);
	image(&w, FIRST, 17, 0, 403 * MS, 23, 13);
	image(&w, OURS, 17, 1009, 404 * MS, 17, 19);
	run(&t, &w);
	is_int((int64_t)call_of(&t, 1), 19, "ours is ours");
	is_int((int64_t)call_of(&t, 2), 13, "theirs is theirs");
	is_int(t.evidence.v[0].tid, -23, "a thread whose number nobody knows is negative");
	close_both(&t, &w);
}

/* A process that was gone before /proc was asked: what else is known leaves one, or none. */
static void test_circumstances(void)
{
	struct wire_writer w;
	struct trace t;

	open_both(&t, &w, SAW_TREE);
	add_worker(&t, 5003, 0, 400 * MS, 0, 0);
	image(&w, FIRST, 1, 0, 403 * MS, 1, 13);
	run(&t, &w);
	is_int((int64_t)call_of(&t, 1), 13, "one that fits is it");
	close_both(&t, &w);

	open_both(&t, &w, SAW_TREE);
	add_worker(&t, 5003, 0, 400 * MS, 0, 0);
	add_worker(&t, 5009, 0, 401 * MS, 0, 0);
	image(&w, FIRST, 1, 0, 403 * MS, 1, 13);
	image(&w, SECOND, 1, 0, 404 * MS, 1, 17);
	run(&t, &w);
	is_int((int64_t)t.evidence.n, 0, "of two that fit neither is taken");
	is_int((int64_t)t.processes.n, 3, "and none is made up");
	ok(note_of(&t, "ingest", "ambiguous"), "it is said");
	ok(!t.processes.v[1].shim && !t.processes.v[2].shim, "no process is said to be covered");
	ok(!note_of(&t, "shim", "made no sense"), "nor the records to be damaged");
	close_both(&t, &w);

	open_both(&t, &w, SAW_TREE);
	add_worker(&t, 5003, 0, 400 * MS, 0, 0);
	image(&w, FIRST, 1, 0, 403 * MS, 1, 13);
	image(&w, SECOND, 1, 0, 404 * MS, 1, 17);
	run(&t, &w);
	is_int((int64_t)t.evidence.n, 0, "nor one that two could be");
	close_both(&t, &w);

	open_both(&t, &w, SAW_TREE);
	add_worker(&t, 5003, 0, 400 * MS, 0, 0);
	add_worker(&t, 5009, 0, 401 * MS, SECOND, 1);
	image(&w, FIRST, 1, 0, 403 * MS, 1, 13);
	image(&w, SECOND, 1, 0, 404 * MS, 1, 17);
	run(&t, &w);
	is_int((int64_t)call_of(&t, 1), 13, "what is certain leaves one to the other");
	close_both(&t, &w);
}

/* Its parent tells two apart that else are alike. */
static void test_parent(void)
{
	struct wire_writer w;
	struct trace t;

	open_both(&t, &w, SAW_TREE);
	add_process(&t, 5003, 0, 400 * MS, "/nowhere/init", "init");
	add_process(&t, 5009, 0, 400 * MS, "/nowhere/init", "init");
	t.processes.v[1].pid_ns = FIRST;
	t.processes.v[1].ns_pid = 1;
	t.processes.v[2].pid_ns = SECOND;
	t.processes.v[2].ns_pid = 1;
	add_worker(&t, 5011, 1, 401 * MS, 0, 0);
	add_worker(&t, 5021, 2, 402 * MS, 0, 0);
	image(&w, FIRST, 2, 1, 403 * MS, 2, 13);
	image(&w, SECOND, 2, 1, 404 * MS, 2, 17);
	run(&t, &w);
	is_int((int64_t)call_of(&t, 3), 13, "the child of the first");
	is_int((int64_t)call_of(&t, 4), 17, "the child of the second");
	close_both(&t, &w);
}

/* A program without /proc does not know where it is. */
static void test_no_proc(void)
{
	struct wire_writer w;
	struct trace t;

	open_both(&t, &w, SAW_TREE);
	add_worker(&t, 5003, 0, 400 * MS, OURS, 0);
	add_worker(&t, 5009, 0, 400 * MS, FIRST, 5003);
	image(&w, 0, 5003, 0, 403 * MS, 5003, 13);
	run(&t, &w);
	is_int((int64_t)t.evidence.n, 0, "a number that two have decides nothing");
	ok(note_of(&t, "ingest", "ambiguous"), "and is said to be ambiguous");
	close_both(&t, &w);

	open_both(&t, &w, SAW_TREE);
	add_worker(&t, 5003, 0, 400 * MS, OURS, 0);
	image(&w, 0, 5003, 1009, 403 * MS, 5003, 13);
	run(&t, &w);
	is_int((int64_t)call_of(&t, 1), 13, "a number that one has is enough");
	close_both(&t, &w);
}

/* Only where nobody saw the tree does an image make a process. */
static void test_made_up(void)
{
	struct wire_writer w;
	struct trace t;

	for (int i = 0; i < 4; i++) {
		bool tree = i & 1, foreign = i & 2;

		open_both(&t, &w, tree ? SAW_TREE : 0);
		image(&w, foreign ? FIRST : OURS, 5003, 1009, 403 * MS, 5003, 13);
		run(&t, &w);
		is_int((int64_t)t.processes.n, tree || foreign ? 1 : 2, "tree %s, %s",
		       tree ? "seen" : "not seen", foreign ? "their numbers" : "our numbers");
		ok(!note_of(&t, "ingest", "left out") == !(tree || foreign),
		   "what is left out is said");
		close_both(&t, &w);
	}
	open_both(&t, &w, SAW_TREE);
	t.tree_lost = true;
	image(&w, OURS, 5003, 1009, 403 * MS, 5003, 13);
	run(&t, &w);
	is_int((int64_t)t.processes.n, 2, "a tree with records lost may lack it");
	close_both(&t, &w);
}

int main(void)
{
	test_two_namespaces();
	test_same_number();
	test_circumstances();
	test_parent();
	test_no_proc();
	test_made_up();
	return done_testing();
}
