/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/vec.h"
#include "cli/show_ledger.h"
#include "model/model.h"
#include "render/lines.h"

#define BAR_WIDTH     12
#define SMALL_NS      UINT64_C(5000000) /* sub-lines that differ by less are not shown one by one */
#define SMALL_BYTES   1000000		/* and files by fewer bytes */
#define N_FILES_READ  1000
#define N_FILES_SHOWN 3

enum { COLUMN_ITEM, COLUMN_A, COLUMN_B, COLUMN_DIFFERENCE, COLUMN_SHARE, COLUMN_BAR };

/* One item, or one sub-line of it, in both runs; UNKNOWN where a run's ledger has no such row. */
struct pair {
	int item;
	const char *sub;
	uint64_t a_ns, b_ns;
};

typedef VEC(struct pair) pair_list;

static bool same_sub(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct pair *pair_of(pair_list *pairs, int item, const char *sub)
{
	vec_for_each (p, pairs)
		if (p->item == item && same_sub(p->sub, sub))
			return p;
	vec_push(pairs, ((struct pair){item, sub, UNKNOWN, UNKNOWN}));
	return vec_last(pairs);
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a == UNKNOWN ? b : b == UNKNOWN ? a : a + b;
}

static void add_to(struct pair *to, const struct pair *p)
{
	to->a_ns = sum(to->a_ns, p->a_ns);
	to->b_ns = sum(to->b_ns, p->b_ns);
}

static void gather(pair_list *pairs, const struct shown *a, const struct shown *b)
{
	for (size_t i = 0; i < a->n_rows; i++) {
		struct pair *p = pair_of(pairs, a->rows[i].item, a->rows[i].sub);

		p->a_ns = sum(p->a_ns, a->rows[i].wall_ns);
	}
	for (size_t i = 0; i < b->n_rows; i++) {
		struct pair *p = pair_of(pairs, b->rows[i].item, b->rows[i].sub);

		p->b_ns = sum(p->b_ns, b->rows[i].wall_ns);
	}
}

/* What a ledger has no row of took no part of its wall. */
static int64_t difference(const struct pair *p)
{
	return (int64_t)(sum(p->b_ns, 0) - sum(p->a_ns, 0));
}

static uint64_t size_of(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

/* "-", as in the ledger itself, where there is nothing of it. */
static void add_seconds(struct str *cell, uint64_t ns)
{
	if (ns == UNKNOWN)
		str_add(cell, "-");
	else
		str_addf(cell, "%.3f", (double)ns / 1e9);
}

static void add_pair(struct lines *out, enum line_style style, const char *name,
		     const struct pair *p, uint64_t most_ns, uint64_t all_ns, bool utf8)
{
	struct line *l = lines_add(out, style);
	int64_t d = difference(p);

	str_add(&l->cells[COLUMN_ITEM], name);
	add_seconds(&l->cells[COLUMN_A], p->a_ns);
	add_seconds(&l->cells[COLUMN_B], p->b_ns);
	if (p->a_ns == UNKNOWN && p->b_ns == UNKNOWN)
		return;
	str_addf(&l->cells[COLUMN_DIFFERENCE], "%+.3f", (double)d / 1e9);
	if (all_ns)
		str_addf(&l->cells[COLUMN_SHARE], "%.1f%%",
			 100 * (double)size_of(d) / (double)all_ns);
	text_bar(&l->cells[COLUMN_BAR], size_of(d), most_ns, BAR_WIDTH, utf8);
}

static int by_size(const void *x, const void *y)
{
	uint64_t a = size_of(difference(x)), b = size_of(difference(y));

	return a < b ? 1 : a > b ? -1 : 0;
}

static void add_item(struct lines *out, const pair_list *subs, const struct pair *item,
		     uint64_t most_ns, uint64_t all_ns, bool utf8)
{
	struct pair rest = {.a_ns = UNKNOWN, .b_ns = UNKNOWN};
	size_t folded = 0;

	add_pair(out, LINE_BOLD, item_title(item->item), item, most_ns, all_ns, utf8);
	vec_for_each (p, subs) {
		struct str name = {0};

		if (p->item != item->item)
			continue;
		if (size_of(difference(p)) < SMALL_NS) {
			add_to(&rest, p);
			folded++;
			continue;
		}
		str_addf(&name, "  %s", p->sub ? p->sub : "-");
		add_pair(out, LINE_DIM, str_get(&name), p, most_ns, all_ns, utf8);
		str_free(&name);
	}
	if (folded && difference(&rest))
		add_pair(out, LINE_DIM, "  (little differences)", &rest, most_ns, all_ns, utf8);
}

static void print_head(FILE *out, const struct look *look, const struct shown *a,
		       const struct shown *b)
{
	uint64_t x = a->end_ns - a->trace->run.start_ns, y = b->end_ns - b->trace->run.start_ns;
	struct str s = {0};

	str_addf(&s, "run %" PRId64 " took %.3f s, run %" PRId64 " took %.3f s: %+.3f s",
		 a->trace->run.id, (double)x / 1e9, b->trace->run.id, (double)y / 1e9,
		 (double)(int64_t)(y - x) / 1e9);
	if (x)
		str_addf(&s, " (%+.1f%%)", 100 * (double)(int64_t)(y - x) / (double)x);
	text_paragraph(out, "coldprof: ", str_get(&s), look);
	str_free(&s);
}

static void warn_unlike(FILE *out, const struct look *look, const char *what, const char *a,
			const char *b)
{
	struct str s = {0};

	a = a ? a : "unknown";
	b = b ? b : "unknown";
	if (strcmp(a, b) == 0)
		return;
	str_addf(&s, "the two runs are not alike: %s %s against %s", what, a, b);
	text_paragraph(out, "warning  ", str_get(&s), look);
	str_free(&s);
}

static void print_warnings(FILE *out, const struct look *look, const struct shown *a,
			   const struct shown *b)
{
	const struct run *x = &a->trace->run, *y = &b->trace->run;
	struct str p = {0}, q = {0};

	warn_unlike(out, look, "weights were", x->state, y->state);
	warn_unlike(out, look, "other files were", x->state_files, y->state_files);
	warn_unlike(out, look, "compile caches were", x->state_caches, y->state_caches);
	warn_unlike(out, look, "the mark was", a->mark ? a->mark : "not reached",
		    b->mark ? b->mark : "not reached");
	warn_unlike(out, look, "the command was", x->command_json, y->command_json);
	warn_unlike(out, look, "the engine was", x->engine, y->engine);
	warn_unlike(out, look, "the host was", x->host, y->host);
	warn_unlike(out, look, "the kernel was", x->kernel, y->kernel);
	if (x->tier >= 0)
		str_addf(&p, "%d", x->tier);
	if (y->tier >= 0)
		str_addf(&q, "%d", y->tier);
	warn_unlike(out, look, "measured at tier", p.n ? str_get(&p) : NULL,
		    q.n ? str_get(&q) : NULL);
	str_free(&p);
	str_free(&q);
}

/* What one file cost in both runs; UNKNOWN where a run cannot tell. */
struct file_pair {
	const char *path;
	uint64_t storage[2], wait[2];
};

typedef VEC(struct file_pair) file_list;

static int column_of(const struct table *t, const char *name)
{
	for (size_t i = 0; i < t->columns.n; i++)
		if (strcmp(t->columns.v[i].name, name) == 0)
			return (int)i;
	return -1;
}

static uint64_t value_of(const struct table *t, size_t row, int column)
{
	const struct cell *c = table_cell(t, row, (size_t)column);

	return c->kind == CELL_INT && c->i >= 0 ? (uint64_t)c->i : UNKNOWN;
}

/*
 * Files of one run's report `files`, those that cost
 * most first; a run reads thousands, few of them matter.
 */
static void gather_files(file_list *files, const struct table *t, int which)
{
	int path = column_of(t, "path"), storage = column_of(t, "bytes_storage"),
	    wait = column_of(t, "wait_ns");

	if (path < 0 || storage < 0 || wait < 0)
		return; /* a report of the user's own under this name */
	for (size_t row = 0; row < table_rows(t) && row < N_FILES_READ; row++) {
		const struct cell *c = table_cell(t, row, (size_t)path);
		struct file_pair *f = NULL;

		if (c->kind != CELL_STRING)
			continue;
		vec_for_each (x, files)
			if (strcmp(x->path, c->s) == 0)
				f = x;
		if (!f) {
			vec_push(files, ((struct file_pair){c->s, {0, 0}, {0, 0}}));
			f = vec_last(files);
		}
		f->storage[which] = value_of(t, row, storage);
		f->wait[which] = value_of(t, row, wait);
	}
}

static uint64_t apart(const uint64_t v[2])
{
	if (v[0] == UNKNOWN || v[1] == UNKNOWN)
		return 0;
	return v[0] > v[1] ? v[0] - v[1] : v[1] - v[0];
}

static int by_cost(const void *x, const void *y)
{
	const struct file_pair *a = x, *b = y;
	uint64_t p = apart(a->wait), q = apart(b->wait);

	if (p == q) {
		p = apart(a->storage);
		q = apart(b->storage);
	}
	return p < q ? 1 : p > q ? -1 : 0;
}

static void print_file(FILE *out, const struct look *look, const struct file_pair *f, bool first)
{
	struct str b = {0};

	str_addf(&b, "%s:", f->path);
	if (apart(f->storage)) {
		str_add(&b, " ");
		text_bytes(&b, f->storage[0]);
		str_add(&b, " from storage against ");
		text_bytes(&b, f->storage[1]);
	}
	if (apart(f->wait)) {
		str_add(&b, apart(f->storage) ? ", waited " : " waited ");
		text_ns(&b, f->wait[0]);
		str_add(&b, " against ");
		text_ns(&b, f->wait[1]);
	}
	text_paragraph(out, first ? "files    " : "         ", str_get(&b), look);
	str_free(&b);
}

/* Waits of several threads overlap: what is told of files is beside the sums, not part of them. */
void show_delta_files(FILE *out, const struct look *look, const struct table *a,
		      const struct table *b)
{
	file_list files = {0};

	gather_files(&files, a, 0);
	gather_files(&files, b, 1);
	if (files.n)
		qsort(files.v, files.n, sizeof(*files.v), by_cost);
	for (size_t i = 0; i < files.n && i < N_FILES_SHOWN; i++)
		if (apart(files.v[i].wait) >= SMALL_NS || apart(files.v[i].storage) >= SMALL_BYTES)
			print_file(out, look, &files.v[i], i == 0);
	vec_free(&files);
}

int show_delta(FILE *out, const struct look *look, const struct shown *a, const struct shown *b)
{
	char name_a[24], name_b[24];
	struct line_column columns[] = {
		{"item", 26, false},	  {name_a, 10, true}, {name_b, 10, true},
		{"difference", 10, true}, {"share", 6, true}, {"", BAR_WIDTH, false},
	};
	struct lines lines = {columns, sizeof(columns) / sizeof(columns[0]), {0}};
	struct pair items[ITEM_COUNT], total = {.a_ns = UNKNOWN, .b_ns = UNKNOWN};
	uint64_t most_ns = 0, all_ns = 0;
	pair_list subs = {0};
	int r;

	snprintf(name_a, sizeof(name_a), "run %" PRId64, a->trace->run.id);
	snprintf(name_b, sizeof(name_b), "run %" PRId64, b->trace->run.id);
	gather(&subs, a, b);
	if (subs.n)
		qsort(subs.v, subs.n, sizeof(*subs.v), by_size);
	for (int i = 0; i < ITEM_COUNT; i++)
		items[i] = (struct pair){.item = i, .a_ns = UNKNOWN, .b_ns = UNKNOWN};
	/* What is left over is known even where it is nothing. */
	items[ITEM_OTHER].a_ns = items[ITEM_OTHER].b_ns = 0;
	vec_for_each (p, &subs) {
		add_to(&items[p->item], p);
		add_to(&total, p);
	}
	for (int i = 0; i < ITEM_COUNT; i++) {
		uint64_t d = size_of(difference(&items[i]));

		most_ns = d > most_ns ? d : most_ns;
		all_ns += d;
	}
	print_head(out, look, a, b);
	print_warnings(out, look, a, b);
	fputc('\n', out);
	for (int i = 0; i < ITEM_COUNT; i++)
		add_item(&lines, &subs, &items[i], most_ns, all_ns, look->utf8);
	add_pair(&lines, LINE_BOLD, "total", &total, 0, 0, look->utf8);
	r = lines_print(out, &lines, look);
	lines_free(&lines);
	vec_free(&subs);
	return r < 0 || ferror(out) ? (r < 0 ? r : -EIO) : 0;
}
