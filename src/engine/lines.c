/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines → declared spans. A line that no pattern knows is left as it is. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "engine/adapter.h"

#define MAX_LINE 2048
/* A stamp has whole seconds, and a line takes its time. */
#define LATE_NS (2 * NS_PER_SEC)

/* A begin, or a bar, that is not over yet. */
struct open_span {
	const struct line_rule *rule;
	int32_t process;
	uint64_t start_ns, last_ns;
	bool complete; /* a bar that came to 100 %; it may say so more than once */
};

/* Lines that were kept back: a pipe is written when a block is full, a wrapper prints at its end. */
struct late {
	uint64_t lines, most_ns; /* that tell their own time, and by how much at most */
	uint64_t together;	 /* that do not, and came with another in one write */
	/* The last line that marks a span: what came with it. */
	int32_t process;
	uint64_t at_ns, by_ns;
	bool any;
	bool zone; /* lines tell the time of another zone */
};

struct reader {
	struct trace *t;
	struct late late;
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

/* The wall clock that the line itself tells, to the second; 0: it does not. */
static uint64_t stamp_of(const struct reader *r, uint64_t wall_ns, const char *line)
{
	time_t now = (time_t)(wall_ns / NS_PER_SEC), then;
	struct tm tm;
	int part[5], from;

	if (!r->e->stamp || !localtime_r(&now, &tm))
		return 0;
	for (int i = 0; i < 5; i++) {
		if (!line_matches(r->e->stamp, line, i + 1, &from, NULL))
			return 0;
		part[i] = atoi(line + from);
	}
	tm.tm_mon = part[0] - 1, tm.tm_mday = part[1];
	tm.tm_hour = part[2], tm.tm_min = part[3], tm.tm_sec = part[4];
	tm.tm_isdst = -1;
	then = mktime(&tm);
	return then > 0 ? (uint64_t)then * NS_PER_SEC : 0;
}

/*
 * By how much the line came after it was made. A clock of another zone tells a time that is not in
 * the run: then nothing is known, as without a stamp; nor later, when the run is as long as the
 * zone is away.
 */
static uint64_t late_by(struct reader *r, const struct log_line *l, const char *line)
{
	const struct run *run = &r->t->run;
	uint64_t wall_ns = run->wall_anchor_ns + l->at_ns - run->mono_anchor_ns, then_ns;

	then_ns = run->wall_anchor_ns && !r->late.zone ? stamp_of(r, wall_ns, line) : 0;
	if (!then_ns)
		return 0;
	r->late.zone = then_ns > wall_ns + NS_PER_SEC ||
		       then_ns + l->at_ns - run->start_ns + NS_PER_SEC < wall_ns;
	if (r->late.zone || then_ns + LATE_NS > wall_ns)
		return 0;
	return wall_ns - then_ns - NS_PER_SEC; /* somewhere in that second */
}

/* The line's own time, where it came late. What came with it has no better. */
static uint64_t time_of(struct reader *r, const struct log_line *l, const char *line)
{
	uint64_t by_ns = late_by(r, l, line);

	if (!by_ns && r->late.any && r->late.process == l->process && r->late.at_ns == l->at_ns)
		by_ns = r->late.by_ns;
	if (by_ns) {
		r->late.lines++;
		r->late.most_ns = by_ns > r->late.most_ns ? by_ns : r->late.most_ns;
	}
	return l->at_ns - by_ns;
}

/* A line that marks a span. */
static void mark_late(struct reader *r, const struct log_line *l, uint64_t at_ns)
{
	struct late *late = &r->late;

	if (late->any && late->process == l->process && late->at_ns == l->at_ns &&
	    at_ns == l->at_ns)
		late->together++;
	late->any = true;
	late->process = l->process;
	late->at_ns = l->at_ns;
	late->by_ns = l->at_ns - at_ns;
}

static void tell_late(const struct reader *r)
{
	if (r->late.lines)
		trace_note(r->t, "engine", "warning", r->late.lines,
			   "log lines came up to %.0f s after they were made: their own times are "
			   "taken, to the second",
			   (double)r->late.most_ns / 1e9);
	if (r->late.together)
		trace_note(r->t, "engine", "warning", r->late.together,
			   "log lines came together with others: their output was kept back, and "
			   "when they were made is not known");
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
		struct log_line l = t->log.v[i];
		char *line = text;
		int32_t process;
		bool marks = false;

		plain_text(l.text, text);
		process = take_prefix(&r, &l, &line);
		l.at_ns = time_of(&r, &t->log.v[i], line);
		for (const struct line_rule *rule = r.e->lines; rule->key; rule++) {
			if (!line_matches(rule->pattern, line, 0, NULL, NULL))
				continue;
			marks |= rule->shape == LINE_TOOK || rule->shape == LINE_BEGIN ||
				 rule->shape == LINE_END;
			read_rule(&r, rule, &l, process, line);
		}
		if (marks)
			mark_late(&r, &t->log.v[i], l.at_ns);
	}
	close_open(&r);
	tell_late(&r);
	if (r.ambiguous)
		trace_note(t, "engine", "warning", r.ambiguous,
			   "log lines name a pid that is ambiguous: several pid namespaces have "
			   "it; they "
			   "are taken as the writer's");
}
