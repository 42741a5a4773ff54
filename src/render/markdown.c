/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "render/table.h"

/* Characters that mean something in a Markdown table are escaped. */
static void add_text(struct str *b, const char *s)
{
	struct str clean = {0};

	text_clean(&clean, s, true);
	for (const char *p = str_get(&clean); *p; p++) {
		if (strchr("\\`*_{}[]<>|~", *p))
			str_add(b, "\\");
		str_addn(b, p, 1);
	}
	str_free(&clean);
}

static void add_cell(struct str *b, const struct cell *c)
{
	if (c->kind == CELL_INT)
		str_addf(b, "%" PRId64, c->i);
	else if (c->kind == CELL_FLOAT)
		str_addf(b, "%.17g", c->f);
	else if (c->kind == CELL_STRING)
		add_text(b, c->s);
}

int render_markdown(FILE *out, const struct table *t)
{
	struct str b = {0};
	int r;

	str_add(&b, "|");
	for (size_t i = 0; i < t->columns.n; i++) {
		str_add(&b, " ");
		add_text(&b, t->columns.v[i].name);
		str_add(&b, " |");
	}
	str_add(&b, "\n|");
	for (size_t i = 0; i < t->columns.n; i++) {
		enum unit u = t->columns.v[i].unit;

		str_add(&b, u == UNIT_TEXT || u == UNIT_TIME ? " --- |" : " ---: |");
	}
	str_add(&b, "\n");
	for (size_t row = 0; row < table_rows(t); row++) {
		str_add(&b, "|");
		for (size_t i = 0; i < t->columns.n; i++) {
			str_add(&b, " ");
			add_cell(&b, table_cell(t, row, i));
			str_add(&b, " |");
		}
		str_add(&b, "\n");
	}
	r = fwrite(str_get(&b), 1, b.n, out) == b.n ? 0 : -errno;
	str_free(&b);
	return r;
}
