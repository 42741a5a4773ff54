/* SPDX-License-Identifier: Apache-2.0 */
#include "render/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libsmartcols.h>

static const char *const colours[] = {NULL, "bold", "halfbright", "yellow"};

struct line *lines_add(struct lines *l, enum line_style style)
{
	struct line *line = vec_add(&l->v);

	line->style = style;
	return line;
}

void lines_free(struct lines *l)
{
	vec_for_each (line, &l->v)
		for (size_t i = 0; i < LINE_CELLS; i++)
			str_free(&line->cells[i]);
	vec_free(&l->v);
}

static bool add_line(struct libscols_table *tb, const struct lines *l, const struct line *line,
		     const struct look *look)
{
	struct libscols_line *ln = scols_table_new_line(tb, NULL);

	if (!ln)
		return false;
	if (colours[line->style])
		scols_line_set_color(ln, colours[line->style]);
	for (size_t i = 0; i < l->n_columns; i++) {
		struct str cut = {0};

		text_shorten(&cut, str_get(&line->cells[i]), l->columns[i].width, look->utf8);
		scols_line_set_data(ln, i, str_get(&cut));
		str_free(&cut);
	}
	return true;
}

/* Blanks at the ends of lines are of no use to anyone. */
static int put_trimmed(FILE *out, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n"), kept = n;

		while (kept && text[kept - 1] == ' ')
			kept--;
		if (fwrite(text, 1, kept, out) != kept || fputc('\n', out) == EOF)
			return -errno;
		text += n + (text[n] == '\n');
	}
	return 0;
}

int lines_print(FILE *out, const struct lines *l, const struct look *look)
{
	struct libscols_table *tb = scols_new_table();
	struct line head = {.style = LINE_DIM};
	char *text = NULL;
	bool fine = tb != NULL;
	int r = -ENOMEM;

	if (!tb)
		return r;
	scols_table_enable_noheadings(tb, 1);
	scols_table_enable_colors(tb, look->colour);
	scols_table_enable_noencoding(tb, 1);
	scols_table_set_termforce(tb, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(tb, 4096);
	for (size_t i = 0; i < l->n_columns; i++) {
		struct libscols_column *c = scols_table_new_column(
			tb, l->columns[i].name, (double)l->columns[i].width,
			SCOLS_FL_STRICTWIDTH | (l->columns[i].right ? SCOLS_FL_RIGHT : 0));

		fine = fine && c;
		str_add(&head.cells[i], l->columns[i].name);
	}
	fine = fine && add_line(tb, l, &head, look);
	vec_for_each (line, &l->v)
		fine = fine && add_line(tb, l, line, look);
	if (fine && scols_print_table_to_string(tb, &text) == 0)
		r = put_trimmed(out, text ? text : "");
	free(text);
	for (size_t i = 0; i < l->n_columns; i++)
		str_free(&head.cells[i]);
	scols_unref_table(tb);
	return r;
}

void text_bar(struct str *b, uint64_t part, uint64_t whole, size_t width, bool utf8)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	double share = whole ? (double)part / (double)whole : 0;
	size_t n = (size_t)((share < 1 ? share : 1) * (double)width * 8 + 0.5);

	if (!utf8) {
		for (n = (n + 4) / 8; n; n--)
			str_add(b, "#");
		return;
	}
	if (part && whole && !n)
		n = 1;
	for (; n >= 8; n -= 8)
		str_add(b, "█");
	str_add(b, eighths[n]);
}

void text_paragraph(FILE *out, const char *first, const char *text, const struct look *look)
{
	size_t margin = text_width(first, look->utf8), at = margin;
	struct str clean = {0};

	text_clean(&clean, text, look->utf8);
	fputs(first, out);
	for (const char *p = str_get(&clean); *p;) {
		size_t n = strcspn(p, " "), w;
		struct str word = {0};

		str_addn(&word, p, n);
		w = text_width(str_get(&word), look->utf8);
		if (at > margin && at + 1 + w > (size_t)look->width) {
			fprintf(out, "\n%*s", (int)margin, "");
			at = margin;
		} else if (at > margin) {
			fputc(' ', out);
			at++;
		}
		if (margin + w > (size_t)look->width) { /* a word wider than the line */
			struct str cut = {0};

			text_shorten(&cut, str_get(&word), (size_t)look->width - margin,
				     look->utf8);
			fputs(str_get(&cut), out);
			str_free(&cut);
		} else {
			fputs(str_get(&word), out);
		}
		at += w;
		str_free(&word);
		p += n;
		p += strspn(p, " ");
	}
	fputc('\n', out);
	str_free(&clean);
}
