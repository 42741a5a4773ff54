/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/mark.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

static int bad(const char *text, struct err *err, const char *why)
{
	err_set(err, EINVAL, "'%s' is not a mark: %s", text, why);
	err_hint(err, "http[:PORT][/PATH], port[:PORT], log:REGEX, file:PATH or exit");
	return -EINVAL;
}

/* ":PORT" when it is there. Returns: what stands behind it, NULL for a bad port. */
static const char *take_port(const char *s, uint16_t *ret_port)
{
	char *end;
	long port;

	if (*s != ':')
		return s;
	if (s[1] < '0' || s[1] > '9')
		return NULL;
	port = strtol(s + 1, &end, 10);
	if (port < 1 || port > 65535)
		return NULL;
	*ret_port = (uint16_t)port;
	return end;
}

static int parse_log(const char *text, struct mark_spec *m, struct err *err)
{
	char why[160];
	int rc;

	if (!text[4])
		return bad(text, err, "the expression is empty");
	rc = regcomp(&m->regex, text + 4, REG_EXTENDED | REG_NOSUB);
	if (!rc)
		return 0;
	regerror(rc, &m->regex, why, sizeof(why));
	return bad(text, err, why);
}

int mark_parse(const char *text, struct mark_spec *ret_mark, struct err *err)
{
	struct mark_spec m = {0};
	const char *rest;
	int rc;

	if (!text) {
		*ret_mark = m;
		return 0;
	}
	if (str_starts(text, "http") && strchr(":/", text[4])) {
		m.kind = MARK_HTTP;
		rest = take_port(text + 4, &m.port);
		if (!rest)
			return bad(text, err, "the port is a number from 1 to 65535");
		if (*rest && *rest != '/')
			return bad(text, err, "a path begins with /");
		m.path = *rest ? xstrdup(rest) : NULL;
	} else if (str_starts(text, "port") && strchr(":", text[4])) {
		m.kind = MARK_PORT;
		rest = take_port(text + 4, &m.port);
		if (!rest || *rest)
			return bad(text, err, "the port is a number from 1 to 65535");
	} else if (str_starts(text, "log:")) {
		m.kind = MARK_LOG;
		rc = parse_log(text, &m, err);
		if (rc)
			return rc;
	} else if (str_starts(text, "file:")) {
		m.kind = MARK_FILE;
		if (!text[5])
			return bad(text, err, "the path is empty");
		m.path = xstrdup(text + 5);
	} else if (!strcmp(text, "exit")) {
		m.kind = MARK_EXIT;
	} else {
		return bad(text, err, "it begins with no known word");
	}
	m.text = xstrdup(text);
	*ret_mark = m;
	return 0;
}

void mark_done(struct mark_spec *m)
{
	if (m->kind == MARK_LOG)
		regfree(&m->regex);
	free(m->path);
	free(m->text);
	*m = (struct mark_spec){0};
}
