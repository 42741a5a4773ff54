/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence → wall partition and work view. Pure: no I/O, no SQL, no clock. The rules are in src/attribute/README. */
#pragma once
#include "model/model.h"

struct ledger {
	uint64_t start_ns, end_ns;	/* of the partition; the wall is their difference */
	VEC(struct segment) segments;	/* partition [start_ns, end_ns): sorted, no gap, no overlap */
	VEC(struct ledger_row) rows;	/* wall_ns of all rows sum to the wall, to the nanosecond */
	VEC(const char *) notes;	/* what is worth saying: no GPU seen, cuInit only asked, … */
	struct trace *strings;		/* owner of interned strings made here */
};

/*
 * Cut [t->run.start_ns, end_ns) into segments and sum them up.
 * Borrows strings of `t`; new strings are interned into `t`. Units: ns.
 * Returns 0, or -EINVAL when the trace has no root process or end_ns <= start.
 */
int attribute(struct trace *t, uint64_t end_ns, struct ledger *ret_ledger);
void ledger_done(struct ledger *l);
