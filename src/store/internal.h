/* SPDX-License-Identifier: Apache-2.0 */
/* Private to src/store: the handle, its helpers, and how structs of the model lie in tables. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct err;
struct trace;

#define STORE_APPLICATION_ID  0x434c4450 /* "CLDP" */
#define STORE_SCHEMA_VERSION  1
#define STORE_BUSY_TIMEOUT_MS 15000

struct store {
	sqlite3 *db;
	char *path;
	bool writes;
	int wait_ms; /* for another writer, at most */
	int waited_ms;
	int depth; /* of store_begin() */
};

/* Steps of the schema: step i leads from user_version i to i + 1. NULL-terminated. */
extern const char *const store_steps[];
/* Text of schema.sql, embedded at build time. */
extern const char store_schema_sql[];

/* -errno and words for the database's last error: "cannot DOING database 'PATH': why". */
int store_error(struct store *s, struct err *err, const char *doing);
/* Run statements without rows; waits for other writers. Returns 0 or -errno with `err` filled. */
int store_exec(struct store *s, const char *sql, const char *doing, struct err *err);
/* Delete the rows that a run has in a table. Returns 0 or -errno with `err` filled. */
int store_clear(struct store *s, const char *table, int64_t run, struct err *err);
int store_prepare(struct store *s, const char *sql, sqlite3_stmt **ret_stmt, struct err *err);

/* totals.c: fill file_total and jit_total of a stored run. Returns 0 or -errno with `err` filled. */
int store_put_totals(struct store *s, const struct trace *t, struct err *err);

enum field_type {
	F_U64,	   /* UNKNOWN is NULL */
	F_PROCESS, /* int32_t, index of a process; NO_INDEX is NULL */
	F_FILE,	   /* int32_t, index of a file; likewise */
	F_ITEM,	   /* uint16_t, enum item */
	F_GRADE,   /* uint16_t, enum grade */
	F_STATUS,  /* int32_t, -1 is NULL */
	F_NUMBER,  /* int32_t, 0 is NULL */
	F_I32,
	F_U16,
	F_U8,
	F_BOOL,
	F_OWN,	  /* const char *, in the row itself */
	F_STR,	  /* const char *, by way of the table string */
	F_TEXT,	  /* likewise, and never NULL */
	F_KIND,	  /* uint16_t, by way of its word */
	F_SOURCE, /* uint16_t, likewise */
	F_ROLE,	  /* uint8_t, likewise */
	F_CLASS,  /* uint8_t, likewise */
};

struct field {
	const char *column;
	size_t offset;
	enum field_type type;
};

/* One array of struct trace and its table. */
struct layout {
	const char *table;
	size_t vec_offset; /* of the VEC in struct trace */
	size_t size;	   /* of an element */
	const struct field *fields;
	size_t n_fields;
};

extern const struct layout store_layouts[];
extern const size_t store_n_layouts;
/* Of struct trace itself: what the row of a run holds beside its id and whether it is complete. */
extern const struct layout store_run_layout;
/* struct segment and struct ledger_row; vec_offset has no meaning there. */
extern const struct layout store_segment_layout, store_row_layout;

/* Any VEC, seen without its element type. */
struct any_vec {
	void *v;
	size_t n, cap;
};
