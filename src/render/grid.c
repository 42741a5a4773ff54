/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table for people, as wide as the terminal: numbers in units, text shortened in the middle,
 * headings broken at underscores. Where not even that fits, the longest text of a row gets a line
 * of its own above the rest.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <libsmartcols.h>

#include "base/str.h"
#include "render/table.h"

#define MIN_TEXT  8  /* columns that text is not cut below */
#define GOOD_TEXT 12 /* less than this for the longest text, and it gets lines of its own */
#define LONG_TEXT 40 /* so does one longer than this that would be cut */
#define MAX_WORDS 6  /* of a heading */
#define SEPARATOR 1

struct grid {
	const struct table *t;
	const struct look *look;
	size_t n;
	size_t *width;	   /* per column */
	char **heads;	   /* their names, shortened */
	struct str *texts; /* formatted and clean, row after row */
	size_t alone;	   /* the column that has its own line; n: none */
};

static bool is_text(const struct grid *g, size_t column)
{
	return g->t->columns.v[column].unit == UNIT_TEXT;
}

static void format_cell(struct str *b, const struct cell *c, enum unit unit, bool utf8)
{
	switch (c->kind) {
	case CELL_UNKNOWN:
		return;
	case CELL_STRING:
		text_clean(b, c->s, utf8);
		if (unit == UNIT_TIME && b->n > 19 &&
		    b->s[10] == 'T') { /* to the second, as people write it */
			b->n = 19;
			b->s[19] = '\0';
			b->s[10] = ' ';
		}
		return;
	case CELL_FLOAT:
		str_addf(b, "%.6g", c->f);
		return;
	case CELL_INT:
		if (unit == UNIT_NS && c->i >= 0)
			text_ns(b, (uint64_t)c->i);
		else if (unit == UNIT_BYTES && c->i >= 0)
			text_bytes(b, (uint64_t)c->i);
		else
			str_addf(b, "%" PRId64, c->i);
	}
}

/* The name without the word of its unit, which the values tell. */
static char *heading(const struct column *c)
{
	const char *unit = c->unit == UNIT_NS ? "_ns" : c->unit == UNIT_BYTES ? "_bytes" : NULL;
	char *name = xstrdup(c->name);
	size_t n = strlen(name);

	if (unit && str_ends(name, unit) && n > strlen(unit))
		name[n - strlen(unit)] = '\0';
	else if (c->unit == UNIT_BYTES && str_starts(name, "bytes_") && n > 6)
		memmove(name, name + 6, n - 5);
	return name;
}

/* The longest word of a heading: it is not broken further. */
static size_t heading_width(const char *name)
{
	size_t most = 0;

	while (*name) {
		size_t n = strcspn(name, "_");

		most = n > most ? n : most;
		name += n + (name[n] == '_');
	}
	return most;
}

static void measure(struct grid *g)
{
	size_t rows = table_rows(g->t);

	g->texts = xcalloc(rows * g->n + 1, sizeof(*g->texts));
	g->width = xcalloc(g->n + 1, sizeof(*g->width));
	g->heads = xcalloc(g->n + 1, sizeof(*g->heads));
	for (size_t i = 0; i < g->n; i++) {
		g->heads[i] = heading(&g->t->columns.v[i]);
		g->width[i] = heading_width(g->heads[i]);
	}
	for (size_t row = 0; row < rows; row++)
		for (size_t i = 0; i < g->n; i++) {
			struct str *b = &g->texts[row * g->n + i];
			size_t w;

			format_cell(b, table_cell(g->t, row, i), g->t->columns.v[i].unit,
				    g->look->utf8);
			w = text_width(str_get(b), g->look->utf8);
			g->width[i] = w > g->width[i] ? w : g->width[i];
		}
}

static size_t total(const struct grid *g)
{
	size_t sum = 0;

	for (size_t i = 0; i < g->n; i++)
		sum += i == g->alone ? 0 : g->width[i] + SEPARATOR;
	return sum ? sum - SEPARATOR : 0;
}

/* The widest column of text that may still give way; n when there is none. */
static size_t widest(const struct grid *g)
{
	size_t best = g->n;

	for (size_t i = 0; i < g->n; i++)
		if (i != g->alone && is_text(g, i) && g->width[i] > MIN_TEXT &&
		    g->width[i] > heading_width(g->heads[i]) &&
		    (best == g->n || g->width[i] > g->width[best]))
			best = i;
	return best;
}

static void fit(struct grid *g, size_t width)
{
	size_t longest = widest(g), wished = longest < g->n ? g->width[longest] : 0, i;

	while (total(g) > width && (i = widest(g)) < g->n)
		g->width[i]--;
	if (longest < g->n &&
	    (total(g) > width || (g->width[longest] < wished &&
				  (g->width[longest] < GOOD_TEXT || wished > LONG_TEXT)))) {
		g->alone = longest;
		for (i = 0; i < g->n; i++) /* the others need not have given way */
			for (size_t row = 0; row < table_rows(g->t); row++) {
				size_t w = text_width(str_get(&g->texts[row * g->n + i]),
						      g->look->utf8);

				g->width[i] = w > g->width[i] ? w : g->width[i];
			}
		while (total(g) > width - 2 && (i = widest(g)) < g->n)
			g->width[i]--;
	}
}

/* Line `line` of the heading, or false when it has no such line. */
static bool heading_line(struct str *b, const char *name, size_t width, size_t line)
{
	for (size_t at = 0; *name; at++) {
		size_t used = 0;
		const char *p = name;

		while (*p) {
			size_t n = strcspn(p, "_");

			if (used && used + 1 + n > width)
				break;
			if (at == line)
				str_addf(b, "%s%.*s", used ? " " : "", (int)n, p);
			used += n + (used ? 1 : 0);
			p += n + (p[n] == '_');
		}
		if (at == line)
			return true;
		name = p;
	}
	return false;
}

static int add_line(struct libscols_table *tb, const struct grid *g, struct str *cells,
		    const char *colour)
{
	struct libscols_line *ln = scols_table_new_line(tb, NULL);
	size_t at = 0;

	if (!ln)
		return -ENOMEM;
	if (colour)
		scols_line_set_color(ln, colour);
	for (size_t i = 0; i < g->n; i++) {
		struct str cut = {0};

		if (i == g->alone)
			continue;
		text_shorten(&cut, str_get(&cells[i]), g->width[i], g->look->utf8);
		scols_line_set_data(ln, at++, str_get(&cut));
		str_free(&cut);
	}
	return 0;
}

static int add_headings(struct libscols_table *tb, const struct grid *g)
{
	struct str *cells = xcalloc(g->n + 1, sizeof(*cells));
	int r = 0;

	for (size_t line = 0; r >= 0 && line < MAX_WORDS; line++) {
		bool any = false;

		for (size_t i = 0; i < g->n; i++) {
			str_clear(&cells[i]);
			if (i != g->alone &&
			    heading_line(&cells[i], g->heads[i], g->width[i], line))
				any = true;
		}
		if (!any)
			break;
		r = add_line(tb, g, cells, "bold");
	}
	for (size_t i = 0; i < g->n; i++)
		str_free(&cells[i]);
	free(cells);
	return r;
}

static struct libscols_table *make(const struct grid *g)
{
	struct libscols_table *tb = scols_new_table();
	bool ok = tb != NULL;

	if (!tb)
		return NULL;
	scols_table_enable_noheadings(tb, 1);
	scols_table_enable_colors(tb, g->look->colour);
	scols_table_enable_noencoding(tb, 1); /* the text is clean already */
	scols_table_set_termforce(tb, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(tb, 4096); /* widths are chosen here */
	for (size_t i = 0; i < g->n; i++) {
		enum unit u = g->t->columns.v[i].unit;

		if (i != g->alone)
			ok &= scols_table_new_column(tb, "", (double)g->width[i],
						     u == UNIT_TEXT || u == UNIT_TIME
							     ? 0
							     : SCOLS_FL_RIGHT) != NULL;
	}
	ok = ok && add_headings(tb, g) >= 0;
	for (size_t row = 0; ok && row < table_rows(g->t); row++)
		ok = add_line(tb, g, &g->texts[row * g->n], NULL) >= 0;
	if (ok)
		return tb;
	scols_unref_table(tb);
	return NULL;
}

static void trim(struct str *b)
{
	while (b->n && b->s[b->n - 1] == ' ')
		b->s[--b->n] = '\0';
}

/* Broken between words; a single word that is too long is cut. */
static void put_alone(struct str *b, const struct grid *g, const char *text)
{
	size_t at = 0, width = (size_t)g->look->width;

	if (!*text)
		text = "-";
	while (*text) {
		size_t n = strcspn(text, " ");
		struct str word = {0}, cut = {0};
		size_t w;

		str_addn(&word, text, n);
		text_shorten(&cut, str_get(&word), width, g->look->utf8);
		w = text_width(str_get(&cut), g->look->utf8);
		if (at && at + 1 + w > width) {
			str_add(b, "\n");
			at = 0;
		}
		str_addf(b, "%s%s", at ? " " : "", str_get(&cut));
		at += w + (at ? 1 : 0);
		text += n + (text[n] == ' ');
		str_free(&word);
		str_free(&cut);
	}
	str_add(b, "\n");
}

/* Lines of the table in `text`, with the lonely column above the line of its row. */
static int put(FILE *out, const struct grid *g, const char *text)
{
	size_t rows = table_rows(g->t), lines = 0, heads;
	struct str b = {0};
	int r;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	if (*text && text[strlen(text) - 1] != '\n')
		lines++;
	heads = lines - rows;
	if (g->alone < g->n)
		str_addf(&b, "%s\n", g->heads[g->alone]);
	for (size_t i = 0; i < lines; i++) {
		size_t n = strcspn(text, "\n");

		if (g->alone < g->n) {
			if (i >= heads)
				put_alone(&b, g, str_get(&g->texts[(i - heads) * g->n + g->alone]));
			str_add(&b, "  ");
		}
		str_addn(&b, text, n);
		trim(&b);
		str_add(&b, "\n");
		text += n + (text[n] == '\n');
	}
	r = fwrite(str_get(&b), 1, b.n, out) == b.n ? 0 : -errno;
	str_free(&b);
	return r;
}

int render_table(FILE *out, const struct table *t, const struct look *look)
{
	struct grid g = {.t = t, .look = look, .n = t->columns.n, .alone = t->columns.n};
	struct libscols_table *tb;
	char *text = NULL;
	int r = -ENOMEM;

	measure(&g);
	fit(&g, (size_t)look->width);
	tb = make(&g);
	if (tb && scols_print_table_to_string(tb, &text) == 0)
		r = put(out, &g, text ? text : "");
	free(text);
	scols_unref_table(tb);
	for (size_t i = 0; i < table_rows(t) * g.n; i++)
		str_free(&g.texts[i]);
	free(g.texts);
	for (size_t i = 0; i < g.n; i++)
		free(g.heads[i]);
	free(g.heads);
	free(g.width);
	return r;
}
