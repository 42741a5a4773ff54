/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports: one SELECT each, with a header of comments that
 * says what it answers. They are compiled in from reports/.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct store;
struct str;

struct report {
	const char *name, *sql;
};

/* All that are compiled in, by name; ends with a NULL name. */
extern const struct report store_reports[];

/*
 * The text of a report: DIR/NAME.sql when `dir` is not NULL and the file is there, else the
 * compiled-in one. Owns: the caller frees *ret_sql. Returns: 0; -ENOENT with the names that there
 * are; -errno of the file.
 */
int report_find(const char *dir, const char *name, char **ret_sql, struct err *err);
/*
 * The unit of a column, from the header line `-- column NAME
 * UNIT: meaning`; "text" when there is none. Appends to `ret`.
 */
void report_unit(const char *sql, const char *column, struct str *ret);

/* A running report. */
struct query;

enum sql_type { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT };

/*
 * Start one statement, with `:run` bound; `name` is what an error calls it. Read-only;
 * a text with more than one statement is refused. Returns: 0, or -EINVAL with `err`.
 */
int query_open(struct store *s, const char *name, const char *sql, int64_t run,
	       struct query **ret_query, struct err *err);
size_t query_columns(const struct query *q);
const char *query_name(const struct query *q, size_t column);
/* Returns: 1 with a row, 0 at the end, -errno. */
int query_next(struct query *q, struct err *err);
enum sql_type query_type(const struct query *q, size_t column);
int64_t query_integer(const struct query *q, size_t column);
double query_real(const struct query *q, size_t column);
/* Borrowed until the next row; the bytes as stored, which need not be UTF-8. */
const char *query_text(const struct query *q, size_t column);
void query_close(struct query *q);
