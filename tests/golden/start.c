/* SPDX-License-Identifier: Apache-2.0 */
#include "start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 24
#define NS	  UINT64_C(1000000000)

struct stretch {
	int process, tid;
	uint64_t a, b;
	bool spin;
};

struct reading {
	struct start *s;
	VEC(struct stretch) idle;
	bool times_unknown, expecting;
	char *words[MAX_WORDS];
	int n, line;
};

static char *keep(struct start *s, const char *text)
{
	return (char *)trace_str(&s->trace, text);
}

static void split(struct reading *r, char *text)
{
	r->n = 0;
	while (*text && r->n < MAX_WORDS) {
		char end = ' ';

		while (*text == ' ' || *text == '\t')
			text++;
		if (!*text || *text == '#' || *text == '\n')
			break;
		if (*text == '"') {
			end = '"';
			text++;
		}
		r->words[r->n++] = text;
		while (*text && *text != '\n' && *text != end && !(end == ' ' && *text == '\t'))
			text++;
		if (*text)
			*text++ = '\0';
	}
}

static uint64_t ns_of(const char *seconds)
{
	double us = strtod(seconds, NULL) * 1e6;

	return START_NS + (uint64_t)((int64_t)(us < 0 ? us - 0.5 : us + 0.5) * 1000);
}

static uint64_t length_of(const char *seconds)
{
	return ns_of(seconds) - START_NS;
}

/* "4-5", "-1-5" */
static bool range_of(const char *word, uint64_t *a, uint64_t *b)
{
	const char *dash = strchr(*word == '-' ? word + 1 : word, '-');

	if (!dash)
		return false;
	*a = ns_of(word);
	*b = ns_of(dash + 1);
	return true;
}

static int process_of(const struct reading *r, const char *name)
{
	const struct trace *t = &r->s->trace;

	for (size_t i = 0; i < t->processes.n; i++)
		if (strcmp(t->processes.v[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* The word behind `key`, or NULL. */
static const char *option(const struct reading *r, const char *key)
{
	for (int i = 1; i + 1 < r->n; i++)
		if (strcmp(r->words[i], key) == 0)
			return r->words[i + 1];
	return NULL;
}

static bool flag(const struct reading *r, const char *key)
{
	for (int i = 1; i < r->n; i++)
		if (strcmp(r->words[i], key) == 0)
			return true;
	return false;
}

static bool read_process(struct reading *r)
{
	struct trace *t = &r->s->trace;
	const char *from = option(r, "from"), *to = option(r, "to"), *parent = option(r, "parent"),
		   *command = option(r, "command"), *status = option(r, "status");
	struct process p = {.pid = 100 + (int32_t)t->processes.n,
			    .parent = parent ? process_of(r, parent) : NO_INDEX,
			    .start_ns = from ? ns_of(from) : START_NS,
			    .exec_ns = UNKNOWN,
			    .end_ns = to ? ns_of(to) : UNKNOWN,
			    .status = status ? atoi(status) : -1,
			    .name = keep(r->s, r->words[1]),
			    .command = keep(r->s, command)};

	p.ppid = p.parent >= 0 ? t->processes.v[p.parent].pid : 1;
	if (flag(r, "compiler"))
		p.role = ROLE_COMPILER;
	if (flag(r, "version_probe"))
		p.role = ROLE_VERSION_PROBE;
	vec_push(&t->processes, p);
	return !parent || p.parent >= 0;
}

static bool read_span(struct reading *r, int process)
{
	struct span s = {.process = process, .container = flag(r, "container")};
	int item = r->n > 4 ? item_of(r->words[2]) : -1;

	if (item < 0 || !range_of(r->words[3], &s.start_ns, &s.end_ns))
		return false;
	s.item = (uint16_t)item;
	s.name = keep(r->s, r->words[4]);
	vec_push(&r->s->trace.spans, s);
	return true;
}

static int32_t file_of(struct reading *r, const char *path)
{
	struct trace *t = &r->s->trace;
	struct file f = {
		.path = keep(r->s, path), .cls = FILE_WEIGHTS, .resident_before_bytes = UNKNOWN};

	for (size_t i = 0; i < t->files.n; i++)
		if (strcmp(t->files.v[i].path, path) == 0)
			return (int32_t)i;
	vec_push(&t->files, f);
	return (int32_t)t->files.n - 1;
}

/* "P0 read 10-12 [thread N] [bytes N] [file PATH]"; bytes are 1 MB a second unless said. */
static bool read_evidence(struct reading *r, int process)
{
	struct trace *t = &r->s->trace;
	int32_t tid = option(r, "thread") ? atoi(option(r, "thread")) : t->processes.v[process].pid;
	struct evidence e = {.process = process, .tid = tid, .file = NO_INDEX, .wait_ns = UNKNOWN};
	int kind = kind_of(r->words[1]);

	if (kind < 0 || r->n < 3 || !range_of(r->words[2], &e.start_ns, &e.end_ns))
		return false;
	e.kind = (uint16_t)kind;
	if (option(r, "bytes"))
		e.bytes = strtoull(option(r, "bytes"), NULL, 10);
	else if (kind_item(kind) == ITEM_WEIGHTS)
		e.bytes = (e.end_ns - e.start_ns) / 1000;
	if (option(r, "file"))
		e.file = file_of(r, option(r, "file"));
	vec_push(&t->evidence, e);
	return true;
}

static bool read_idle(struct reading *r, int process, bool spin)
{
	struct stretch x = {
		.process = process, .spin = spin, .tid = r->s->trace.processes.v[process].pid};

	if (option(r, "thread"))
		x.tid = atoi(option(r, "thread"));
	if (r->n < 3 || !range_of(r->words[2], &x.a, &x.b))
		return false;
	vec_push(&r->idle, x);
	return true;
}

static bool read_run(struct reading *r)
{
	struct run *run = &r->s->trace.run;

	if (strcmp(r->words[0], "title") == 0) {
		snprintf(r->s->title, sizeof(r->s->title), "%s", r->words[1]);
	} else if (strcmp(r->words[0], "ready") == 0) {
		r->s->end_ns = run->end_ns = run->ready_ns = ns_of(r->words[1]);
		run->ending = "ready";
	} else if (strcmp(r->words[0], "killed") == 0) {
		r->s->end_ns = run->end_ns = ns_of(r->words[1]);
		run->ending = "signal";
		run->status = atoi(r->words[2]);
	} else if (strcmp(r->words[0], "listen") == 0) {
		struct listener l = {.process = process_of(r, r->words[1]),
				     .port = 8000,
				     .at_ns = ns_of(r->words[2])};

		run->ready_mark = "http:8000/health";
		vec_push(&r->s->trace.listeners, l);
	} else if (strcmp(r->words[0], "file") == 0) {
		file_of(r, r->words[1]);
	} else {
		return false;
	}
	return true;
}

/* "4-8 cuda_context P0 inferred "sub" rule 2.4", "work weights P0 2 2", "note "text"". */
static bool read_expected(struct reading *r)
{
	struct expected x = {.line = r->line, .item = -1, .process = -1, .grade = -1};

	if (strcmp(r->words[0], "note") == 0) {
		x.what = EXPECT_NOTE;
		snprintf(x.sub, sizeof(x.sub), "%s", r->words[1]);
		vec_push(&r->s->expected, x);
		return true;
	}
	if (strcmp(r->words[0], "row") == 0) {
		if (r->n < 4)
			return false;
		x.what = EXPECT_ROW;
		x.item = item_of(r->words[1]);
		snprintf(x.sub, sizeof(x.sub), "%s", r->words[2]);
		x.sum_ns = length_of(r->words[3]);
		vec_push(&r->s->expected, x);
		return x.item >= 0;
	}
	if (strcmp(r->words[0], "work") == 0 || strcmp(r->words[0], "cause") == 0) {
		bool work = r->words[0][0] == 'w';

		if (r->n < 5)
			return false;
		x.what = work ? EXPECT_WORK : EXPECT_CAUSE;
		x.item = item_of(r->words[1]);
		x.process = process_of(r, r->words[2]);
		x.union_ns = length_of(r->words[3]);
		x.sum_ns = length_of(r->words[4]);
		vec_push(&r->s->expected, x);
		return x.item >= 0;
	}
	if (r->n < 2 || !range_of(r->words[0], &x.start_ns, &x.end_ns))
		return false;
	x.item = item_of(r->words[1]);
	for (int i = 2; i < r->n; i++) {
		if (strcmp(r->words[i], "rule") == 0 && i + 1 < r->n)
			snprintf(x.rule, sizeof(x.rule), "%s", r->words[++i]);
		else if (process_of(r, r->words[i]) >= 0)
			x.process = process_of(r, r->words[i]);
		else if (grade_of(r->words[i]) >= 0)
			x.grade = grade_of(r->words[i]);
		else
			snprintf(x.sub, sizeof(x.sub), "%s", r->words[i]);
	}
	vec_push(&r->s->expected, x);
	return x.item >= 0;
}

static bool read_line(struct reading *r)
{
	int process;

	if (!r->n)
		return true;
	if (strcmp(r->words[0], "expect") == 0)
		return r->expecting = true;
	if (r->expecting)
		return read_expected(r);
	if (strcmp(r->words[0], "times") == 0)
		return r->times_unknown = true;
	if (r->n < 2)
		return false;
	if (strcmp(r->words[0], "process") == 0)
		return read_process(r);
	process = process_of(r, r->words[0]);
	if (process < 0)
		return read_run(r);
	if (strcmp(r->words[1], "span") == 0)
		return read_span(r, process);
	if (strcmp(r->words[1], "asleep") == 0)
		return read_idle(r, process, false);
	if (strcmp(r->words[1], "spins") == 0)
		return read_idle(r, process, true);
	return read_evidence(r, process);
}

static int by_start(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return x->a < y->a ? -1 : x->a > y->a;
}

static void put_time(struct trace *t, int process, int tid, uint64_t a, uint64_t b,
		     const struct stretch *idle)
{
	struct thread_time r = {.process = process, .tid = tid, .start_ns = a, .end_ns = b};

	if (a >= b)
		return;
	if (!idle || idle->spin)
		r.cpu_ns = b - a;
	else
		r.sleep_ns = b - a;
	if (idle && idle->spin)
		r.yields = (b - a) / 2000;
	vec_push(&t->times, r);
}

/* A thread is on the CPU for as long as its process lives, unless the text says otherwise. */
static void put_times(struct reading *r, int process, int tid)
{
	struct trace *t = &r->s->trace;
	const struct process *p = &t->processes.v[process];
	uint64_t at = p->start_ns, end = p->end_ns < r->s->end_ns ? p->end_ns : r->s->end_ns;

	vec_for_each (x, &t->times)
		if (x->process == process && x->tid == tid)
			return;
	vec_for_each (x, &r->idle) {
		if (x->process != process || x->tid != tid)
			continue;
		put_time(t, process, tid, at, x->a, NULL);
		put_time(t, process, tid, x->a, x->b, x);
		at = x->b;
	}
	put_time(t, process, tid, at, end, NULL);
}

static void put_all_times(struct reading *r)
{
	struct trace *t = &r->s->trace;

	if (r->idle.n)
		qsort(r->idle.v, r->idle.n, sizeof(*r->idle.v), by_start);
	for (size_t p = 0; p < t->processes.n; p++)
		put_times(r, (int)p, t->processes.v[p].pid);
	vec_for_each (e, &t->evidence)
		put_times(r, e->process, e->tid);
}

int start_read(const char *path, struct start *ret, char *why, size_t size)
{
	struct reading r = {.s = ret};
	char text[1024];
	FILE *f = fopen(path, "r");
	bool good = f != NULL;

	memset(ret, 0, sizeof(*ret));
	trace_init(&ret->trace);
	ret->trace.run.start_ns = START_NS;
	while (good && fgets(text, sizeof(text), f)) {
		r.line++;
		split(&r, text);
		good = read_line(&r);
	}
	if (f)
		fclose(f);
	if (!good) {
		snprintf(why, size, "%s: line %d is not understood", path, r.line);
		vec_free(&r.idle);
		start_done(ret);
		return -1;
	}
	if (!r.times_unknown)
		put_all_times(&r);
	vec_free(&r.idle);
	return 0;
}

void start_done(struct start *s)
{
	trace_done(&s->trace);
	vec_free(&s->expected);
}
