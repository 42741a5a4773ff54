/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and columns → text. Knows neither SQL nor what the columns mean beyond their units. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"

struct str;

enum unit { UNIT_TEXT, UNIT_NS, UNIT_BYTES, UNIT_COUNT, UNIT_ID, UNIT_FLAG, UNIT_TIME, N_UNITS };
enum cell_kind { CELL_UNKNOWN, CELL_INT, CELL_FLOAT, CELL_STRING };
enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV, FORMAT_MARKDOWN, FORMAT_COUNT };
/* Their words, in this order; NULL-terminated. */
extern const char *const format_words[];

struct column {
	char *name;
	enum unit unit;
};

struct cell {
	enum cell_kind kind;
	union {
		int64_t i;
		double f;
		char *s;
	};
};

struct table {
	VEC(struct column) columns;
	VEC(struct cell) cells; /* row after row */
};

/* How the terminal is. */
struct look {
	int width; /* columns that a line may take */
	bool colour;
	bool utf8; /* bars and ellipses beyond ASCII */
	bool tty;  /* raw control characters must not pass, whatever the format */
};

void table_add_column(struct table *t, const char *name, enum unit unit);
/* Cells are added from left to right, row after row. `s` is copied; NULL is unknown. */
void table_add_int(struct table *t, int64_t v);
void table_add_float(struct table *t, double v);
void table_add_text(struct table *t, const char *s);
void table_add_unknown(struct table *t);
size_t table_rows(const struct table *t);
const struct cell *table_cell(const struct table *t, size_t row, size_t column);
void table_free(struct table *t);

const char *unit_word(enum unit unit);
/* UNIT_TEXT for a word that is no unit. */
enum unit unit_of(const char *word);

/*
 * Write the rows. `name` and `run` (negative: none) go into JSON's head. Returns: 0, or -errno when
 * the stream took no more.
 */
int render_table(FILE *out, const struct table *t, const struct look *look);
int render_json(FILE *out, const struct table *t, const char *name, int64_t run);
int render_csv(FILE *out, const struct table *t, const struct look *look);
int render_markdown(FILE *out, const struct table *t);

/*
 * Text for people. Everything that is not printable in the terminal's character set becomes \xNN.
 */
void text_clean(struct str *b, const char *s, bool utf8);
/* Columns that clean text takes. */
size_t text_width(const char *s, bool utf8);
/* Clean `s` cut to `width` columns with an ellipsis for its middle. */
void text_shorten(struct str *b, const char *s, size_t width, bool utf8);
/* "1.234 s", "12.3 ms"; "541.1 MB" (powers of 1000); "1.06 GB/s". */
void text_ns(struct str *b, uint64_t ns);
void text_bytes(struct str *b, uint64_t bytes);
void text_rate(struct str *b, uint64_t bytes, uint64_t ns);
