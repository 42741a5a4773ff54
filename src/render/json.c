/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/str.h"
#include "render/table.h"

/* Unknown is null. */
static void cell_json(struct str *b, const struct cell *c)
{
	switch (c->kind) {
	case CELL_INT:
		str_addf(b, "%" PRId64, c->i);
		break;
	case CELL_FLOAT:
		if (isfinite(c->f))
			str_addf(b, "%.17g", c->f);
		else
			str_add(b, "null");
		break;
	case CELL_STRING:
		str_add_json(b, c->s);
		break;
	case CELL_UNKNOWN:
		str_add(b, "null");
		break;
	}
}

static int flush(FILE *out, struct str *b)
{
	size_t n = b->n, done = fwrite(str_get(b), 1, n, out);

	str_clear(b);
	return done == n ? 0 : -errno;
}

int render_json(FILE *out, const struct table *t, const char *name, int64_t run)
{
	struct str b = {0};
	int r = 0;

	str_add(&b, "{\"schema\":1,\"report\":");
	str_add_json(&b, name);
	if (run >= 0)
		str_addf(&b, ",\"run\":%" PRId64, run);
	else
		str_add(&b, ",\"run\":null");
	str_add(&b, ",\"columns\":[");
	for (size_t i = 0; i < t->columns.n; i++) {
		str_add(&b, i ? ",{\"name\":" : "{\"name\":");
		str_add_json(&b, t->columns.v[i].name);
		str_addf(&b, ",\"unit\":\"%s\"}", unit_word(t->columns.v[i].unit));
	}
	str_add(&b, "],\"rows\":[");
	for (size_t row = 0; r >= 0 && row < table_rows(t); row++) {
		str_add(&b, row ? ",\n{" : "\n{");
		for (size_t i = 0; i < t->columns.n; i++) {
			str_add(&b, i ? "," : "");
			str_add_json(&b, t->columns.v[i].name);
			str_add(&b, ":");
			cell_json(&b, table_cell(t, row, i));
		}
		str_add(&b, "}");
		r = flush(out, &b);
	}
	str_add(&b, "]}\n");
	if (r >= 0)
		r = flush(out, &b);
	str_free(&b);
	return r;
}
