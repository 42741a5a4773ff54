/* SPDX-License-Identifier: Apache-2.0 */
/* The delta ledger: every second of difference between two starts, charged to one cause. Pure. */
#pragma once
#include "attribute/attribute.h"

#define DELTA_CAUSES(X)                                                                            \
	X(STORAGE, "bytes from storage")                                                           \
	X(FAULT_WAIT, "fault wait")                                                                \
	X(PAGE_CACHE, "page-cache hits")                                                           \
	X(COPY, "copies to the device")                                                            \
	X(HOST_WORK, "host work on weights")                                                       \
	X(COMPILE, "compile-cache miss")                                                           \
	X(CACHE_IO, "compile-cache I/O")                                                           \
	X(GRAPHS, "graphs and modules")                                                            \
	X(DRIVER, "driver calls")                                                                  \
	X(ON_CPU, "on CPU")                                                                        \
	X(RUNNABLE, "waiting for a CPU")                                                           \
	X(IO_WAIT, "waiting for I/O")                                                              \
	X(ASLEEP, "asleep")                                                                        \
	X(NOT_KNOWN, "cause not known")

enum delta_cause {
#define X(id, words) DELTA_##id,
	DELTA_CAUSES(X)
#undef X
		DELTA_CAUSE_COUNT
};

/* A part of an item's difference. */
struct delta_part {
	uint16_t item, cause; /* enum item, enum delta_cause */
	int64_t ns;	      /* b - a, of the wall */
	int64_t bytes;	      /* b - a, of the same evidence; INT64_MIN unknown */
	/* The file, cache folder or program with the largest part in it; NULL unknown. */
	const char *what;
	int64_t what_ns; /* that one's own difference, of busy time */
};

struct delta {
	int64_t wall_ns;	      /* b - a; the sum of item_ns */
	int64_t item_ns[ITEM_COUNT];  /* each the sum of its parts */
	VEC(struct delta_part) parts; /* by item; within it the largest first; no part is 0 */
	VEC(const char *) notes;      /* that the two began in unlike states, and how */
};

/*
 * Compare start `b` with start `a`: two ledgers, each with the trace it was
 * made from. Positive: b took longer. Strings are borrowed from, or interned
 * into, `tb`. Always succeeds; what the traces cannot tell is DELTA_NOT_KNOWN.
 */
void delta_make(const struct trace *ta, const struct ledger *la, struct trace *tb,
		const struct ledger *lb, struct delta *ret_delta);
void delta_done(struct delta *d);
const char *delta_cause_words(enum delta_cause cause);
