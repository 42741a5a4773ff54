/* SPDX-License-Identifier: Apache-2.0 */
/* What compare holds against each other: the truth log and what coldprof stored. */
#pragma once
#include <sqlite3.h>

#include "model/model.h"

/* Evidence of one kind this near is one piece to coldprof (src/ingest/coalesce.c): a loop's own work. */
#define JOIN_NS 100000

struct piece {
	uint64_t start_ns, end_ns;
};

/* One line of the truth log. */
struct line {
	char view[8], sub[32];
	enum item item;
	int pid, tid, rank;
	uint64_t start_ns, end_ns, bytes;
	uint64_t delay_ns;   /* waited for a CPU, or for the log, since this thread's last line */
	uint64_t cpu_ns;     /* used one */
	uint64_t read_bytes; /* from storage since then, UNKNOWN: not told */
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

/* What the truth says of the wall, from the start of the run to its end. */
struct wall {
	uint64_t ns[ITEM_COUNT];
	/*
	 * How far each may rightly lie from that: the waits for a CPU at the moments where the item begins and ends.
	 * There the engine's stamp and the call that coldprof sees are neighbours, and a wait between the two is on
	 * the one side of the moment for the one and on the other for the other.
	 */
	uint64_t delay_ns[ITEM_COUNT];
	uint64_t end_ns;
};

/*
 * The ready event is an interval, in which the stored end may lie anywhere. False: the log does not
 * tell how it ended.
 */
bool truth_wall(const struct judge *j, struct wall *ret);

/*
 * Time covered by the pieces of work of one process in one item, pieces of one kind on one thread joined where they
 * are as near as coldprof joins evidence; and what its threads waited in them for a CPU.
 */
uint64_t truth_busy(const struct judge *j, int pid, enum item item, uint64_t *ret_delay_ns);

/* Bytes of weights that storage gave the engine, by the kernel's own count for its threads; UNKNOWN: not told. */
uint64_t truth_storage(const struct judge *j);

/* Length of the union; sorts by start. */
uint64_t union_ns(struct piece *p, size_t n);
