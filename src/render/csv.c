/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 4180: quoted where it must be, CRLF, a header
 * line. Unknown is an empty cell, empty text is "".
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <csv.h>

#include "base/str.h"
#include "render/table.h"

static bool needs_quotes(const char *s)
{
	size_t n = strlen(s);

	return !n || strpbrk(s, ",\"\r\n\t") || s[0] == ' ' || s[n - 1] == ' ';
}

static int put_text(FILE *out, const char *s)
{
	if (needs_quotes(s))
		return csv_fwrite(out, s, strlen(s));
	return fputs(s, out);
}

static int put_cell(FILE *out, const struct cell *c, const struct look *look)
{
	struct str clean = {0};
	int r = 0;

	switch (c->kind) {
	case CELL_INT:
		return fprintf(out, "%" PRId64, c->i);
	case CELL_FLOAT:
		return fprintf(out, "%.17g", c->f);
	case CELL_STRING:
		/* A file gets the bytes as they are; a terminal must not. */
		if (look->tty) {
			text_clean(&clean, c->s, look->utf8);
			r = put_text(out, str_get(&clean));
			str_free(&clean);
			return r;
		}
		return put_text(out, c->s);
	case CELL_UNKNOWN:
		break;
	}
	return r;
}

static int put_header(FILE *out, const struct table *t)
{
	for (size_t i = 0; i < t->columns.n; i++)
		if ((i && fputc(',', out) == EOF) || put_text(out, t->columns.v[i].name) < 0)
			return -errno;
	return fputs("\r\n", out) < 0 ? -errno : 0;
}

static int put_rows(FILE *out, const struct table *t, const struct look *look)
{
	for (size_t row = 0; row < table_rows(t); row++) {
		for (size_t i = 0; i < t->columns.n; i++)
			if ((i && fputc(',', out) == EOF) ||
			    put_cell(out, table_cell(t, row, i), look) < 0)
				return -errno;
		if (fputs("\r\n", out) < 0)
			return -errno;
	}
	return 0;
}

int render_csv(FILE *out, const struct table *t, const struct look *look)
{
	int r = put_header(out, t);

	return r < 0 ? r : put_rows(out, t, look);
}
