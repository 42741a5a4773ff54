/* SPDX-License-Identifier: Apache-2.0 */
#include "store/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/internal.h"

#define REPORT_MAX_BYTES (1 << 20)

struct query {
	struct store *s;
	sqlite3_stmt *stmt;
};

static int from_folder(const char *dir, const char *name, char **ret_sql, struct err *err)
{
	struct str path = {0};
	ssize_t n;

	str_addf(&path, "%s/%s.sql", dir, name);
	n = io_read_file(str_get(&path), REPORT_MAX_BYTES, ret_sql);
	if (n < 0 && n != -ENOENT) {
		err_sys(err, (int)-n, "cannot read report '%s'", str_get(&path));
		err_hint(err, "COLDPROF_REPORTS names its folder; without it the built-in reports "
			      "are shown");
	}
	str_free(&path);
	return n < 0 ? (int)n : 0;
}

static int no_such_report(const char *name, struct err *err)
{
	struct str names = {0};

	for (const struct report *r = store_reports; r->name; r++)
		str_addf(&names, " %s", r->name);
	err_set(err, ENOENT, "there is no report '%s'", name);
	err_hint(err, "there are:%s; COLDPROF_REPORTS=DIR adds NAME.sql files", str_get(&names));
	str_free(&names);
	return -ENOENT;
}

int report_find(const char *dir, const char *name, char **ret_sql, struct err *err)
{
	if (dir && *dir && !strchr(name, '/')) {
		int r = from_folder(dir, name, ret_sql, err);

		if (r != -ENOENT)
			return r;
	}
	for (const struct report *r = store_reports; r->name; r++)
		if (strcmp(r->name, name) == 0) {
			*ret_sql = xstrdup(r->sql);
			return 0;
		}
	return no_such_report(name, err);
}

/* The rest of the header line that begins with `-- KEY`, up to its end; NULL when there is none. */
static const char *header_line(const char *sql, const char *key, size_t *ret_n)
{
	size_t n = strlen(key);

	for (const char *p = sql; p && str_starts(p, "--");
	     p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
		const char *text = p + 2;

		while (*text == ' ')
			text++;
		if (strncmp(text, key, n) == 0) {
			*ret_n = strcspn(text + n, "\n");
			return text + n;
		}
	}
	return NULL;
}

void report_unit(const char *sql, const char *column, struct str *ret)
{
	struct str key = {0};
	size_t n = 0;
	const char *p;

	str_addf(&key, "column %s ", column);
	p = header_line(sql, str_get(&key), &n);
	str_free(&key);
	if (p)
		str_addn(ret, p, strcspn(p, ":\n"));
	else
		str_add(ret, "text");
}

static int refuse_more(struct query *q, const char *name, const char *tail, struct err *err)
{
	sqlite3_stmt *more = NULL;
	int rc = sqlite3_prepare_v2(q->s->db, tail, -1, &more, NULL);

	sqlite3_finalize(more);
	if (rc == SQLITE_OK && !more)
		return 0;
	return err_set(err, EINVAL, "report '%s' is refused: it goes on behind its statement",
		       name);
}

int query_open(struct store *s, const char *name, const char *sql, int64_t run,
	       struct query **ret_query, struct err *err)
{
	struct query *q = xcalloc(1, sizeof(*q));
	const char *tail = "";
	int i, r = 0;

	q->s = s;
	if (sqlite3_prepare_v2(s->db, sql, -1, &q->stmt, &tail) != SQLITE_OK)
		r = err_set(err, EINVAL, "report '%s' is refused: %s", name, sqlite3_errmsg(s->db));
	else if (!q->stmt || !sqlite3_column_count(q->stmt))
		r = err_set(err, EINVAL, "report '%s' is refused: it holds no SELECT", name);
	else if (!sqlite3_stmt_readonly(q->stmt))
		r = err_set(err, EINVAL, "report '%s' is refused: it would write to the database",
			    name);
	else
		r = refuse_more(q, name, tail, err);
	if (r < 0) {
		err_hint(err, "a report is one SELECT of what coldprof-trace(5) tells, with :run "
			      "for the run");
		query_close(q);
		return r;
	}
	i = sqlite3_bind_parameter_index(q->stmt, ":run");
	if (i)
		sqlite3_bind_int64(q->stmt, i, run);
	*ret_query = q;
	return 0;
}

size_t query_columns(const struct query *q)
{
	return (size_t)sqlite3_column_count(q->stmt);
}

const char *query_name(const struct query *q, size_t column)
{
	return sqlite3_column_name(q->stmt, (int)column);
}

int query_next(struct query *q, struct err *err)
{
	int rc = sqlite3_step(q->stmt);

	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : store_error(q->s, err, "read");
}

enum sql_type query_type(const struct query *q, size_t column)
{
	switch (sqlite3_column_type(q->stmt, (int)column)) {
	case SQLITE_NULL:
		return SQL_NULL;
	case SQLITE_INTEGER:
		return SQL_INTEGER;
	case SQLITE_FLOAT:
		return SQL_REAL;
	default:
		return SQL_TEXT;
	}
}

int64_t query_integer(const struct query *q, size_t column)
{
	return sqlite3_column_int64(q->stmt, (int)column);
}

double query_real(const struct query *q, size_t column)
{
	return sqlite3_column_double(q->stmt, (int)column);
}

const char *query_text(const struct query *q, size_t column)
{
	return (const char *)sqlite3_column_text(q->stmt, (int)column);
}

void query_close(struct query *q)
{
	if (!q)
		return;
	sqlite3_finalize(q->stmt);
	free(q);
}
