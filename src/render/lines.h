/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of cells in columns of fixed width, with a style
 * each; bars; paragraphs. What ledgers are drawn with.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"
#include "base/vec.h"
#include "render/table.h"

#define LINE_CELLS 8

enum line_style { LINE_PLAIN, LINE_BOLD, LINE_DIM, LINE_WARN };

struct line_column {
	const char *name;
	size_t width;
	bool right;
};

struct line {
	enum line_style style;
	struct str cells[LINE_CELLS];
};

struct lines {
	const struct line_column *columns;
	size_t n_columns;
	VEC(struct line) v;
};

/*
 * A new last line; borrowed until the next one. Text added
 * to its cells is cleaned and cut when it is printed.
 */
struct line *lines_add(struct lines *l, enum line_style style);
/* Returns: 0 or -errno. */
int lines_print(FILE *out, const struct lines *l, const struct look *look);
void lines_free(struct lines *l);

/* part / whole of `width` columns; nothing for nothing. */
void text_bar(struct str *b, uint64_t part, uint64_t whole, size_t width, bool utf8);
/* `text` broken between words; the first line behind `first`, the others behind as many blanks. */
void text_paragraph(FILE *out, const char *first, const char *text, const struct look *look);
