/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: rows → structs of the model, by the field lists of layout.c. */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/model.h"
#include "store/internal.h"

struct reader {
	struct store *s;
	struct err *err;
	struct trace *t; /* owner of the strings */
	sqlite3_stmt *text;
	VEC(const char *) known; /* by id */
};

static int reader_init(struct reader *rd, struct store *s, struct trace *t, struct err *err)
{
	*rd = (struct reader){.s = s, .err = err, .t = t};
	return store_prepare(s, "SELECT text FROM string WHERE id = ?", &rd->text, err);
}

static void reader_done(struct reader *rd)
{
	sqlite3_finalize(rd->text);
	vec_free(&rd->known);
}

/* Strings have small dense ids: an array is the cache. NULL when the file is damaged. */
static const char *text_of(struct reader *rd, int64_t id)
{
	const char *s = NULL;

	if (id > 0 && (size_t)id < rd->known.n && rd->known.v[id])
		return rd->known.v[id];
	sqlite3_bind_int64(rd->text, 1, id);
	if (sqlite3_step(rd->text) == SQLITE_ROW)
		s = trace_str(rd->t, (const char *)sqlite3_column_text(rd->text, 0));
	sqlite3_reset(rd->text);
	if (s && id > 0 && id < (1 << 24)) {
		while (rd->known.n <= (size_t)id)
			vec_push(&rd->known, NULL);
		rd->known.v[id] = s;
	}
	return s;
}

static uint64_t column_u64(sqlite3_stmt *q, int i)
{
	return sqlite3_column_type(q, i) == SQLITE_NULL ? UNKNOWN
							: (uint64_t)sqlite3_column_int64(q, i);
}

static int32_t column_i32(sqlite3_stmt *q, int i, int32_t null)
{
	return sqlite3_column_type(q, i) == SQLITE_NULL ? null : sqlite3_column_int(q, i);
}

/* The number of a word, looked up by `of`; -EINVAL for a word that this coldprof does not know. */
static int word_value(struct reader *rd, sqlite3_stmt *q, int i, int (*of)(const char *word))
{
	const char *word = text_of(rd, sqlite3_column_int64(q, i));
	int v = word ? of(word) : -1;

	if (v < 0) {
		err_set(rd->err, EINVAL,
			"database '%s' holds the word '%s', which this coldprof does not know",
			rd->s->path, word ? word : "(none)");
		err_hint(rd->err, "coldprof list shows the other runs");
	}
	return v < 0 ? -EINVAL : v;
}

static int read_word(struct reader *rd, sqlite3_stmt *q, int i, const struct field *f, void *p)
{
	int v = word_value(rd, q, i,
			   f->type == F_KIND	 ? kind_of
			   : f->type == F_SOURCE ? source_of
			   : f->type == F_ROLE	 ? role_of
						 : file_class_of);

	if (v < 0)
		return v;
	if (f->type == F_KIND || f->type == F_SOURCE)
		*(uint16_t *)p = (uint16_t)v;
	else
		*(uint8_t *)p = (uint8_t)v;
	return 0;
}

static int read_field(struct reader *rd, sqlite3_stmt *q, int i, const struct field *f,
		      char *element)
{
	void *p = element + f->offset;

	switch (f->type) {
	case F_U64:
		*(uint64_t *)p = column_u64(q, i);
		return 0;
	case F_PROCESS:
	case F_FILE:
		*(int32_t *)p = column_i32(q, i, NO_INDEX);
		return 0;
	case F_STATUS:
		*(int32_t *)p = column_i32(q, i, -1);
		return 0;
	case F_NUMBER:
		*(int32_t *)p = column_i32(q, i, 0);
		return 0;
	case F_I32:
		*(int32_t *)p = sqlite3_column_int(q, i);
		return 0;
	case F_U16:
	case F_ITEM:
	case F_GRADE:
		*(uint16_t *)p = (uint16_t)sqlite3_column_int(q, i);
		return 0;
	case F_U8:
		*(uint8_t *)p = (uint8_t)sqlite3_column_int(q, i);
		return 0;
	case F_BOOL:
		*(bool *)p = sqlite3_column_int(q, i) != 0;
		return 0;
	case F_OWN:
		*(const char **)p = trace_str(rd->t, (const char *)sqlite3_column_text(q, i));
		return 0;
	case F_STR:
	case F_TEXT:
		*(const char **)p = sqlite3_column_type(q, i) == SQLITE_NULL
					    ? NULL
					    : text_of(rd, sqlite3_column_int64(q, i));
		return 0;
	case F_KIND:
	case F_SOURCE:
	case F_ROLE:
	case F_CLASS:
		return read_word(rd, q, i, f, p);
	}
	return -EINVAL;
}

/* The rows of a run, which `key` names. */
static int prepare_select(struct store *s, const struct layout *l, const char *key, int64_t run,
			  sqlite3_stmt **ret_stmt, struct err *err)
{
	struct str sql = {0};
	int r;

	str_add(&sql, "SELECT ");
	for (size_t i = 0; i < l->n_fields; i++)
		str_addf(&sql, "%s%s", i ? ", " : "", l->fields[i].column);
	str_addf(&sql, " FROM %s WHERE %s = %lld ORDER BY id", l->table, key, (long long)run);
	r = store_prepare(s, str_get(&sql), ret_stmt, err);
	str_free(&sql);
	return r;
}

/* Whether the field of an element names what is there. Other fields always do. */
static bool names_something(const struct trace *t, const struct field *f, const char *element)
{
	const void *p = element + f->offset;

	switch (f->type) {
	case F_PROCESS:
		return *(const int32_t *)p >= NO_INDEX &&
		       *(const int32_t *)p < (int64_t)t->processes.n;
	case F_FILE:
		return *(const int32_t *)p >= NO_INDEX && *(const int32_t *)p < (int64_t)t->files.n;
	case F_ITEM:
		return *(const uint16_t *)p < ITEM_COUNT;
	case F_GRADE:
		return *(const uint16_t *)p < GRADE_COUNT;
	case F_TEXT:
		return *(const char *const *)p != NULL;
	default:
		return true;
	}
}

/* What reads a trace goes by its indices: those of a damaged or foreign file end here. */
static int check_rows(struct reader *rd, const struct layout *l, int64_t run,
		      const struct any_vec *v)
{
	for (size_t i = 0; i < v->n; i++)
		for (size_t j = 0; j < l->n_fields; j++) {
			const struct field *f = &l->fields[j];

			if (names_something(rd->t, f, (const char *)v->v + i * l->size))
				continue;
			err_set(rd->err, EINVAL,
				"database '%s' is damaged: in run %lld a %s of the table %s names "
				"what is not there",
				rd->s->path, (long long)run, f->column, l->table);
			err_hint(rd->err, "coldprof list shows the other runs; sqlite3 FILE "
					  "'PRAGMA integrity_check' tells more");
			return -EINVAL;
		}
	return 0;
}

static int load_rows(struct reader *rd, const struct layout *l, int64_t run, struct any_vec *v)
{
	sqlite3_stmt *q;
	int rc = SQLITE_DONE, r = prepare_select(rd->s, l, "run", run, &q, rd->err);

	if (r < 0)
		return r;
	while (r >= 0 && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		char *element;

		v->v = vec_room(v->v, &v->cap, v->n, l->size);
		element = (char *)v->v + v->n++ * l->size;
		for (size_t j = 0; r >= 0 && j < l->n_fields; j++)
			r = read_field(rd, q, (int)j, &l->fields[j], element);
	}
	if (r >= 0 && rc != SQLITE_DONE)
		r = store_error(rd->s, rd->err, "read");
	sqlite3_finalize(q);
	return r < 0 ? r : check_rows(rd, l, run, v);
}

static int no_run(struct store *s, int64_t id, struct err *err)
{
	err_set(err, ENOENT, "database '%s' has no run %lld", s->path, (long long)id);
	err_hint(err, "coldprof list shows the runs that it has");
	return -ENOENT;
}

static int load_run(struct reader *rd, int64_t id)
{
	const struct layout *l = &store_run_layout;
	sqlite3_stmt *q;
	int rc, r = prepare_select(rd->s, l, "id", id, &q, rd->err);

	if (r < 0)
		return r;
	rd->t->run.id = id;
	rc = sqlite3_step(q);
	for (size_t i = 0; rc == SQLITE_ROW && r >= 0 && i < l->n_fields; i++)
		r = read_field(rd, q, (int)i, &l->fields[i], (char *)rd->t);
	if (rc == SQLITE_DONE)
		r = no_run(rd->s, id, rd->err);
	else if (rc != SQLITE_ROW)
		r = store_error(rd->s, rd->err, "read");
	sqlite3_finalize(q);
	return r;
}

/*
 * Enough to name a run and who drove it: read for every
 * ledger that is shown, however large the run was.
 */
static bool is_small(const char *table)
{
	return strcmp(table, "process") == 0 || strcmp(table, "diagnostic") == 0 ||
	       strcmp(table, "setting") == 0;
}

static int load(struct store *s, int64_t run, bool small, struct trace *t, struct err *err)
{
	struct reader rd;
	int r;

	trace_init(t);
	r = reader_init(&rd, s, t, err);
	if (r >= 0)
		r = load_run(&rd, run);
	for (size_t i = 0; r >= 0 && i < store_n_layouts; i++) {
		const struct layout *l = &store_layouts[i];

		if (!small || is_small(l->table))
			r = load_rows(&rd, l, run, (void *)((char *)t + l->vec_offset));
	}
	reader_done(&rd);
	if (r < 0)
		trace_done(t);
	return r;
}

int store_load_trace(struct store *s, int64_t run, struct trace *ret_trace, struct err *err)
{
	return load(s, run, false, ret_trace, err);
}

int store_load_run(struct store *s, int64_t run, struct trace *ret_trace, struct err *err)
{
	return load(s, run, true, ret_trace, err);
}

int store_load_ledger(struct store *s, int64_t run, struct trace *t, struct segment **ret_segments,
		      size_t *ret_n_segments, struct ledger_row **ret_rows, size_t *ret_n_rows,
		      struct err *err)
{
	struct any_vec segments = {0}, rows = {0};
	struct reader rd;
	int r = reader_init(&rd, s, t, err);

	if (r >= 0)
		r = load_rows(&rd, &store_segment_layout, run, &segments);
	if (r >= 0)
		r = load_rows(&rd, &store_row_layout, run, &rows);
	reader_done(&rd);
	if (r < 0) {
		vec_release(segments.v);
		vec_release(rows.v);
		return r;
	}
	*ret_segments = segments.v;
	*ret_n_segments = segments.n;
	*ret_rows = rows.v;
	*ret_n_rows = rows.n;
	return 0;
}

int store_load_notes(struct store *s, int64_t run, struct trace *t, const char ***ret_notes,
		     size_t *ret_n, struct err *err)
{
	static const struct field fields[] = {{"text", 0, F_TEXT}};
	static const struct layout layout = {"note", 0, sizeof(const char *), fields, 1};
	struct any_vec notes = {0};
	struct reader rd;
	int r = reader_init(&rd, s, t, err);

	if (r >= 0)
		r = load_rows(&rd, &layout, run, &notes);
	reader_done(&rd);
	if (r < 0) {
		vec_release(notes.v);
		return r;
	}
	*ret_notes = notes.v;
	*ret_n = notes.n;
	return 0;
}

int store_last_run(struct store *s, int64_t *ret_run, struct err *err)
{
	sqlite3_stmt *q;
	int rc, r = store_prepare(s, "SELECT max(id) FROM run", &q, err);

	if (r < 0)
		return r;
	rc = sqlite3_step(q);
	if (rc != SQLITE_ROW) {
		r = store_error(s, err, "read");
	} else if (sqlite3_column_type(q, 0) == SQLITE_NULL) {
		r = err_set(err, ENOENT, "database '%s' holds no run yet", s->path);
		err_hint(err, "coldprof -- COMMAND stores one");
	} else {
		*ret_run = sqlite3_column_int64(q, 0);
	}
	sqlite3_finalize(q);
	return r;
}

int store_has_run(struct store *s, int64_t run, struct err *err)
{
	sqlite3_stmt *q;
	int rc, r = store_prepare(s, "SELECT 1 FROM run WHERE id = ?", &q, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(q, 1, run);
	rc = sqlite3_step(q);
	if (rc == SQLITE_DONE)
		r = no_run(s, run, err);
	else if (rc != SQLITE_ROW)
		r = store_error(s, err, "read");
	sqlite3_finalize(q);
	return r;
}
