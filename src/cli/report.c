/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/look.h"
#include "cli/rows.h"
#include "cli/show_ledger.h"
#include "export/csv.h"
#include "model/model.h"
#include "render/table.h"
#include "store/report.h"

int report_stream_error(struct err *err)
{
	return err_sys(err, errno ? errno : EIO, "cannot write to standard output");
}

static int print(FILE *out, const struct table *t, const char *name, int64_t run, int format,
		 struct err *err)
{
	struct look look = cli_look(out);
	int r;

	errno = 0;
	switch (format) {
	case FORMAT_JSON:
		r = render_json(out, t, name, run);
		break;
	case FORMAT_CSV:
		r = render_csv(out, t, &look);
		break;
	case FORMAT_MARKDOWN:
		r = render_markdown(out, t);
		break;
	default:
		r = render_table(out, t, &look);
	}
	return r < 0 || fflush(out) ? report_stream_error(err) : 0;
}

int report_print(FILE *out, struct store *s, const char *name, int64_t run, int format,
		 struct err *err)
{
	struct table t;
	char *sql;
	int r = report_find(getenv("COLDPROF_REPORTS"), name, &sql, err);

	if (r < 0)
		return r;
	r = rows_of_report(s, name, sql, run, &t, err);
	if (r >= 0) {
		r = print(out, &t, name, run, format, err);
		table_free(&t);
	}
	free(sql);
	return r;
}

/* Members of a JSON object: the comma, the name, the value. */
static void add_name(struct str *b, const char *name)
{
	if (b->n && str_get(b)[b->n - 1] != '{')
		str_add(b, ",");
	str_addf(b, "\"%s\":", name);
}

static void add_u64(struct str *b, const char *name, uint64_t v)
{
	add_name(b, name);
	if (v == UNKNOWN)
		str_add(b, "null");
	else
		str_addf(b, "%" PRIu64, v);
}

static void add_text(struct str *b, const char *name, const char *s)
{
	add_name(b, name);
	if (s)
		str_add_json(b, s);
	else
		str_add(b, "null");
}

static void add_row(struct str *b, const struct ledger_row *r)
{
	str_add(b, "{");
	add_text(b, "item", item_word(r->item));
	add_text(b, "sub", r->sub);
	add_text(b, "evidence", grade_word(r->grade));
	add_u64(b, "wall_ns", r->wall_ns);
	add_u64(b, "work_ns", r->work_ns);
	add_u64(b, "bytes", r->bytes);
	add_name(b, "cause");
	str_add(b, "{");
	add_u64(b, "cpu_ns", r->cpu_ns);
	add_u64(b, "runnable_ns", r->runnable_ns);
	add_u64(b, "io_wait_ns", r->io_wait_ns);
	add_u64(b, "sleep_ns", r->sleep_ns);
	str_add(b, "}}");
}

static int print_json(FILE *out, const struct shown *s, struct err *err)
{
	const struct run *run = &s->trace->run;
	struct str b = {0};
	size_t n;

	str_addf(&b, "{\"schema\":1,\"run\":%" PRId64 ",\"command\":%s", run->id,
		 s->command_json ? s->command_json : "null");
	add_u64(&b, "wall_ns", s->end_ns == UNKNOWN ? UNKNOWN : s->end_ns - run->start_ns);
	add_text(&b, "ready_mark", s->mark);
	add_text(&b, "state", run->state ? run->state : "unknown");
	add_text(&b, "state_files", run->state_files ? run->state_files : "unknown");
	add_text(&b, "state_caches", run->state_caches ? run->state_caches : "unknown");
	add_u64(&b, "tier", run->tier < 0 ? UNKNOWN : (uint64_t)run->tier);
	str_add(&b, ",\"rows\":[");
	for (size_t i = 0; i < s->n_rows; i++) {
		str_add(&b, i ? ",\n" : "\n");
		add_row(&b, &s->rows[i]);
	}
	str_add(&b, "]}\n");
	errno = 0;
	n = fwrite(str_get(&b), 1, b.n, out);
	n -= b.n;
	str_free(&b);
	return n || fflush(out) ? report_stream_error(err) : 0;
}

static int print_csv(FILE *out, const struct shown *s, int format, struct err *err)
{
	struct table t = {0};
	struct run run = s->trace->run;
	int r;

	run.ready_mark = s->mark;
	export_csv_columns(&t);
	export_csv_rows(&t, &run, s->rows, s->n_rows);
	r = print(out, &t, "ledger", run.id, format, err);
	table_free(&t);
	return r;
}

int report_print_ledger(FILE *out, const struct shown *s, int format, struct err *err)
{
	struct look look = cli_look(out);

	switch (format) {
	case FORMAT_JSON:
		return print_json(out, s, err);
	case FORMAT_CSV:
	case FORMAT_MARKDOWN:
		return print_csv(out, s, format, err);
	default:
		errno = 0;
		return show_ledger(out, &look, s) < 0 || fflush(out) ? report_stream_error(err) : 0;
	}
}
