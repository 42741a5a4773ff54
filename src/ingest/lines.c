/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: progress bars split at \r, put in order,
 * repeats folded and secrets masked once their spans are known.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mask.h"
#include "base/str.h"
#include "ingest/inside.h"

/* A line that came this often, numbers aside, is kept once at its first and once at its last. */
#define REPEATS_KEPT 4
#define LINES_MAX    20000

/* Lines of one moment stay in the order in which they came. */
struct placed {
	struct log_line line;
	size_t at;
};

static int by_time(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->line.at_ns != y->line.at_ns)
		return x->line.at_ns < y->line.at_ns ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static void sort_lines(struct trace *t)
{
	struct placed *v = xcalloc(t->log.n, sizeof(*v));

	for (size_t i = 0; i < t->log.n; i++)
		v[i] = (struct placed){t->log.v[i], i};
	qsort(v, t->log.n, sizeof(*v), by_time);
	for (size_t i = 0; i < t->log.n; i++)
		t->log.v[i] = v[i].line;
	free(v);
}

void lines_split(struct ingest *in)
{
	struct trace *t = in->t;
	VEC(struct log_line) out = {0};

	vec_for_each (l, &t->log) {
		const char *s = l->text;

		if (!s)
			continue;
		while (*s) {
			size_t n = strcspn(s, "\r\n");
			struct log_line part = *l;

			if (n) {
				part.text = trace_strn(t, s, n);
				vec_push(&out, part);
			}
			s += n;
			s += strspn(s, "\r\n");
		}
	}
	vec_free(&t->log);
	t->log.v = out.v;
	t->log.n = out.n;
	t->log.cap = out.cap;
	sort_lines(t);
}

/* A line's shape: numbers, bars and times of day become one letter each. */
struct shape {
	UT_hash_handle hh;
	uint64_t count, seen, last;
	char key[];
};

static size_t shape_key(const struct log_line *l, char *key, size_t size)
{
	size_t n = 0;

	memcpy(key, &l->process, sizeof(l->process));
	memcpy(key + 4, &l->fd, sizeof(l->fd));
	n = 8;
	for (const char *s = l->text; *s && n + 1 < size; s++) {
		unsigned char c = (unsigned char)*s;

		if (isdigit(c) || c == '#' || c >= 0x80 || c == '.' || c == ':' || c == '?')
			c = '0';
		if ((c == '0' || c == ' ') && n > 8 && (key[n - 1] == '0' || key[n - 1] == ' '))
			continue;
		key[n++] = (char)c;
	}
	return n;
}

static struct shape *find_shape(struct shape **set, const struct log_line *l)
{
	char key[512];
	size_t n = shape_key(l, key, sizeof(key));
	struct shape *s;

	HASH_FIND(hh, *set, key, n, s);
	if (!s) {
		s = xcalloc(1, sizeof(*s) + n);
		memcpy(s->key, key, n);
		HASH_ADD_KEYPTR(hh, *set, s->key, n, s);
	}
	return s;
}

/* A server may tell its arguments, and with them its keys. Spans are taken from the line as it was. */
static void mask_line(struct trace *t, struct log_line *l)
{
	struct str masked = {0};

	mask_text(l->text, &masked);
	if (strcmp(str_get(&masked), l->text))
		l->text = trace_str(t, str_get(&masked));
	str_free(&masked);
}

void lines_fold(struct ingest *in)
{
	struct trace *t = in->t;
	struct shape *set = NULL, *s, *next;
	uint64_t folded = 0, cut = 0;
	size_t n = 0;

	vec_for_each (l, &t->log)
		find_shape(&set, l)->count++;
	for (size_t i = 0; i < t->log.n; i++) {
		s = find_shape(&set, &t->log.v[i]);
		s->seen++;
		if (s->count > REPEATS_KEPT && s->seen > 1 && s->seen < s->count)
			folded++;
		else if (n >= LINES_MAX)
			cut++;
		else
			t->log.v[n++] = t->log.v[i];
	}
	t->log.n = n;
	vec_for_each (l, &t->log)
		mask_line(t, l);
	HASH_ITER (hh, set, s, next) {
		HASH_DEL(set, s);
		free(s);
	}
	if (folded)
		trace_note(
			t, "ingest", "info", folded,
			"log lines repeat others but for their numbers: first and last are kept");
	if (cut)
		trace_note(t, "ingest", "loss", cut, "log lines beyond the first %d are not kept",
			   LINES_MAX);
}

/*
 * Without kernel probes lines are seen by the shim alone: in a write of the guest's own, but not
 * inside C's stdio. What an engine declares in its log may then be missing without a trace.
 */
void lines_unseen(struct ingest *in)
{
	struct trace *t = in->t;

	if (t->saw & SAW_LOG)
		return;
	if (!in->images.n)
		trace_note(t, "ingest", "warning", UNKNOWN,
			   "log lines are not seen, neither by kernel probes nor from within: what "
			   "the log declares is missing");
	else if (!t->log.n)
		trace_note(
			t, "ingest", in->opt->engine ? "warning" : "info", UNKNOWN,
			"no log line was seen; without kernel probes those that C's stdio writes "
			"are not");
}
