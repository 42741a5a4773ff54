/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded start-up logs → the declared spans that a person
 * checked. One NAME.log, one NAME.spans, in tests/golden/engine.
 */
#include "engine/engine.h"

#include <unistd.h>

#include "../tap.h"
#include "base/io.h"
#include "base/str.h"
#include "model/model.h"

static uint64_t ns(const char *s)
{
	return (uint64_t)(strtod(s, NULL) * 1e9 + 0.5);
}

static void add_process(struct trace *t, char *rest)
{
	struct process *p = vec_add(&t->processes);
	char *pid = strchr(rest, ' '), *start = pid ? strchr(pid + 1, ' ') : NULL;

	if (!start)
		bail("process INDEX PID START, not: %s", rest);
	p->pid = atoi(pid);
	p->start_ns = ns(start);
	p->end_ns = p->exec_ns = UNKNOWN;
	p->parent = (int32_t)t->processes.n - 2;
}

static void add_line(struct trace *t, char *line)
{
	char *writer = strchr(line, ' '), *text = writer ? strchr(writer + 1, ' ') : NULL;
	struct log_line *l;

	if (!text)
		bail("SECONDS WRITER TEXT, not: %s", line);
	l = vec_add(&t->log);
	l->at_ns = ns(line);
	l->process = atoi(writer);
	l->fd = 1;
	l->text = trace_str(t, text + 1);
	t->run.ready_ns = t->run.end_ns = l->at_ns;
}

static void read_log(struct trace *t, char *data)
{
	char *save = NULL;

	for (char *line = strtok_r(data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (str_starts(line, "process "))
			add_process(t, line + strlen("process "));
		else if (line[0] != '#')
			add_line(t, line);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static char *spans_text(struct trace *t)
{
	struct str out = {0};

	str_add(&out, "");
	if (t->spans.n)
		qsort(t->spans.v, t->spans.n, sizeof(t->spans.v[0]), by_start);
	vec_for_each (s, &t->spans)
		str_addf(&out, "%8.3f %8.3f  process %d  %-10s %s%s\n", (double)s->start_ns / 1e9,
			 (double)s->end_ns / 1e9, s->process, item_word(s->item), s->name,
			 s->container ? " (container)" : "");
	vec_for_each (d, &t->diagnostics)
		str_addf(&out, "note: %s\n", d->text);
	return out.s;
}

static void check(const char *folder, const char *name)
{
	char path[4200], *log = NULL, *want = NULL, *got;
	struct trace t;

	snprintf(path, sizeof(path), "%s/%s.log", folder, name);
	if (io_read_file(path, 1 << 20, &log) < 0)
		bail("cannot read %s", path);
	snprintf(path, sizeof(path), "%s/%s.spans", folder, name);
	if (io_read_file(path, 1 << 20, &want) < 0)
		want = xstrdup("");
	trace_init(&t);
	read_log(&t, log);
	engine_declare_spans(NULL, &t);
	got = spans_text(&t);
	is_str(t.run.engine, "vllm", "%s: the engine", name);
	is_str(got, want, "%s: its spans", name);
	trace_done(&t);
	free(got);
	free(log);
	free(want);
}

int main(void)
{
	const char *top = getenv("top_srcdir");
	char folder[4096];

	snprintf(folder, sizeof(folder), "%s/tests/golden/engine", top ? top : ".");
	check(folder, "vllm-cpu-eager");
	check(folder, "vllm-cpu-compile");
	check(folder, "vllm-cpu-recompile");
	return done_testing();
}
