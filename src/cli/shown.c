/* SPDX-License-Identifier: Apache-2.0 */
/* Stored ledgers, loaded to be shown. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "attribute/attribute.h"
#include "base/err.h"
#include "base/io.h"
#include "base/vec.h"
#include "cli/look.h"
#include "cli/rows.h"
#include "cli/show_ledger.h"
#include "model/model.h"
#include "store/report.h"
#include "store/store.h"

struct owned {
	struct trace trace;
	struct segment *segments;
	struct ledger_row *rows;
	const char **notes;
};

/* Foreign data that goes into JSON as it is: is it JSON? */
bool shown_json_holds(struct store *s, int64_t run)
{
	struct query *q;
	bool good;

	if (query_open(s, "command", "SELECT json_valid(command_json) FROM run WHERE id = :run",
		       run, &q, NULL) < 0)
		return false;
	good = query_next(q, NULL) > 0 && query_type(q, 0) == SQL_INTEGER &&
	       query_integer(q, 0) == 1;
	query_close(q);
	return good;
}

struct shown shown_of(const struct trace *t, const struct ledger *l, const char *mark)
{
	return (struct shown){
		.trace = t,
		.end_ns = l->end_ns,
		.mark = mark,
		.segments = l->segments.v,
		.n_segments = l->segments.n,
		.rows = l->rows.v,
		.n_rows = l->rows.n,
		.notes = l->notes.v,
		.n_notes = l->notes.n,
	};
}

int shown_load(struct store *s, int64_t run, struct shown *ret, struct err *err)
{
	struct owned *o = xcalloc(1, sizeof(*o));
	struct shown shown = {.trace = &o->trace, .owned = o};
	int r = store_load_run(s, run, &o->trace, err);

	if (r < 0) {
		free(o);
		return r;
	}
	r = store_load_ledger(s, run, &o->trace, &o->segments, &shown.n_segments, &o->rows,
			      &shown.n_rows, err);
	if (r >= 0)
		r = store_load_notes(s, run, &o->trace, &o->notes, &shown.n_notes, err);
	if (r >= 0 && shown_json_holds(s, run))
		shown.command_json = o->trace.run.command_json;
	shown.segments = o->segments;
	shown.rows = o->rows;
	shown.notes = o->notes;
	shown.end_ns = o->trace.run.end_ns;
	shown.mark = o->trace.run.ready_ns == UNKNOWN ? NULL : o->trace.run.ready_mark;
	if (r < 0)
		shown_free(&shown);
	else
		*ret = shown;
	return r;
}

void shown_free(struct shown *s)
{
	struct owned *o = s->owned;

	if (!o)
		return;
	free(o->segments);
	free(o->rows);
	free(o->notes);
	trace_done(&o->trace);
	free(o);
	s->owned = NULL;
}

static int files_of(struct store *s, int64_t run, struct table *ret, struct err *err)
{
	char *sql;
	int r = report_find(NULL, "files", &sql, err);

	if (r < 0)
		return r;
	r = rows_of_report(s, "files", sql, run, ret, err);
	free(sql);
	return r;
}

static int delta_files(FILE *out, const struct look *look, struct store *s, int64_t a, int64_t b,
		       struct err *err)
{
	struct table x, y;
	int r = files_of(s, a, &x, err);

	if (r < 0)
		return r;
	r = files_of(s, b, &y, err);
	if (r >= 0) {
		show_delta_files(out, look, &x, &y);
		table_free(&y);
	}
	table_free(&x);
	return r;
}

static int need_ledger(const struct shown *x, struct err *err)
{
	if (x->end_ns != UNKNOWN)
		return 0;
	err_set(err, ENODATA,
		"run %" PRId64 " was begun and not finished: it has no ledger to compare",
		x->trace->run.id);
	err_hint(err, "coldprof list shows the runs; those that were finished have a wall time");
	return -ENODATA;
}

int show_stored_delta(FILE *out, const struct look *look, struct store *s, int64_t a, int64_t b,
		      struct err *err)
{
	struct shown x, y;
	int r = shown_load(s, a, &x, err);

	if (r < 0)
		return r;
	r = need_ledger(&x, err);
	if (r >= 0)
		r = shown_load(s, b, &y, err);
	if (r >= 0) {
		r = need_ledger(&y, err);
		if (r >= 0)
			r = show_delta(out, look, &x, &y);
		shown_free(&y);
	}
	shown_free(&x);
	if (r >= 0)
		r = show_delta_causes(out, look, s, a, b, err);
	return r < 0 ? r : delta_files(out, look, s, a, b, err);
}

int show_delta_made(const char *db, int64_t a, int64_t b, struct err *err)
{
	struct look look = cli_look(stderr);
	struct store *s;
	char *text = NULL;
	size_t n = 0;
	FILE *out;
	int r = store_open(db, STORE_READ, &s, err);

	if (r < 0)
		return r;
	out = open_memstream(&text, &n);
	if (out) {
		fputc('\n', out);
		r = show_stored_delta(out, &look, s, a, b, err);
		fclose(out);
		io_write_all(STDERR_FILENO, text, n);
	}
	free(text);
	store_close(s);
	return r;
}

void show_made(const struct trace *t, const struct ledger *l)
{
	struct shown shown = shown_of(t, l, t->run.ready_ns == UNKNOWN ? NULL : t->run.ready_mark);
	struct look look = cli_look(stderr);
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return;
	fputc('\n', out);
	show_ledger(out, &look, &shown);
	if (fclose(out) == 0)
		io_write_all(STDERR_FILENO, text, n);
	free(text);
}
