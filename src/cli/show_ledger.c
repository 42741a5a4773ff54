/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/show_ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/model.h"
#include "render/lines.h"

/* An uncertainty of the mark below this is nobody's business. */
#define LATE_TOLD_NS  UINT64_C(10000000)
#define BAR_WIDTH     10
#define N_CAUSES      3
#define N_REMARKS     8
#define SHORT_RATE_NS UINT64_C(10000000) /* no GB/s is told of less time */

enum {
	COLUMN_ITEM,
	COLUMN_SECONDS,
	COLUMN_SHARE,
	COLUMN_BAR,
	COLUMN_WORK,
	COLUMN_BYTES,
	COLUMN_MARK
};

/* 80 columns with one blank between; a wider terminal gives the names more room. */
#define COLUMNS(item_width)                                                                        \
	{                                                                                          \
		{"item", item_width, false}, {"seconds", 8, true}, {"share", 6, true},             \
			{"", BAR_WIDTH, false}, {"work s", 8, true}, {"bytes", 10, true},          \
			{"ev", 3, false},                                                          \
	}
#define ITEM_WIDTH     29
#define ITEM_WIDTH_MAX 60

/* What one item's rows have together. */
struct sum {
	uint64_t wall_ns, work_ns, bytes;
	bool grades[GRADE_COUNT];
	size_t rows;
};

/* H2D moves again what was read: the item's bytes are those of the files. */
static bool counts_bytes(const struct ledger_row *r)
{
	return r->bytes != UNKNOWN &&
	       !(r->item == ITEM_WEIGHTS && r->sub && strcmp(r->sub, kind_sub(KIND_H2D)) == 0);
}

static struct sum sum_of(const struct shown *s, int item)
{
	struct sum sum = {.work_ns = UNKNOWN, .bytes = UNKNOWN};

	for (size_t i = 0; i < s->n_rows; i++) {
		const struct ledger_row *r = &s->rows[i];

		if (r->item != item)
			continue;
		sum.rows++;
		sum.wall_ns += r->wall_ns;
		if (r->work_ns != UNKNOWN)
			sum.work_ns = (sum.work_ns == UNKNOWN ? 0 : sum.work_ns) + r->work_ns;
		if (counts_bytes(r))
			sum.bytes = (sum.bytes == UNKNOWN ? 0 : sum.bytes) + r->bytes;
		if (r->wall_ns && r->grade < GRADE_COUNT)
			sum.grades[r->grade] = true;
	}
	return sum;
}

/* At most 8 columns up to four months. */
static void add_seconds(struct str *b, uint64_t ns)
{
	double s = (double)ns / 1e9;

	str_addf(b, "%.*f", s < 9999.9995 ? 3 : s < 999999.95 ? 1 : 0, s);
}

static void add_times(struct line *l, uint64_t wall_ns, uint64_t work_ns, uint64_t whole_ns,
		      bool utf8)
{
	add_seconds(&l->cells[COLUMN_SECONDS], wall_ns);
	if (whole_ns)
		str_addf(&l->cells[COLUMN_SHARE], "%.1f%%",
			 100 * (double)wall_ns / (double)whole_ns);
	text_bar(&l->cells[COLUMN_BAR], wall_ns, whole_ns, BAR_WIDTH, utf8);
	if (work_ns != UNKNOWN)
		add_seconds(&l->cells[COLUMN_WORK], work_ns);
}

static void add_item(struct lines *out, const struct shown *s, int item, uint64_t whole_ns,
		     bool utf8)
{
	struct sum sum = sum_of(s, item);
	bool much = item == ITEM_OTHER && sum.wall_ns * 20 > whole_ns;
	struct line *l = lines_add(out, much ? LINE_WARN : LINE_BOLD);

	str_add(&l->cells[COLUMN_ITEM], item_title(item));
	if (!sum.rows && item != ITEM_OTHER) {
		str_add(&l->cells[COLUMN_SECONDS], "-");
		return;
	}
	add_times(l, sum.wall_ns, sum.work_ns, whole_ns, utf8);
	if (sum.bytes != UNKNOWN && sum.bytes)
		text_bytes(&l->cells[COLUMN_BYTES], sum.bytes);
	for (int g = 0; g < GRADE_COUNT; g++)
		if (sum.grades[g])
			str_addn(&l->cells[COLUMN_MARK], grade_word(g), 1);
}

static void add_row(struct lines *out, const struct ledger_row *r, uint64_t whole_ns, bool utf8)
{
	struct line *l = lines_add(out, LINE_DIM);

	str_addf(&l->cells[COLUMN_ITEM], "  %s", r->sub ? r->sub : "-");
	add_times(l, r->wall_ns, r->work_ns, whole_ns, utf8);
	if (r->bytes != UNKNOWN && r->bytes) {
		if (r->wall_ns >= SHORT_RATE_NS)
			text_rate(&l->cells[COLUMN_BYTES], r->bytes, r->wall_ns);
		else
			text_bytes(&l->cells[COLUMN_BYTES], r->bytes);
	}
	if (r->grade < GRADE_COUNT)
		str_addn(&l->cells[COLUMN_MARK], grade_word(r->grade), 1);
}

/* "died of signal 9 (Killed)", "ended with status 1", ... */
static void add_ending(struct str *b, const struct run *run)
{
	if (run->status != -1 && WIFSIGNALED(run->status))
		str_addf(b, "killed by signal %d (%s)", WTERMSIG(run->status),
			 strsignal(WTERMSIG(run->status)));
	else if (run->status != -1 && WIFEXITED(run->status))
		str_addf(b, "ended with status %d", WEXITSTATUS(run->status));
	else if (run->ending && !strcmp(run->ending, "so far"))
		str_add(b, "still starting");
	else
		str_addf(b, "ended: %s", run->ending ? run->ending : "unknown");
}

/* Who asks from time to time sees it late. */
static void add_mark(struct str *b, const struct shown *s)
{
	str_addf(b, " (%s", s->mark);
	vec_for_each (m, &s->trace->marks)
		if (m->name && !strcmp(m->name, s->mark) && m->late_ns != UNKNOWN &&
		    m->late_ns >= LATE_TOLD_NS)
			str_addf(b, ", up to %.3f s late", (double)m->late_ns / 1e9);
	str_add(b, ")");
}

static void print_head(FILE *out, const struct look *look, const struct shown *s)
{
	const struct run *run = &s->trace->run;
	struct str b = {0};

	if (s->mark)
		str_add(&b, "ready after ");
	else
		str_add(&b, "not ready, after ");
	str_addf(&b, "%.3f s", (double)(s->end_ns - run->start_ns) / 1e9);
	if (s->mark) {
		add_mark(&b, s);
	} else {
		str_add(&b, ": ");
		add_ending(&b, run);
		if (s->n_segments) {
			const struct segment *last = &s->segments[s->n_segments - 1];

			str_addf(&b, ", in %s%s%s", item_title(last->item), last->sub ? ": " : "",
				 last->sub ? last->sub : "");
		}
	}
	if (run->id)
		str_addf(&b, "; run %" PRId64, run->id);
	str_addf(&b, ", tier %d, state %s", run->tier, run->state ? run->state : "unknown");
	if (run->label && *run->label)
		str_addf(&b, ", %s", run->label);
	text_paragraph(out, "coldprof: ", str_get(&b), look);
	str_free(&b);
}

/* The process that drove most of an item's sub-line. */
static void add_driver(struct str *b, const struct shown *s, const struct ledger_row *r)
{
	size_t n = s->trace->processes.n;
	uint64_t *wall = xcalloc(n + 1, sizeof(*wall));
	size_t best = 0;

	for (size_t i = 0; i < s->n_segments; i++) {
		const struct segment *x = &s->segments[i];

		if (x->item == r->item && x->grade == r->grade && x->process >= 0 &&
		    (size_t)x->process < n &&
		    (x->sub == r->sub || (x->sub && r->sub && strcmp(x->sub, r->sub) == 0)))
			wall[x->process] += x->end_ns - x->start_ns;
	}
	for (size_t i = 0; i < n; i++)
		best = wall[i] > wall[best] ? i : best;
	if (n && wall[best]) {
		const struct process *p = &s->trace->processes.v[best];

		str_addf(b, "; %s %s (pid %d)", wall[best] < r->wall_ns ? "mostly in" : "in",
			 p->name ? p->name : "?", p->pid);
		if (wall[best] < r->wall_ns)
			str_addf(b, ", %.3f s", (double)wall[best] / 1e9);
	}
	free(wall);
}

/* Which of the four the driving thread mostly did. */
static void add_cause(struct str *b, const struct ledger_row *r)
{
	const uint64_t ns[] = {r->cpu_ns, r->runnable_ns, r->io_wait_ns, r->sleep_ns};
	static const char *const words[] = {"on the CPU", "waiting for a CPU",
					    "waiting for storage", "asleep"};
	int best = -1;

	for (int i = 0; i < 4; i++)
		if (ns[i] != UNKNOWN && (best < 0 || ns[i] > ns[best]))
			best = i;
	if (best >= 0 && ns[best] && r->wall_ns)
		str_addf(b, ", %.0f%% of it %s", 100 * (double)ns[best] / (double)r->wall_ns,
			 words[best]);
}

static void print_causes(FILE *out, const struct look *look, const struct shown *s,
			 uint64_t whole_ns)
{
	bool *told = xcalloc(s->n_rows + 1, sizeof(*told));

	for (int n = 0; n < N_CAUSES; n++) {
		const struct ledger_row *best = NULL;
		struct str b = {0};

		for (size_t i = 0; i < s->n_rows; i++)
			if (!told[i] && s->rows[i].wall_ns &&
			    (!best || s->rows[i].wall_ns > best->wall_ns))
				best = &s->rows[i];
		if (!best)
			break;
		told[best - s->rows] = true;
		str_addf(&b, "%.3f s (%.0f%%) %s: %s", (double)best->wall_ns / 1e9,
			 whole_ns ? 100 * (double)best->wall_ns / (double)whole_ns : 0.0,
			 item_title(best->item), best->sub ? best->sub : "-");
		add_cause(&b, best);
		add_driver(&b, s, best);
		text_paragraph(out, n ? "         " : "largest  ", str_get(&b), look);
		str_free(&b);
	}
	free(told);
}

static bool is_severity(const struct diagnostic *d, const char *word)
{
	return d->severity && strcmp(d->severity, word) == 0;
}

static void print_diagnostic(FILE *out, const struct look *look, const struct diagnostic *d)
{
	const char *title = is_severity(d, "loss") ? "loss     " : "warning  ";
	struct str b = {0};

	if (is_severity(d, "cost")) {
		title = "our cost ";
		text_ns(&b, d->count * NS_PER_US);
		str_add(&b, " of CPU that coldprof itself used while it recorded");
	} else {
		str_add(&b, d->text ? d->text : "");
		if (d->count != UNKNOWN)
			str_addf(&b, " (%" PRIu64 ")", d->count);
	}
	text_paragraph(out, title, str_get(&b), look);
	str_free(&b);
}

static void print_remarks(FILE *out, const struct look *look, const struct shown *s)
{
	size_t told = 0, more = 0;

	for (size_t i = 0; i < s->n_notes; i++)
		text_paragraph(out, "note     ", s->notes[i], look);
	vec_for_each (d, &s->trace->diagnostics) {
		bool grave = is_severity(d, "warning") || is_severity(d, "loss");

		if (!grave && (!is_severity(d, "cost") || d->count == UNKNOWN))
			continue;
		if (grave && told == N_REMARKS) {
			more++;
			continue;
		}
		told += grave;
		print_diagnostic(out, look, d);
	}
	if (more)
		fprintf(out, "         %zu more: coldprof report diagnostics\n", more);
}

int show_ledger(FILE *out, const struct look *look, const struct shown *s)
{
	size_t spare = look->width > 80 ? (size_t)look->width - 80 : 0;
	size_t item_width =
		ITEM_WIDTH + spare < ITEM_WIDTH_MAX ? ITEM_WIDTH + spare : ITEM_WIDTH_MAX;
	const struct line_column columns[] = COLUMNS(item_width);
	struct lines lines = {columns, sizeof(columns) / sizeof(columns[0]), {0}};
	uint64_t whole_ns = s->end_ns - s->trace->run.start_ns, sum_ns = 0;
	struct line *l;
	int r;

	if (s->end_ns == UNKNOWN) {
		fprintf(out,
			"coldprof: run %" PRId64 " was begun and not finished: it has no ledger\n",
			s->trace->run.id);
		print_remarks(out, look, s);
		return ferror(out) ? -EIO : 0;
	}
	print_head(out, look, s);
	fputc('\n', out);
	for (int item = 0; item < ITEM_COUNT; item++) {
		add_item(&lines, s, item, whole_ns, look->utf8);
		for (size_t i = 0; i < s->n_rows; i++)
			if (s->rows[i].item == item) {
				add_row(&lines, &s->rows[i], whole_ns, look->utf8);
				sum_ns += s->rows[i].wall_ns;
			}
	}
	l = lines_add(&lines, LINE_BOLD);
	str_add(&l->cells[COLUMN_ITEM], "total");
	add_seconds(&l->cells[COLUMN_SECONDS], sum_ns);
	if (whole_ns)
		str_addf(&l->cells[COLUMN_SHARE], "%.1f%%",
			 100 * (double)sum_ns / (double)whole_ns);
	r = lines_print(out, &lines, look);
	lines_free(&lines);
	fputs("ev: m measured, d declared by the engine's log, i inferred\n\n", out);
	print_causes(out, look, s, whole_ns);
	print_remarks(out, look, s);
	return r < 0 || ferror(out) ? (r < 0 ? r : -EIO) : 0;
}
