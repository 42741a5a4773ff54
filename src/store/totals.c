/* SPDX-License-Identifier: Apache-2.0 */
/* What reports read instead of single bins and pieces: sums that are made once, when a run is stored. */
#include <stdio.h>

#include "base/str.h"
#include "base/vec.h"
#include "model/model.h"
#include "store/internal.h"

/*
 * Reports read totals: bins of a long start are many. A value that no bin knows stays NULL; total()
 * is exact below 2^53 and does not fail above, as sum() would.
 */
#define TOTAL(column, where)                                                                       \
	" CASE WHEN count(" column ") FILTER (WHERE " where ") THEN CAST(total(" column            \
	") FILTER (WHERE " where ") AS INTEGER) END"

/*
 * Likewise, for what is subtracted from others or compared: the part that
 * is known must not pass for the whole. One bin that does not know makes it NULL.
 */
#define WHOLE(column, where)                                                                       \
	" CASE WHEN count(" column ") = count(*) FILTER (WHERE " where " OR " column               \
	" IS NOT NULL) AND count(" column ") THEN CAST(total(" column ") AS INTEGER) END"

static int put_file_totals(struct store *s, int64_t run, struct err *err)
{
	/* 32 is IO_WRITE. */
	static const char *const sums[] = {
		TOTAL("asked_bytes", "NOT mode & 32"),
		WHOLE("storage_bytes", "mode <> 32"),
		TOTAL("mapped_bytes", "1"),
		TOTAL("asked_bytes", "mode & 32"),
		TOTAL("reads", "1"),
		TOTAL("faults", "1"),
		WHOLE("wait_ns", "mode <> 32"),
	};
	struct str sql = {0};
	int r = store_clear(s, "file_total", run, err);

	if (r < 0)
		return r;
	str_add(&sql, "INSERT INTO file_total SELECT run, file,");
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		str_addf(&sql, "%s,", sums[i]);
	str_addf(&sql,
		 " max(mode & 1) | max(mode & 2) | max(mode & 4) | max(mode & 8) | max(mode & 16) |"
		 " max(mode & 32) FROM file_io WHERE run = %lld AND file IS NOT NULL GROUP BY file",
		 (long long)run);
	r = store_exec(s, str_get(&sql), "write to", err);
	str_free(&sql);
	return r;
}

static bool has_jit(const struct trace *t)
{
	vec_for_each (e, &t->evidence)
		if (e->kind == KIND_COMPILER || e->kind == KIND_COMPILE ||
		    e->kind == KIND_MODULE_LOAD || e->kind == KIND_CACHE_IO)
			return true;
	return false;
}

/* The object is what the evidence names: a module, else its file, else the compiler's command. */
static int put_jit_totals(struct store *s, const struct trace *t, struct err *err)
{
	static const char fmt[] =
		"INSERT INTO jit_total SELECT run, row_number() OVER () - 1, process, kind, "
		"object, first, last,"
		" CAST(work AS INTEGER) FROM (SELECT e.run, e.process, e.kind, coalesce(e.what, "
		"f.path, p.command) AS object,"
		" min(e.start_ns) AS first, max(e.end_ns) AS last, total(e.end_ns - e.start_ns) AS "
		"work"
		" FROM evidence e LEFT JOIN file f ON f.run = e.run AND f.id = e.file"
		" LEFT JOIN process p ON p.run = e.run AND p.id = e.process"
		" WHERE e.run = %lld AND e.kind IN (SELECT id FROM string WHERE text IN"
		" ('compiler', 'compile', 'module_load', 'cache_io')) GROUP BY 2, 3, 4 ORDER BY "
		"first)";
	char sql[sizeof(fmt) + 32];
	int r = store_clear(s, "jit_total", t->run.id, err);

	if (r < 0 || !has_jit(t))
		return r;
	snprintf(sql, sizeof(sql), fmt, (long long)t->run.id);
	return store_exec(s, sql, "write to", err);
}

int store_put_totals(struct store *s, const struct trace *t, struct err *err)
{
	int r = put_file_totals(s, t->run.id, err);

	return r < 0 ? r : put_jit_totals(s, t, err);
}
