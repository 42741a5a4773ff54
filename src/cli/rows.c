/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rows.h"

#include "base/str.h"
#include "render/table.h"
#include "store/report.h"

static void add_columns(struct table *t, const struct query *q, const char *sql)
{
	for (size_t i = 0; i < query_columns(q); i++) {
		struct str unit = {0};

		report_unit(sql, query_name(q, i), &unit);
		table_add_column(t, query_name(q, i), unit_of(str_get(&unit)));
		str_free(&unit);
	}
}

static void add_row(struct table *t, const struct query *q)
{
	for (size_t i = 0; i < query_columns(q); i++)
		switch (query_type(q, i)) {
		case SQL_NULL:
			table_add_unknown(t);
			break;
		case SQL_INTEGER:
			table_add_int(t, query_integer(q, i));
			break;
		case SQL_REAL:
			table_add_float(t, query_real(q, i));
			break;
		case SQL_TEXT:
			table_add_text(t, query_text(q, i));
			break;
		}
}

int rows_of_report(struct store *s, const char *name, const char *sql, int64_t run,
		   struct table *ret_table, struct err *err)
{
	struct table t = {0};
	struct query *q;
	int r = query_open(s, name, sql, run, &q, err);

	if (r < 0)
		return r;
	add_columns(&t, q, sql);
	while ((r = query_next(q, err)) > 0)
		add_row(&t, q);
	query_close(q);
	if (r < 0) {
		table_free(&t);
		return r;
	}
	*ret_table = t;
	return 0;
}
