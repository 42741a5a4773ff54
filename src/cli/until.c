/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/until.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "launch/mark.h"
#include "model/model.h"

struct found {
	uint64_t at_ns; /* UNKNOWN: not yet */
	const char *mark;
};

/* The earliest one counts. */
static void keep(struct found *f, uint64_t at_ns, const char *mark)
{
	if (at_ns == UNKNOWN || (f->at_ns != UNKNOWN && f->at_ns <= at_ns))
		return;
	f->at_ns = at_ns;
	f->mark = mark;
}

/* PORT and PATH of "http:PORT/PATH"; 0 for another mark. */
static unsigned http_parts(const char *mark, const char **ret_path)
{
	char *end;
	unsigned long port;

	if (!mark || !str_starts(mark, "http:"))
		return 0;
	port = strtoul(mark + 5, &end, 10);
	*ret_path = end;
	return port <= 65535 ? (unsigned)port : 0;
}

static void find_http(const struct trace *t, const struct mark_spec *m, struct found *f)
{
	const char *path;

	vec_for_each (x, &t->marks) {
		unsigned port = http_parts(x->name, &path);

		if (port && (!m->port || m->port == port) &&
		    (!m->path || strcmp(m->path, path) == 0))
			keep(f, x->at_ns, x->name);
	}
}

/* The port of the server's own: the one that answered HTTP; 0 not known. */
static unsigned own_port(const struct trace *t)
{
	const char *path;
	unsigned port = http_parts(t->run.ready_mark, &path);

	vec_for_each (x, &t->marks)
		if (!port)
			port = http_parts(x->name, &path);
	if (!port && t->run.ready_mark && str_starts(t->run.ready_mark, "port:"))
		port = (unsigned)strtoul(t->run.ready_mark + 5, NULL, 10);
	return port;
}

static void find_port(struct trace *t, const struct mark_spec *m, struct found *f)
{
	unsigned port = m->port ? m->port : own_port(t);

	vec_for_each (x, &t->listeners)
		if (!port || x->port == port)
			keep(f, x->at_ns, trace_strf(t, "port:%u", x->port));
	vec_for_each (x, &t->marks)
		if (x->name && str_starts(x->name, "port:") &&
		    (!port || strtoul(x->name + 5, NULL, 10) == port))
			keep(f, x->at_ns, x->name);
}

static void find_exit(const struct trace *t, struct found *f)
{
	if (t->processes.n && t->processes.v[0].end_ns != UNKNOWN)
		keep(f, t->processes.v[0].end_ns, "exit");
	else if (t->run.ending &&
		 (strcmp(t->run.ending, "exit") == 0 || strcmp(t->run.ending, "signal") == 0))
		keep(f, t->run.end_ns, "exit");
}

/* Is it one of the words of the list? Each begins with a blank. */
static bool is_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word)) {
		if (at[n] == ' ' || !at[n])
			return true;
	}
	return false;
}

static int not_reached(const struct trace *t, const char *text, struct err *err)
{
	struct str known = {0};

	vec_for_each (x, &t->marks)
		str_addf(&known, " %s", x->name ? x->name : "");
	vec_for_each (x, &t->listeners) {
		struct str port = {0};

		str_addf(&port, " port:%u", x->port);
		if (!is_word(str_get(&known), str_get(&port)))
			str_add(&known, str_get(&port));
		str_free(&port);
	}
	err_set(err, ENOENT, "run %lld has not kept that it reached '%s'", (long long)t->run.id,
		text);
	if (known.n)
		err_hint(err, "it has%s", str_get(&known));
	str_free(&known);
	return -ENOENT;
}

int until_find(struct trace *t, const char *text, uint64_t *ret_at_ns, const char **ret_mark,
	       struct err *err)
{
	struct found f = {UNKNOWN, NULL};
	struct mark_spec m;
	int r = mark_parse(text, &m, err);

	if (r < 0)
		return r;
	vec_for_each (x, &t->marks)
		if (x->name && strcmp(x->name, text) == 0)
			keep(&f, x->at_ns, x->name);
	switch (m.kind) {
	case MARK_HTTP:
		find_http(t, &m, &f);
		break;
	case MARK_PORT:
		find_port(t, &m, &f);
		break;
	case MARK_LOG:
		vec_for_each (x, &t->log)
			if (x->text && regexec(&m.regex, x->text, 0, NULL, 0) == 0)
				keep(&f, x->at_ns, m.text);
		break;
	case MARK_EXIT:
		find_exit(t, &f);
		break;
	case MARK_FILE: /* only the stored mark can tell when */
	case MARK_DEFAULT:
		break;
	}
	if (f.at_ns == UNKNOWN) {
		r = not_reached(t, text, err);
	} else {
		*ret_at_ns = f.at_ns;
		*ret_mark = trace_str(t, f.mark);
	}
	mark_done(&m);
	return r;
}
