/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting, nesting and choosing for sweeps over intervals. Private to src/attribute. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* whole * in / of, rounded down; 0 <= in <= of, 0 < of. */
static inline uint64_t share(uint64_t whole, uint64_t in, uint64_t of)
{
	uint64_t product;

	if (in == of)
		return whole;
	if (!__builtin_mul_overflow(whole, in, &product))
		return product / of;
	return (uint64_t)((unsigned __int128)whole * in / of);
}

/* [*a, *b) cut to [from, to); false when nothing of it counts. */
static inline bool cut_to(uint64_t from, uint64_t to, uint64_t *a, uint64_t *b)
{
	if (*a >= to || (*a < from && *b <= from))
		return false;
	*a = *a < from ? from : *a;
	*b = *b > to ? to : *b;
	return true;
}

/* Something at a time. */
struct key {
	uint64_t at;
	uint32_t what, ref;
};

typedef VEC(struct key) key_list;

/*
 * Sort by `at`; equal times keep their order. Linear
 * for sorted input, a radix sort else. Adds to *steps.
 */
void keys_sort(struct key *v, size_t n, uint64_t *steps);

/* Of sorted keys the first that is after `at`; n when there is none. */
size_t keys_after(const struct key *v, size_t n, uint64_t at);

/*
 * An interval that may nest: of those at a moment the
 * innermost began last; ties: ends first, then lower tie.
 */
struct iv {
	uint64_t a, b;
	uint32_t tie, ref;
};

typedef VEC(struct iv) iv_list;

/* Order by a (b, tie and ref decide between equals, so that the input's order does not matter). */
void iv_sort(struct iv *v, size_t n, uint64_t *steps);
/*
 * From `v`, sorted by a, append to `out` the disjoint pieces
 * in which each one is the innermost. Empty ones vanish. What `out` holds already stays as it is.
 */
void iv_flatten(const struct iv *v, size_t n, iv_list *out, uint64_t *steps);
/* The piece of a disjoint, sorted list that holds t, or the next one; n when there is none. */
size_t iv_at(const struct iv *v, size_t n, uint64_t t);

/* The parts of [at, end), cut where the intervals of a disjoint, sorted list begin and end. */
struct iv_walk {
	const struct iv *v;
	size_t n, i;
	uint64_t at, end;
};

struct iv_part {
	uint64_t a, b;
	const struct iv *in; /* the interval that it lies in; NULL none */
};

struct iv_walk iv_walk_over(const struct iv *v, size_t n, uint64_t a, uint64_t b);
/* False at the end. */
bool iv_walk_next(struct iv_walk *w, struct iv_part *ret, uint64_t *steps);

/* A tournament over `n` slots: the best of those that are in. O(log n) a change. */
struct tourney {
	size_t n, width;
	int32_t *win; /* of each node the best slot, -1 none */
	bool (*better)(const void *arg, int32_t a, int32_t b);
	const void *arg;
};

void tourney_init(struct tourney *y, size_t n,
		  bool (*better)(const void *arg, int32_t a, int32_t b), const void *arg);
/* Slot `i` is in (or changed) or out. */
void tourney_set(struct tourney *y, size_t i, bool in, uint64_t *steps);
/* -1 when none is in. */
int32_t tourney_best(const struct tourney *y);
void tourney_done(struct tourney *y);
