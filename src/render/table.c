/* SPDX-License-Identifier: Apache-2.0 */
#include "render/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static const char *const unit_words[] = {"text", "ns", "bytes", "count", "id", "flag", "time"};
const char *const format_words[] = {"table", "json", "csv", "markdown", NULL};

void table_add_column(struct table *t, const char *name, enum unit unit)
{
	vec_push(&t->columns, ((struct column){xstrdup(name), unit}));
}

void table_add_int(struct table *t, int64_t v)
{
	vec_push(&t->cells, ((struct cell){.kind = CELL_INT, .i = v}));
}

void table_add_float(struct table *t, double v)
{
	vec_push(&t->cells, ((struct cell){.kind = CELL_FLOAT, .f = v}));
}

void table_add_text(struct table *t, const char *s)
{
	if (s)
		vec_push(&t->cells, ((struct cell){.kind = CELL_STRING, .s = xstrdup(s)}));
	else
		table_add_unknown(t);
}

void table_add_unknown(struct table *t)
{
	vec_push(&t->cells, ((struct cell){.kind = CELL_UNKNOWN}));
}

size_t table_rows(const struct table *t)
{
	return t->columns.n ? t->cells.n / t->columns.n : 0;
}

const struct cell *table_cell(const struct table *t, size_t row, size_t column)
{
	return &t->cells.v[row * t->columns.n + column];
}

void table_free(struct table *t)
{
	vec_for_each (c, &t->columns)
		free(c->name);
	vec_for_each (c, &t->cells)
		if (c->kind == CELL_STRING)
			free(c->s);
	vec_free(&t->columns);
	vec_free(&t->cells);
}

const char *unit_word(enum unit unit)
{
	return unit_words[unit];
}

enum unit unit_of(const char *word)
{
	for (int i = 0; i < N_UNITS; i++)
		if (strcmp(unit_words[i], word) == 0)
			return i;
	return UNIT_TEXT;
}
