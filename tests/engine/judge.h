/* SPDX-License-Identifier: Apache-2.0 */
/* What compare holds against each other: the truth log and what coldprof stored. */
#pragma once
#include <sqlite3.h>

#include "model/model.h"

struct piece {
	uint64_t start_ns, end_ns;
};

/* One line of the truth log. */
struct line {
	char view[8], sub[32];
	enum item item;
	int pid, rank;
	uint64_t start_ns, end_ns, bytes;
};

struct judge {
	sqlite3 *db;
	int64_t run;
	int tier;
	uint64_t start_ns, end_ns, ready_ns; /* of the stored run */
	VEC(struct line) lines;
	int failures;
};

void judge_open(struct judge *j, const char *db, int64_t run, const char *truth);

/* A statement on the database with ?1 = the run and ?2 = pid. */
sqlite3_stmt *judge_query(struct judge *j, int pid, const char *sql);

/* The first line of this view and sub (either may be NULL) of this process (0: any), or NULL. */
const struct line *judge_line(const struct judge *j, const char *view, const char *sub, int pid);

/*
 * What the truth says of the wall: per item, from the start of the
 * run to its end. The ready event is an interval, in which the stored
 * end may lie anywhere. False: the log does not tell how it ended.
 */
bool truth_wall(const struct judge *j, uint64_t ret_ns[ITEM_COUNT], uint64_t *ret_end_ns);

/* Time covered by the pieces of work of one process in one item. */
uint64_t truth_busy(const struct judge *j, int pid, enum item item);

/* Length of the union; sorts. */
uint64_t union_ns(struct piece *p, size_t n);
