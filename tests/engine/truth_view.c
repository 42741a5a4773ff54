/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the truth log, and what it says of a start. */
#include "judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void bail(const char *what, const char *why)
{
	fprintf(stderr, "compare: %s: %s\n", what, why);
	exit(2);
}

sqlite3_stmt *judge_query(struct judge *j, int pid, const char *sql)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(j->db, sql, -1, &s, NULL))
		bail("the database is not as expected", sqlite3_errmsg(j->db));
	if (sqlite3_bind_parameter_count(s) >= 1)
		sqlite3_bind_int64(s, 1, j->run);
	if (sqlite3_bind_parameter_count(s) >= 2)
		sqlite3_bind_int(s, 2, pid);
	return s;
}

static void copy_text(char *to, size_t size, sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	snprintf(to, size, "%s", text ? text : "");
}

/* SQLite's own JSON reads a line: a half one is an error, not a guess. */
static void read_truth(struct judge *j, const char *path)
{
	static const char sql[] =
		"SELECT coalesce(?1->>'view','work'), ?1->>'item', ?1->>'sub', ?1->>'pid',"
		" coalesce(?1->>'rank',-1), ?1->>'start_ns', ?1->>'end_ns', ?1->>'bytes',"
		" ?1->>'tid', coalesce(?1->>'delay_ns',0), coalesce(?1->>'cpu_ns',0),"
		" ?1->>'read_bytes'";
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t n;
	sqlite3_stmt *s;

	if (!f)
		bail(path, strerror(errno));
	if (sqlite3_prepare_v2(j->db, sql, -1, &s, NULL))
		bail("sqlite", sqlite3_errmsg(j->db));
	while ((n = getline(&text, &room, f)) > 0) {
		struct line *l;
		int item;

		if (text[n - 1] != '\n')
			bail(path, "its last line is not whole");
		sqlite3_bind_text(s, 1, text, (int)n, SQLITE_STATIC);
		if (sqlite3_step(s) != SQLITE_ROW)
			bail(path, "a line that is not JSON");
		item = item_of((const char *)sqlite3_column_text(s, 1));
		if (item < 0)
			bail(path, "a line with an unknown item");
		l = vec_add(&j->lines);
		copy_text(l->view, sizeof(l->view), s, 0);
		copy_text(l->sub, sizeof(l->sub), s, 2);
		l->item = (enum item)item;
		l->pid = sqlite3_column_int(s, 3);
		l->rank = sqlite3_column_int(s, 4);
		l->start_ns = (uint64_t)sqlite3_column_int64(s, 5);
		l->end_ns = (uint64_t)sqlite3_column_int64(s, 6);
		l->bytes = (uint64_t)sqlite3_column_int64(s, 7);
		l->tid = sqlite3_column_int(s, 8);
		l->delay_ns = (uint64_t)sqlite3_column_int64(s, 9);
		l->cpu_ns = (uint64_t)sqlite3_column_int64(s, 10);
		l->read_bytes = sqlite3_column_type(s, 11) == SQLITE_NULL
					? UNKNOWN
					: (uint64_t)sqlite3_column_int64(s, 11);
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	free(text);
	fclose(f);
	if (!j->lines.n)
		bail(path, "it is empty");
}

/* A log may hold several starts, one after the other: keep the one that this run saw. */
static void keep_one_start(struct judge *j, const char *path)
{
	size_t first = SIZE_MAX, kept = 0;

	for (size_t i = 0; i < j->lines.n; i++) {
		const struct line *l = &j->lines.v[i];
		bool root = !strcmp(l->sub, "begin") && l->rank < 0;

		if (root && first != SIZE_MAX)
			break;
		if (root && l->start_ns >= j->start_ns)
			first = i;
		if (first != SIZE_MAX)
			j->lines.v[kept++] = *l;
	}
	if (!kept)
		bail(path, "no start in it began after the run did");
	j->lines.n = kept;
}

void judge_open(struct judge *j, const char *db, int64_t run, const char *truth)
{
	sqlite3_stmt *s;

	memset(j, 0, sizeof(*j));
	j->run = run;
	if (sqlite3_open_v2(db, &j->db, SQLITE_OPEN_READONLY, NULL))
		bail(db, sqlite3_errmsg(j->db));
	s = judge_query(j, 0, "SELECT start_ns, end_ns, ready_ns, tier FROM run WHERE id = ?1");
	if (sqlite3_step(s) != SQLITE_ROW)
		bail(db, "no such run");
	j->start_ns = (uint64_t)sqlite3_column_int64(s, 0);
	j->end_ns = (uint64_t)sqlite3_column_int64(s, 1);
	j->ready_ns = sqlite3_column_type(s, 2) == SQLITE_NULL
			      ? UNKNOWN
			      : (uint64_t)sqlite3_column_int64(s, 2);
	j->tier = sqlite3_column_int(s, 3);
	sqlite3_finalize(s);
	read_truth(j, truth);
	keep_one_start(j, truth);
}

const struct line *judge_line(const struct judge *j, const char *view, const char *sub, int pid)
{
	vec_for_each (l, &j->lines)
		if ((!view || !strcmp(l->view, view)) && (!sub || !strcmp(l->sub, sub)) &&
		    (!pid || l->pid == pid))
			return l;
	return NULL;
}

static int by_start(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

uint64_t union_ns(struct piece *p, size_t n)
{
	uint64_t sum = 0, reached = 0;

	if (n)
		qsort(p, n, sizeof(*p), by_start);
	for (size_t i = 0; i < n; i++) {
		uint64_t from = p[i].start_ns > reached ? p[i].start_ns : reached;

		if (p[i].end_ns > from) {
			sum += p[i].end_ns - from;
			reached = p[i].end_ns;
		}
	}
	return sum;
}

/* The last piece of the same kind on the same thread, if this one follows it closely; else NULL. */
static struct piece *joins(struct piece *pieces, const struct line *const *of, size_t n,
			   const struct line *l)
{
	for (size_t i = n; i-- > 0;)
		if (of[i]->tid == l->tid && !strcmp(of[i]->sub, l->sub))
			return l->start_ns <= pieces[i].end_ns + JOIN_NS ? &pieces[i] : NULL;
	return NULL;
}

uint64_t truth_busy(const struct judge *j, int pid, enum item item, uint64_t *ret_delay_ns)
{
	VEC(const struct line *) of = {0};
	VEC(struct piece) pieces = {0};
	uint64_t ns;

	*ret_delay_ns = 0;
	vec_for_each (l, &j->lines) {
		struct piece *before;

		if (strcmp(l->view, "work") || l->pid != pid || l->item != item)
			continue;
		*ret_delay_ns += l->delay_ns;
		before = joins(pieces.v, of.v, pieces.n, l);
		if (before) {
			before->end_ns = l->end_ns;
			continue;
		}
		vec_push(&of, (const struct line *)l);
		vec_push(&pieces, ((struct piece){l->start_ns, l->end_ns}));
	}
	ns = union_ns(pieces.v, pieces.n);
	vec_free(&of);
	vec_free(&pieces);
	return ns;
}

uint64_t truth_storage(const struct judge *j)
{
	uint64_t sum = 0;

	vec_for_each (l, &j->lines) {
		if (l->item != ITEM_WEIGHTS ||
		    (strcmp(l->view, "work") && strcmp(l->sub, "headers")))
			continue;
		if (l->read_bytes == UNKNOWN)
			return UNKNOWN;
		sum += l->read_bytes;
	}
	return sum;
}
