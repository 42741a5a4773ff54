/* SPDX-License-Identifier: Apache-2.0 */
/* Hold a stored run against the truth log of the same start: per item truth, ours, difference. */
#include "judge.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOADER_NS (100 * UINT64_C(1000000)) /* exec to main, at most, beside use of a CPU */

enum storage { STORAGE_ANY, STORAGE_COLD, STORAGE_WARM };

static const char usage[] =
	"usage: compare --db FILE --run N --truth FILE [--cold|--warm] [--share PERCENT]\n"
	"Prints per item what the truth engine logged, what coldprof stored, "
	"and the difference. Fails (status 1)\n"
	"outside the bounds: tier 1 and up: 1 % or 5 ms, bytes 1 %, other 1 % "
	"of the wall; tier 0: 5 % or 50 ms;\n"
	"wider by what the engine's threads waited for a CPU where the two sides' stamps are "
	"neighbours.\n"
	"The run may begin before main by what main's thread used and waited for a "
	"CPU, and 100 ms or --share.\n"
	"--cold, --warm: the weights must have come from storage, or most of them not; then what "
	"storage gave the\n"
	"engine by the kernel's count must be ours, to 1 % of the weights.\n"
	"--share: times within PERCENT of the wall instead, for machines "
	"where seconds mean little.\n";

static double of_wall; /* --share as a fraction; 0: not given */

static double share(const struct judge *j)
{
	if (of_wall > 0)
		return of_wall;
	return j->tier > 0 ? 0.01 : 0.05;
}

static uint64_t bound_ns(const struct judge *j, uint64_t truth_ns)
{
	uint64_t least = j->tier > 0 ? 5000000 : 50000000;
	uint64_t part = (uint64_t)((double)truth_ns * share(j));

	if (of_wall > 0)
		return (uint64_t)((double)(j->end_ns - j->start_ns) * of_wall);
	return part > least ? part : least;
}

static void verdict(struct judge *j, bool good)
{
	printf("  %s\n", good ? "ok" : "WRONG");
	j->failures += !good;
}

static void print_limit(uint64_t limit_ns, uint64_t delay_ns)
{
	printf("%8.1f ms", (double)limit_ns / 1e6);
	if (delay_ns >= 50000)
		printf(" +%.1f waited for a CPU", (double)delay_ns / 1e6);
}

/*
 * `ours` UNKNOWN: nothing was seen, which only tier 0 may say. delay_ns: waits for a CPU that may be between the
 * two sides' stamps, and so missing from ours, or (`both`) also too much in it.
 */
static void hold_time(struct judge *j, const char *what, uint64_t truth, uint64_t ours,
		      uint64_t delay_ns, bool both)
{
	uint64_t limit = bound_ns(j, truth);
	int64_t diff = (int64_t)(ours - truth);

	printf("%-34s %10.3f ", what, (double)truth / 1e6);
	if (ours == UNKNOWN) {
		printf("%10s %10s ", "-", "");
		print_limit(limit, 0);
		verdict(j, j->tier == 0);
		return;
	}
	printf("%10.3f %+10.3f ", (double)ours / 1e6, (double)diff / 1e6);
	print_limit(limit, delay_ns);
	verdict(j, (uint64_t)llabs(diff) <= limit + (diff < 0 || both ? delay_ns : 0));
}

static void hold_bytes(struct judge *j, const char *what, uint64_t truth, uint64_t ours)
{
	double limit = (double)truth * 0.01, diff = (double)ours - (double)truth;

	printf("%-34s %10.3f ", what, (double)truth / 1e6);
	if (ours == UNKNOWN) {
		printf("%10s %10s %8.1f MB", "-", "", limit / 1e6);
		verdict(j, j->tier == 0);
		return;
	}
	printf("%10.3f %+10.3f %8.1f MB", (double)ours / 1e6, diff / 1e6, limit / 1e6);
	verdict(j, fabs(diff) <= limit);
}

static uint64_t one_number(struct judge *j, int pid, const char *sql)
{
	sqlite3_stmt *s = judge_query(j, pid, sql);
	uint64_t v = UNKNOWN;

	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL)
		v = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return v;
}

static void hold_partition(struct judge *j)
{
	sqlite3_stmt *s = judge_query(
		j, 0, "SELECT start_ns, end_ns FROM segment WHERE run = ?1 ORDER BY id");
	uint64_t at = j->start_ns, rows;
	bool whole = true;

	while (sqlite3_step(s) == SQLITE_ROW) {
		whole &= (uint64_t)sqlite3_column_int64(s, 0) == at;
		at = (uint64_t)sqlite3_column_int64(s, 1);
	}
	sqlite3_finalize(s);
	printf("%-67s", "the segments tile the wall without gap or overlap");
	verdict(j, whole && at == j->end_ns);
	rows = one_number(j, 0, "SELECT sum(wall_ns) FROM ledger_row WHERE run = ?1");
	printf("%-67s", "the rows of the ledger sum to the wall, to the nanosecond");
	verdict(j, rows == j->end_ns - j->start_ns);
}

static uint64_t wall_of(struct judge *j, enum item item)
{
	uint64_t v = one_number(j, (int)item,
				"SELECT sum(x.end_ns - x.start_ns) FROM segment x"
				" WHERE x.run = ?1 AND x.item = ?2");

	return v == UNKNOWN ? 0 : v;
}

/* The engine knows no time of its exec, but what it did since: it used a CPU, waited for one, and loaded files. */
static void hold_begin(struct judge *j)
{
	const struct line *begin = &j->lines.v[0];
	uint64_t before_ns = begin->start_ns - j->start_ns;
	uint64_t limit = begin->cpu_ns + LOADER_NS;

	if (bound_ns(j, 0) > LOADER_NS)
		limit = begin->cpu_ns + bound_ns(j, 0);
	printf("%-34s %10s %10s %+10.3f ", "wall: exec to main", "", "", (double)before_ns / 1e6);
	print_limit(limit, begin->delay_ns);
	verdict(j, before_ns < limit + begin->delay_ns);
}

static void hold_wall(struct judge *j)
{
	uint64_t wall = j->end_ns - j->start_ns, left = wall_of(j, ITEM_OTHER), limit;
	struct wall truth;
	char what[64];

	hold_begin(j);
	if (!truth_wall(j, &truth)) {
		printf("%-67s", "the truth log tells how the start ended");
		verdict(j, false);
		return;
	}
	for (int i = 0; i < ITEM_OTHER; i++) {
		uint64_t ours = wall_of(j, (enum item)i);

		snprintf(what, sizeof(what), "wall: %s", item_word((enum item)i));
		if (!ours && truth.ns[i] > bound_ns(j, truth.ns[i]) && j->tier == 0)
			ours = UNKNOWN;
		hold_time(j, what, truth.ns[i], ours, truth.delay_ns[i], true);
	}
	hold_time(j, "wall: all", truth.end_ns - j->start_ns, wall, 0, true);
	limit = (uint64_t)((double)wall * share(j));
	printf("%-34s %10.3f %10.3f %10s ", "wall: other", (double)truth.ns[ITEM_OTHER] / 1e6,
	       (double)left / 1e6, "");
	print_limit(limit, truth.delay_ns[ITEM_OTHER]);
	verdict(j, fabs((double)left - (double)truth.ns[ITEM_OTHER]) <=
			   (double)(limit + truth.delay_ns[ITEM_OTHER]));
}

/* Evidence of the process; for graphs_jit also the lives of the compilers below it. */
static uint64_t busy(struct judge *j, int pid, enum item item)
{
	static const char evidence[] =
		"SELECT k.text, e.start_ns, e.end_ns FROM evidence e"
		" JOIN process p ON p.run = e.run AND p.id = e.process"
		" JOIN string k ON k.id = e.kind WHERE e.run = ?1 AND p.pid = ?2";
	static const char compilers[] =
		"WITH RECURSIVE below(id) AS (SELECT id FROM process WHERE run = ?1 AND pid = ?2"
		" UNION SELECT p.id FROM process p JOIN below b ON p.parent = b.id WHERE p.run = "
		"?1)"
		" SELECT 'compiler', p.start_ns, p.end_ns FROM process p JOIN below b ON b.id = "
		"p.id"
		" JOIN string r ON r.id = p.role WHERE p.run = ?1 AND r.text = 'compiler'";
	const char *const queries[] = {evidence, item == ITEM_GRAPHS_JIT ? compilers : NULL};
	VEC(struct piece) pieces = {0};
	uint64_t ns;

	for (int q = 0; q < 2 && queries[q]; q++) {
		sqlite3_stmt *s = judge_query(j, pid, queries[q]);

		while (sqlite3_step(s) == SQLITE_ROW) {
			int kind = kind_of((const char *)sqlite3_column_text(s, 0));
			struct piece p = {(uint64_t)sqlite3_column_int64(s, 1),
					  (uint64_t)sqlite3_column_int64(s, 2)};

			if (kind >= 0 && kind_item((enum kind)kind) == item &&
			    p.start_ns < j->end_ns) {
				p.end_ns = !p.end_ns || p.end_ns > j->end_ns ? j->end_ns : p.end_ns;
				vec_push(&pieces, p);
			}
		}
		sqlite3_finalize(s);
	}
	ns = pieces.n ? union_ns(pieces.v, pieces.n) : UNKNOWN;
	vec_free(&pieces);
	return ns;
}

static void hold_work(struct judge *j)
{
	static const enum item items[] = {ITEM_CUDA_CONTEXT, ITEM_ALLOCATOR, ITEM_WEIGHTS,
					  ITEM_GRAPHS_JIT};
	char what[64];

	vec_for_each (l, &j->lines) {
		if (strcmp(l->sub, "cu_init"))
			continue; /* one such line a process that works */
		for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
			uint64_t delay_ns, truth = truth_busy(j, l->pid, items[i], &delay_ns);
			uint64_t ours = busy(j, l->pid, items[i]);

			if (ours == UNKNOWN && truth <= bound_ns(j, truth))
				ours = 0;
			snprintf(what, sizeof(what), "work: %s of rank %d", item_word(items[i]),
				 l->rank < 0 ? 0 : l->rank);
			hold_time(j, what, truth, ours, delay_ns, false);
		}
	}
}

/*
 * What lay in the page cache may be taken from there at any time, so a warm start is held against the kernel's own
 * count for the engine's threads; where that is not told, against none. A cold one fetches each byte, and again what
 * was taken before its turn came.
 */
static void hold_storage(struct judge *j, uint64_t file, enum storage storage)
{
	uint64_t told = truth_storage(j), least = told, most = told;
	uint64_t ours = one_number(j, 0,
				   "SELECT sum(b.storage_bytes) FROM file_total b"
				   " JOIN file f ON f.run = b.run AND f.id = b.file"
				   " JOIN string c ON c.id = f.cls WHERE b.run = ?1"
				   " AND c.text = 'weights'");
	double limit = (double)file * 0.01, diff;

	if (told == UNKNOWN)
		least = most = told = 0;
	if (storage == STORAGE_COLD) {
		least = file;
		most = told > file ? told : file;
	}
	printf("%-34s %10.3f ", "bytes: from storage", (double)most / 1e6);
	if (ours == UNKNOWN) {
		printf("%10s %10s %8.1f MB", "-", "", limit / 1e6);
		verdict(j, j->tier == 0);
		return;
	}
	diff = (double)ours - (double)most;
	printf("%10.3f %+10.3f %8.1f MB", (double)ours / 1e6, diff / 1e6, limit / 1e6);
	verdict(j, diff <= limit && (double)ours >= (double)least - limit);
	if (storage == STORAGE_COLD)
		return;
	printf("%-67s", "most of the weights were in the page cache");
	verdict(j, told <= file / 2);
}

static void hold_all_bytes(struct judge *j, enum storage storage)
{
	uint64_t file = 0, h2d = 0;

	vec_for_each (l, &j->lines) {
		if (strcmp(l->view, "work") || l->item != ITEM_WEIGHTS)
			continue;
		if (!strcmp(l->sub, "h2d"))
			h2d += l->bytes;
		else
			file += l->bytes;
	}
	hold_bytes(
		j, "bytes: read or mapped of weights", file,
		one_number(j, 0,
			   "SELECT sum(coalesce(b.asked_bytes, 0) + coalesce(b.mapped_bytes, 0))"
			   " FROM file_total b JOIN file f ON f.run = b.run AND f.id = b.file"
			   " JOIN string c ON c.id = f.cls WHERE b.run = ?1 AND c.text = 'weights'"
			   " AND coalesce(b.asked_bytes, b.mapped_bytes) IS NOT NULL"));
	hold_bytes(j, "bytes: H2D", h2d,
		   one_number(j, 0,
			      "SELECT sum(e.bytes) FROM evidence e JOIN string k ON k.id = e.kind"
			      " WHERE e.run = ?1 AND k.text = 'h2d'"));
	if (storage != STORAGE_ANY)
		hold_storage(j, file, storage);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"db", required_argument, NULL, 'd'},	 {"run", required_argument, NULL, 'r'},
		{"truth", required_argument, NULL, 't'}, {"cold", no_argument, NULL, 'c'},
		{"warm", no_argument, NULL, 'w'},	 {"share", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},	 {NULL, 0, NULL, 0}};
	const char *db = NULL, *run = NULL, *truth = NULL;
	enum storage storage = STORAGE_ANY;
	struct judge j;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'd')
			db = optarg;
		else if (c == 'r')
			run = optarg;
		else if (c == 't')
			truth = optarg;
		else if (c == 's')
			of_wall = atof(optarg) / 100;
		else if (c == 'c' || c == 'w')
			storage = c == 'c' ? STORAGE_COLD : STORAGE_WARM;
		else
			return fputs(usage, c == 'h' ? stdout : stderr), c == 'h' ? 0 : 2;
	}
	if (!db || !run || !truth)
		return fputs(usage, stderr), 2;
	judge_open(&j, db, atoll(run), truth);
	printf("%-34s %10s %10s %10s %11s\n", "", "truth", "ours", "difference", "bound");
	hold_partition(&j);
	hold_wall(&j);
	hold_work(&j);
	hold_all_bytes(&j, storage);
	if (j.failures)
		printf("%d outside the bounds of tier %d\n", j.failures, j.tier);
	vec_free(&j.lines);
	sqlite3_close(j.db);
	return j.failures ? 1 : 0;
}
