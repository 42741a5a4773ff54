/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines → declared spans. A line that no pattern knows is left as it is. */
#include "engine/engine.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/adapter.h"

#define MAX_LINE 2048

struct compiled {
	const char *pattern;
	regex_t regex;
};

bool line_matches(const char *pattern, const char *line, int group, int *ret_from, int *ret_to)
{
	static struct compiled *known;
	static size_t n, cap;
	regmatch_t match[10];
	size_t i;

	for (i = 0; i < n && known[i].pattern != pattern; i++)
		;
	if (i == n) {
		if (n == cap)
			known = vec_grow(known, &cap, n + 1, sizeof(*known));
		known[n].pattern = pattern;
		/* The patterns are our own tables, and a test compiles each. */
		if (regcomp(&known[n].regex, pattern, REG_EXTENDED) != 0)
			return false;
		n++;
	}
	if (regexec(&known[i].regex, line, 10, match, 0) != 0)
		return false;
	if (ret_from)
		*ret_from = (int)match[group].rm_so;
	if (ret_to)
		*ret_to = (int)match[group].rm_eo;
	return true;
}

/* A begin, or a bar, that is not over yet. */
struct open_span {
	const struct line_rule *rule;
	int32_t process;
	uint64_t start_ns, last_ns;
	bool complete; /* a bar that came to 100 %; it may say so more than once */
};

struct reader {
	struct trace *t;
	const struct engine *e;
	VEC(struct open_span) open;
	uint64_t ambiguous; /* lines that name a pid of several namespaces */
};

/* The line without colours, at most MAX_LINE bytes. */
static void plain_text(const char *text, char *ret)
{
	size_t n = 0;

	while (*text && n + 1 < MAX_LINE) {
		if (text[0] == '\033' && text[1] == '[') {
			text += 2;
			text += strspn(text, "0123456789;");
			text += *text != '\0';
			continue;
		}
		ret[n++] = *text++;
	}
	ret[n] = '\0';
}

/*
 * The last process that calls itself `pid` in the pid namespace of `writer`. A piped line can come
 * after its process is gone: one that lives goes first.
 */
static int32_t beside_writer(const struct trace *t, const struct process *writer, int32_t pid,
			     uint64_t at_ns)
{
	bool foreign = writer && trace_is_foreign(t, writer), living = false;
	int32_t found = NO_INDEX;

	for (size_t i = 0; i < t->processes.n; i++) {
		const struct process *p = &t->processes.v[i];
		bool lives = p->end_ns == UNKNOWN || p->end_ns >= at_ns;

		if ((foreign ? p->pid_ns != writer->pid_ns || p->ns_pid != pid : p->pid != pid) ||
		    p->start_ns > at_ns || (living && !lives))
			continue;
		if (found == NO_INDEX || lives > living ||
		    p->start_ns >= t->processes.v[found].start_ns)
			found = (int32_t)i;
		living |= lives;
	}
	return found;
}

/*
 * Who hands on what others write may live in another namespace than they: then
 * the one process that calls itself so is meant, if there is only one.
 */
static int32_t in_any_namespace(struct reader *r, int32_t pid, uint64_t at_ns)
{
	const struct trace *t = r->t;
	int32_t found = NO_INDEX;

	for (size_t i = 0; i < t->processes.n; i++) {
		const struct process *p = &t->processes.v[i];

		if (p->ns_pid != pid || p->start_ns > at_ns)
			continue;
		if (found != NO_INDEX) {
			r->ambiguous++;
			return NO_INDEX;
		}
		found = (int32_t)i;
	}
	return found;
}

static int32_t process_of_pid(struct reader *r, const struct log_line *l, int32_t pid)
{
	const struct process *writer =
		l->process == NO_INDEX ? NULL : &r->t->processes.v[l->process];
	int32_t found = beside_writer(r->t, writer, pid, l->at_ns);

	return found == NO_INDEX ? in_any_namespace(r, pid, l->at_ns) : found;
}

/*
 * Takes `(Name pid=N) ` off `*line`; the process is the
 * one that it names, else the one that wrote the line.
 */
static int32_t take_prefix(struct reader *r, const struct log_line *l, char **line)
{
	int from, to;
	int32_t named;

	if (!line_matches("^[ \t]*\\([A-Za-z0-9_.= -]+ pid=([0-9]+)\\) ?", *line, 0, NULL, &to))
		return l->process;
	line_matches("^[ \t]*\\([A-Za-z0-9_.= -]+ pid=([0-9]+)\\) ?", *line, 1, &from, NULL);
	named = process_of_pid(r, l, atoi(*line + from));
	*line += to;
	return named == NO_INDEX ? l->process : named;
}

static void add_span(struct trace *t, const struct line_rule *rule, int32_t process,
		     uint64_t start_ns, uint64_t end_ns)
{
	struct span *s;

	if (process != NO_INDEX && start_ns < t->processes.v[process].start_ns)
		start_ns = t->processes.v[process].start_ns;
	if (end_ns <= start_ns)
		return;
	s = vec_add(&t->spans);
	s->process = process;
	s->item = (uint16_t)rule->item;
	s->container = rule->container;
	s->start_ns = start_ns;
	s->end_ns = end_ns;
	s->name = trace_str(t, rule->key);
}

/* The duration at `s` in ns: "11.4 s", "11 secs", "11.42 seconds", "380 ms"; no unit is seconds. */
static uint64_t duration_ns(const char *s)
{
	char *end;
	double n = strtod(s, &end);

	while (*end == ' ')
		end++;
	if (strncmp(end, "ms", 2) == 0 || strncmp(end, "milli", 5) == 0)
		n /= 1e3;
	else if (strncmp(end, "us", 2) == 0)
		n /= 1e6;
	else if (strncmp(end, "min", 3) == 0)
		n *= 60;
	return n > 0 && n < 1e7 ? (uint64_t)(n * (double)NS_PER_SEC + 0.5) : 0;
}

static struct open_span *find_open(struct reader *r, const struct line_rule *rule, int32_t process)
{
	vec_for_each (o, &r->open)
		if (o->rule && strcmp(o->rule->key, rule->key) == 0 &&
		    (o->process == process || rule->any_process) && o->rule->shape != LINE_BAR)
			return o;
	return NULL;
}

static void read_took(struct reader *r, const struct line_rule *rule, const struct log_line *l,
		      int32_t process, const char *line)
{
	struct open_span *o = find_open(r, rule, process);
	uint64_t ns;
	int from;

	line_matches(rule->pattern, line, rule->group, &from, NULL);
	ns = from < 0 ? 0 : duration_ns(line + from);
	if (o)
		o->rule = NULL;
	if (ns)
		add_span(r->t, rule, process, l->at_ns > ns ? l->at_ns - ns : 0, l->at_ns);
}

/*
 * How long the bar says that it has run: "[01:02<00:10,
 * 3.1it/s]"; in whole seconds, so at most that.
 */
static uint64_t bar_elapsed_ns(const char *line)
{
	const char *s = strrchr(line, '[');
	uint64_t seconds = 0, part = 0;

	for (s = s ? s + 1 : ""; (*s >= '0' && *s <= '9') || *s == ':'; s++) {
		if (*s == ':') {
			seconds = (seconds + part) * 60;
			part = 0;
		} else if (part < 100000) {
			part = part * 10 + (uint64_t)(*s - '0');
		}
	}
	return *s == '<' && seconds + part < 1000000 ? (seconds + part) * NS_PER_SEC : 0;
}

static void read_bar(struct reader *r, const struct line_rule *rule, const struct log_line *l,
		     int32_t process, const char *line)
{
	uint64_t elapsed = bar_elapsed_ns(line),
		 start = l->at_ns > elapsed ? l->at_ns - elapsed : 0;
	struct open_span *bar = NULL;

	vec_for_each (o, &r->open)
		if (o->rule == rule && o->process == process)
			bar = o;
	if (!bar) {
		bar = vec_add(&r->open);
		*bar = (struct open_span){rule, process, start, l->at_ns, false};
	}
	if (bar->complete && strstr(line, "100%"))
		return;
	if (bar->complete)
		*bar = (struct open_span){rule, process, start, l->at_ns, false};
	bar->last_ns = l->at_ns;
	if (start < bar->start_ns)
		bar->start_ns = start;
	if (strstr(line, "100%")) {
		add_span(r->t, rule, process, bar->start_ns, bar->last_ns);
		bar->complete = true;
	}
}

static void read_rule(struct reader *r, const struct line_rule *rule, const struct log_line *l,
		      int32_t process, const char *line)
{
	struct open_span *o;
	int from = 0;

	switch (rule->shape) {
	case LINE_TOOK:
		read_took(r, rule, l, process, line);
		break;
	case LINE_BEGIN:
		if (!find_open(r, rule, process)) {
			o = vec_add(&r->open);
			*o = (struct open_span){rule, process, l->at_ns, l->at_ns, false};
		}
		break;
	case LINE_END:
		while ((o = find_open(r, rule, process))) {
			add_span(r->t, o->rule, o->process, o->start_ns, l->at_ns);
			o->rule = NULL;
		}
		break;
	case LINE_BAR:
		read_bar(r, rule, l, process, line);
		break;
	case LINE_NOTE:
		line_matches(rule->pattern, line, 0, &from, NULL);
		trace_note(r->t, "engine", "info", UNKNOWN, "%s", line + from);
		break;
	}
}

/*
 * A bar that never came to 100 % ends with its last line. A begin without an end is the phase in
 * which a start that failed was; where the server became ready the end was said in words that we do
 * not know, and no length is made up.
 */
static void close_open(struct reader *r)
{
	struct trace *t = r->t;

	vec_for_each (o, &r->open) {
		uint64_t end = t->run.end_ns;

		if (!o->rule || o->complete)
			continue;
		if (o->rule->shape == LINE_BAR) {
			add_span(t, o->rule, o->process, o->start_ns, o->last_ns);
			continue;
		}
		if (t->run.ready_ns != UNKNOWN) {
			trace_note(t, "engine", "warning", UNKNOWN,
				   "the log says that '%s' began, but not when it ended",
				   o->rule->key);
			continue;
		}
		if (o->process != NO_INDEX && t->processes.v[o->process].end_ns < end)
			end = t->processes.v[o->process].end_ns;
		add_span(t, o->rule, o->process, o->start_ns, end);
	}
	vec_free(&r->open);
}

void engine_declare_spans(const struct engine *e, struct trace *t)
{
	struct reader r = {.t = t, .e = e};
	char text[MAX_LINE];

	for (size_t i = 0; i < t->log.n && !r.e; i++) {
		plain_text(t->log.v[i].text, text);
		r.e = engine_of_line(text);
	}
	if (!r.e)
		return;
	t->run.engine = trace_str(t, r.e->name);
	for (size_t i = 0; i < t->log.n; i++) {
		const struct log_line *l = &t->log.v[i];
		char *line = text;
		int32_t process;

		plain_text(l->text, text);
		process = take_prefix(&r, l, &line);
		for (const struct line_rule *rule = r.e->lines; rule->key; rule++)
			if (line_matches(rule->pattern, line, 0, NULL, NULL))
				read_rule(&r, rule, l, process, line);
	}
	close_open(&r);
	if (r.ambiguous)
		trace_note(t, "engine", "warning", r.ambiguous,
			   "log lines name a pid that is ambiguous: several pid namespaces have "
			   "it; they "
			   "are taken as the writer's");
}
