/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence → wall partition and work view. Pure: no I/O,
 * no SQL, no clock. The rules are in src/attribute/README.
 */
#pragma once
#include "model/model.h"

/*
 * Busy time of one item: what really happened, overlaps
 * and ranks included. Never add it to wall time.
 */
struct work {
	int32_t process;   /* index; NO_INDEX: all processes together */
	uint16_t item;	   /* enum item */
	uint64_t union_ns; /* while at least one thread was in it */
	uint64_t sum_ns;   /* added over threads (each in its innermost evidence) and processes */
	uint64_t bytes;	   /* UNKNOWN where no evidence of it carries bytes */
};

struct ledger {
	uint64_t start_ns, end_ns;    /* of the partition; the wall is their difference */
	VEC(struct segment) segments; /* partition [start_ns, end_ns): sorted, no gap, no overlap */
	VEC(struct ledger_row) rows;  /* wall_ns of all rows sum to the wall, to the nanosecond */
	VEC(struct work) work;	      /* (process, item) pairs with any work, NO_INDEX first */
	VEC(const char *) notes; /* what is worth saying: no GPU seen, cuInit only asked, … */
	uint64_t steps;		 /* operations that the sweep took, for a test of its growth */
};

/*
 * Cut [t->run.start_ns, end_ns) into segments and sum them up. What happened after end_ns does not
 * count. Borrows strings of `t`; new strings are interned into `t`, nothing else in it changes.
 * Units: ns. A compiler's lifetime comes from its process (ROLE_COMPILER), or from KIND_COMPILER
 * evidence of that process where there is some. Causes of a segment cover what the thread's times
 * cover: their sum may be less than its length, and is UNKNOWN where nothing is known. Returns 0,
 * or -EINVAL when the trace has no root process or end_ns <= start.
 */
int attribute(struct trace *t, uint64_t end_ns, struct ledger *ret_ledger);
void ledger_done(struct ledger *l);

/* The work of one process, or of all (NO_INDEX), in one item; zeros when it did none. */
void ledger_work(const struct ledger *l, int32_t process, enum item item, uint64_t *ret_union_ns,
		 uint64_t *ret_sum_ns);
