/* SPDX-License-Identifier: Apache-2.0 */
/* Segments and ledger rows, summed. Private to src/attribute. */
#pragma once
#include "attribute/attribute.h"

/*
 * Append `s` and add it to its row; a segment that goes on
 * where the last one ended, alike in all, is merged with it.
 */
void rows_add_segment(struct ledger *l, const struct segment *s);
/* The row of (item, sub, grade), made when there is none. Borrowed until the next row is made. */
struct ledger_row *rows_find(struct ledger *l, enum item item, const char *sub, enum grade grade);
/* a + b, where UNKNOWN is the absence of a term. */
uint64_t rows_sum(uint64_t a, uint64_t b);
/* Order by item, rows with wall time first in the order of the start, then by name. */
void rows_sort(struct ledger *l);

/* Between the sub-line of a driver that waits and the name of the child that it waits for. */
#define ROWS_WAITING_ON ", waiting on "
/*
 * Put waits on children that are under 1 % of the wall into
 * their driver's row; the sum stays. Before rows_sort.
 */
void rows_fold_waits(struct ledger *l, struct trace *names);
