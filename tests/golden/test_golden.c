/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every start of tests/golden/attribution through attribute(), held against what the text expects.
 */
#include <glob.h>

#include "../tap.h"
#include "attribute/attribute.h"
#include "brute.h"
#include "start.h"

static double seconds(uint64_t ns)
{
	return ((double)ns - (double)START_NS) / 1e9;
}

static void show(const struct trace *t, const struct segment *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		diag("%.6f-%.6f %s %s %s \"%s\" rule %s", seconds(v[i].start_ns),
		     seconds(v[i].end_ns), item_word(v[i].item),
		     v[i].process >= 0 ? t->processes.v[v[i].process].name : "-",
		     grade_word(v[i].grade), v[i].sub, v[i].rule);
}

static bool fits(const struct segment *s, const struct expected *x)
{
	if (s->start_ns < x->start_ns || s->end_ns > x->end_ns || s->item != x->item)
		return false;
	if (x->process >= 0 && s->process != x->process)
		return false;
	if (x->grade >= 0 && s->grade != x->grade)
		return false;
	return (!*x->sub || strcmp(s->sub, x->sub) == 0) &&
	       (!*x->rule || strcmp(s->rule, x->rule) == 0);
}

static bool check_segments(const struct start *s, const struct ledger *l)
{
	uint64_t at = START_NS;

	vec_for_each (x, &s->expected) {
		if (x->what != EXPECT_SEGMENT)
			continue;
		if (x->start_ns != at) {
			diag("line %d leaves a gap", x->line);
			return false;
		}
		at = x->end_ns;
		vec_for_each (g, &l->segments)
			if (g->start_ns < x->end_ns && g->end_ns > x->start_ns && !fits(g, x)) {
				diag("line %d is not so", x->line);
				return false;
			}
	}
	return at == s->end_ns;
}

/* "cause ITEM PROCESS CPU SLEEP" sums over the segments of the item and process. */
static bool check_cause(const struct ledger *l, const struct expected *x)
{
	uint64_t cpu = 0, sleep = 0;

	vec_for_each (g, &l->segments)
		if (g->item == x->item && g->process == x->process && g->cpu_ns != UNKNOWN) {
			cpu += g->cpu_ns;
			sleep += g->sleep_ns;
		}
	if (cpu != x->union_ns || sleep != x->sum_ns)
		diag("line %d: cpu %.3f sleep %.3f", x->line, (double)cpu / 1e9,
		     (double)sleep / 1e9);
	return cpu == x->union_ns && sleep == x->sum_ns;
}

/* 0 seconds: there is no such row. */
static bool check_row(const struct ledger *l, const struct expected *x)
{
	uint64_t wall = 0;

	vec_for_each (r, &l->rows)
		if (r->item == x->item && strcmp(r->sub, x->sub) == 0)
			wall += r->wall_ns;
	if (wall != x->sum_ns)
		diag("line %d: row of %.3f", x->line, (double)wall / 1e9);
	return wall == x->sum_ns;
}

static bool check_rest(const struct ledger *l, const struct expected *x)
{
	uint64_t u, sum;

	if (x->what == EXPECT_CAUSE)
		return check_cause(l, x);
	if (x->what == EXPECT_ROW)
		return check_row(l, x);
	if (x->what == EXPECT_WORK) {
		ledger_work(l, x->process, x->item, &u, &sum);
		if (u != x->union_ns || sum != x->sum_ns)
			diag("line %d: union %.3f sum %.3f", x->line, (double)u / 1e9,
			     (double)sum / 1e9);
		return u == x->union_ns && sum == x->sum_ns;
	}
	vec_for_each (n, &l->notes)
		if (strstr(*n, x->sub))
			return true;
	diag("line %d: no note says \"%s\"", x->line, x->sub);
	return false;
}

static bool rows_sum_up(const struct ledger *l)
{
	uint64_t sum = 0;

	vec_for_each (r, &l->rows)
		sum += r->wall_ns;
	return sum == l->end_ns - l->start_ns;
}

static bool same_as_brute(struct start *s, const struct ledger *l)
{
	segment_list b = {0};
	bool same = true;

	brute_partition(&s->trace, s->end_ns, &b);
	same = b.n == l->segments.n;
	for (size_t i = 0; same && i < b.n; i++) {
		const struct segment *x = &b.v[i], *y = &l->segments.v[i];

		same = x->start_ns == y->start_ns && x->end_ns == y->end_ns && x->item == y->item &&
		       x->grade == y->grade && x->process == y->process &&
		       strcmp(x->rule, y->rule) == 0 && strcmp(x->sub, y->sub) == 0;
	}
	if (!same) {
		diag("the plain model of the rules says:");
		show(&s->trace, b.v, b.n);
	}
	vec_free(&b);
	return same;
}

static void test(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	struct start s;
	struct ledger l;
	char why[256];
	bool rest = true, good;

	if (start_read(path, &s, why, sizeof(why))) {
		fail("%s", why);
		return;
	}
	if (!ok(attribute(&s.trace, s.end_ns, &l) == 0, "%s: %s", name, s.title)) {
		start_done(&s);
		return;
	}
	good = check_segments(&s, &l);
	ok(good, "%s: the segments are as expected", name);
	ok(rows_sum_up(&l), "%s: rows sum to the wall", name);
	vec_for_each (x, &s.expected)
		if (x->what != EXPECT_SEGMENT)
			rest &= check_rest(&l, x);
	ok(rest, "%s: work, causes and notes are as expected", name);
	good &= ok(same_as_brute(&s, &l), "%s: the plain model of the rules agrees", name);
	if (!good)
		show(&s.trace, l.segments.v, l.segments.n);
	if (!rest)
		vec_for_each (n, &l.notes)
			diag("note: %s", *n);
	ledger_done(&l);
	start_done(&s);
}

int main(int argc, char **argv)
{
	const char *top = getenv("top_srcdir");
	char pattern[4096];
	glob_t g;

	for (int i = 1; i < argc; i++)
		test(argv[i]);
	if (argc > 1)
		return done_testing();
	snprintf(pattern, sizeof(pattern), "%s/tests/golden/attribution/*.txt", top ? top : ".");
	if (glob(pattern, 0, NULL, &g) || g.gl_pathc < 18)
		bail("the golden starts are not under %s", pattern);
	for (size_t i = 0; i < g.gl_pathc; i++)
		test(g.gl_pathv[i]);
	globfree(&g);
	return done_testing();
}
