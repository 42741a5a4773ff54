/* SPDX-License-Identifier: Apache-2.0 */
/* Writing: structs of the model → rows, by the field lists of layout.c. */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/model.h"
#include "store/internal.h"

/* Strings of a trace are interned: the pointer is the key. */
struct known {
	UT_hash_handle hh;
	const char *s;
	int64_t id;
};

struct writer {
	struct store *s;
	struct err *err;
	sqlite3_stmt *find, *add;
	struct known *known;
	int64_t kinds[KIND_COUNT], sources[SOURCE_COUNT]; /* ids of words, 0 not asked yet */
};

static int writer_init(struct writer *w, struct store *s, struct err *err)
{
	int r;

	*w = (struct writer){.s = s, .err = err};
	r = store_prepare(s, "SELECT id FROM string WHERE text = ?", &w->find, err);
	return r < 0 ? r : store_prepare(s, "INSERT INTO string (text) VALUES (?)", &w->add, err);
}

static void writer_done(struct writer *w)
{
	struct known *k, *next;

	HASH_ITER (hh, w->known, k, next) {
		HASH_DEL(w->known, k);
		free(k);
	}
	sqlite3_finalize(w->find);
	sqlite3_finalize(w->add);
}

/* The id of `text` in the table string, made when it is new; negative errno. */
static int64_t string_id(struct writer *w, const char *text)
{
	struct known *k;
	int64_t id;
	int rc;

	HASH_FIND_PTR(w->known, &text, k);
	if (k)
		return k->id;
	sqlite3_bind_text(w->find, 1, text, -1, SQLITE_STATIC);
	rc = sqlite3_step(w->find);
	id = rc == SQLITE_ROW ? sqlite3_column_int64(w->find, 0) : 0;
	sqlite3_reset(w->find);
	if (rc == SQLITE_DONE) {
		sqlite3_bind_text(w->add, 1, text, -1, SQLITE_STATIC);
		rc = sqlite3_step(w->add);
		if (rc == SQLITE_DONE)
			id = sqlite3_last_insert_rowid(w->s->db);
		sqlite3_reset(w->add);
	}
	if (!id)
		return store_error(w->s, w->err, "write to");
	k = xcalloc(1, sizeof(*k));
	k->s = text;
	k->id = id;
	HASH_ADD_PTR(w->known, s, k);
	return id;
}

static int bind_string(struct writer *w, sqlite3_stmt *q, int i, const char *text)
{
	int64_t id;

	if (!text) {
		sqlite3_bind_null(q, i);
		return 0;
	}
	id = string_id(w, text);
	if (id < 0)
		return (int)id;
	sqlite3_bind_int64(q, i, id);
	return 0;
}

static int bind_word(struct writer *w, sqlite3_stmt *q, int i, const char *word, int64_t *id)
{
	if (!*id)
		*id = string_id(w, word);
	if (*id < 0)
		return (int)*id;
	sqlite3_bind_int64(q, i, *id);
	return 0;
}

static void bind_u64(sqlite3_stmt *q, int i, uint64_t v)
{
	if (v == UNKNOWN)
		sqlite3_bind_null(q, i);
	else
		sqlite3_bind_int64(q, i, (int64_t)v);
}

static void bind_i32_or_null(sqlite3_stmt *q, int i, int32_t v, int32_t null)
{
	if (v == null)
		sqlite3_bind_null(q, i);
	else
		sqlite3_bind_int(q, i, v);
}

static int bind_field(struct writer *w, sqlite3_stmt *q, int i, const struct field *f,
		      const char *element)
{
	const void *p = element + f->offset;

	switch (f->type) {
	case F_U64:
		bind_u64(q, i, *(const uint64_t *)p);
		return 0;
	case F_PROCESS:
	case F_FILE:
		bind_i32_or_null(q, i, *(const int32_t *)p, NO_INDEX);
		return 0;
	case F_STATUS:
		bind_i32_or_null(q, i, *(const int32_t *)p, -1);
		return 0;
	case F_NUMBER:
		bind_i32_or_null(q, i, *(const int32_t *)p, 0);
		return 0;
	case F_I32:
		sqlite3_bind_int(q, i, *(const int32_t *)p);
		return 0;
	case F_U16:
	case F_ITEM:
	case F_GRADE:
		sqlite3_bind_int(q, i, *(const uint16_t *)p);
		return 0;
	case F_U8:
		sqlite3_bind_int(q, i, *(const uint8_t *)p);
		return 0;
	case F_BOOL:
		sqlite3_bind_int(q, i, *(const bool *)p);
		return 0;
	case F_OWN: /* NULL binds NULL */
		sqlite3_bind_text(q, i, *(const char *const *)p, -1, SQLITE_STATIC);
		return 0;
	case F_STR:
	case F_TEXT:
		return bind_string(w, q, i, *(const char *const *)p);
	case F_KIND:
		return bind_word(w, q, i, kind_word(*(const uint16_t *)p),
				 &w->kinds[*(const uint16_t *)p]);
	case F_SOURCE:
		return bind_word(w, q, i, source_word(*(const uint16_t *)p),
				 &w->sources[*(const uint16_t *)p]);
	case F_ROLE:
		return bind_string(w, q, i, role_word(*(const uint8_t *)p));
	case F_CLASS:
		return bind_string(w, q, i, file_class_word(*(const uint8_t *)p));
	}
	return -EINVAL;
}

static int prepare_insert(struct store *s, const struct layout *l, sqlite3_stmt **ret_stmt,
			  struct err *err)
{
	struct str sql = {0};
	int r;

	str_addf(&sql, "INSERT INTO %s (run, id", l->table);
	for (size_t i = 0; i < l->n_fields; i++)
		str_addf(&sql, ", %s", l->fields[i].column);
	str_add(&sql, ") VALUES (?, ?");
	for (size_t i = 0; i < l->n_fields; i++)
		str_add(&sql, ", ?");
	str_add(&sql, ")");
	r = store_prepare(s, str_get(&sql), ret_stmt, err);
	str_free(&sql);
	return r;
}

static int put_rows(struct writer *w, const struct layout *l, int64_t run, const void *v, size_t n)
{
	sqlite3_stmt *q;
	int r = store_clear(w->s, l->table, run, w->err);

	if (r < 0 || !n)
		return r;
	r = prepare_insert(w->s, l, &q, w->err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(q, 1, run);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		const char *element = (const char *)v + i * l->size;

		sqlite3_bind_int64(q, 2, (int64_t)i);
		for (size_t j = 0; r >= 0 && j < l->n_fields; j++)
			r = bind_field(w, q, (int)j + 3, &l->fields[j], element);
		if (r >= 0 && sqlite3_step(q) != SQLITE_DONE)
			r = store_error(w->s, w->err, "write to");
		sqlite3_reset(q);
	}
	sqlite3_finalize(q);
	return r;
}

static int prepare_update_run(struct store *s, sqlite3_stmt **ret_stmt, struct err *err)
{
	const struct layout *l = &store_run_layout;
	struct str sql = {0};
	int r;

	str_add(&sql, "UPDATE run SET ");
	for (size_t i = 0; i < l->n_fields; i++)
		str_addf(&sql, "%s = ?, ", l->fields[i].column);
	str_add(&sql, "complete = ? WHERE id = ?");
	r = store_prepare(s, str_get(&sql), ret_stmt, err);
	str_free(&sql);
	return r;
}

static int put_run(struct store *s, const struct trace *t, int64_t id, bool complete,
		   struct err *err)
{
	const struct layout *l = &store_run_layout;
	struct writer w = {.s = s, .err = err}; /* no field goes by way of the table string */
	sqlite3_stmt *q;
	int n = (int)l->n_fields, r = prepare_update_run(s, &q, err);

	if (r < 0)
		return r;
	for (int i = 0; r >= 0 && i < n; i++)
		r = bind_field(&w, q, i + 1, &l->fields[i], (const char *)t);
	sqlite3_bind_int(q, n + 1, complete);
	sqlite3_bind_int64(q, n + 2, id);
	if (r >= 0 && sqlite3_step(q) != SQLITE_DONE)
		r = store_error(s, err, "write to");
	else if (r >= 0 && sqlite3_changes(s->db) != 1)
		r = err_set(err, ENOENT, "database '%s' has no run %lld", s->path, (long long)id);
	sqlite3_finalize(q);
	return r;
}

int store_begin_run(struct store *s, struct trace *t, struct err *err)
{
	int64_t id;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	r = store_exec(s, "INSERT INTO run (complete) VALUES (0)", "write to", err);
	id = sqlite3_last_insert_rowid(s->db);
	if (r >= 0)
		r = put_run(s, t, id, false, err);
	if (r >= 0)
		r = store_commit(s, err);
	else
		store_rollback(s);
	if (r >= 0)
		t->run.id = id;
	return r;
}

int store_drop_run(struct store *s, int64_t run, struct err *err)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "DELETE FROM run WHERE id = %lld", (long long)run);
	return store_exec(s, sql, "write to", err);
}

/* A transaction around one writer; `r` is what was done in it. Returns: `r`, or why it was not kept. */
static int writing_begin(struct writer *w, struct store *s, struct err *err)
{
	int r = store_begin(s, err);

	*w = (struct writer){.s = s, .err = err};
	return r < 0 ? r : writer_init(w, s, err);
}

static int writing_end(struct writer *w, int r)
{
	writer_done(w);
	if (r >= 0)
		return store_commit(w->s, w->err);
	store_rollback(w->s);
	return r;
}

int store_put_trace(struct store *s, const struct trace *t, struct err *err)
{
	struct writer w;
	int r = writing_begin(&w, s, err);

	if (r >= 0)
		r = put_run(s, t, t->run.id, t->run.ready_ns != UNKNOWN, err);
	for (size_t i = 0; r >= 0 && i < store_n_layouts; i++) {
		const struct layout *l = &store_layouts[i];
		const struct any_vec *v = (const void *)((const char *)t + l->vec_offset);

		r = put_rows(&w, l, t->run.id, v->v, v->n);
	}
	if (r >= 0)
		r = store_put_totals(s, t, err);
	return writing_end(&w, r);
}

int store_put_ledger(struct store *s, int64_t run, const struct segment *segments,
		     size_t n_segments, const struct ledger_row *rows, size_t n_rows,
		     struct err *err)
{
	struct writer w;
	int r = writing_begin(&w, s, err);

	if (r >= 0)
		r = put_rows(&w, &store_segment_layout, run, segments, n_segments);
	if (r >= 0)
		r = put_rows(&w, &store_row_layout, run, rows, n_rows);
	return writing_end(&w, r);
}

int store_put_notes(struct store *s, int64_t run, const char *const *notes, size_t n,
		    struct err *err)
{
	static const struct field fields[] = {{"text", 0, F_STR}};
	static const struct layout layout = {"note", 0, sizeof(const char *), fields, 1};
	struct writer w;
	int r = writing_begin(&w, s, err);

	if (r >= 0)
		r = put_rows(&w, &layout, run, notes, n);
	return writing_end(&w, r);
}
