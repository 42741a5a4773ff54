/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the plain model share: facts of a start, and what a process is in. */
#pragma once
#include "brute.h"

#define MS     1000000ull
#define NO_TID (-1)

/* A piece of evidence, a compiler's life or a span, as the rules see it. */
struct piece {
	int32_t p, tid;
	int kind, item; /* kind -1: a declared span */
	uint64_t a, b;
	const char *name;
	bool container;
};

struct wait {
	int32_t p, tid;
	uint64_t a, b;
	int state; /* 0 awake, 1 waiting, 2 unknown */
	uint64_t cpu, yields;
};

typedef VEC(struct piece) piece_list;
typedef VEC(struct wait) wait_list;
typedef VEC(uint64_t) time_list;

enum stage { INIT, CONTEXT, WEIGHTS, JIT, DONE };

/* When a process enters and leaves its stages. */
struct facts {
	bool ctx;
	uint64_t start, first, ctx_start, ctx_leave, in, done;
};

struct world {
	struct trace *t;
	uint64_t s, e;
	piece_list pieces;
	wait_list runs; /* per thread, states merged and smoothed */
	piece_list syncs;
	bool *relevant, *helper;
	struct facts *facts; /* of each process; they do not change with time */
};

static inline const struct process *proc(const struct world *w, int p)
{
	return &w->t->processes.v[p];
}

static inline bool counted(int item)
{
	return item >= ITEM_CUDA_CONTEXT && item <= ITEM_GRAPHS_JIT;
}

static inline bool small_alloc(const struct piece *x)
{
	return x->kind >= 0 && x->item == ITEM_ALLOCATOR && x->b - x->a < 10 * MS;
}

static inline bool at(const struct piece *x, uint64_t t)
{
	return x->a <= t && t < x->b;
}

static inline int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* brute_world.c: everything here is prepared once; nothing of it depends on an instant. */
void open_world(struct world *w, struct trace *t, uint64_t end_ns);
void close_world(struct world *w);
/* Is `p` below `from`, or the same? */
bool descends(const struct world *w, int p, int from);
/* Does the thread wait at t? Does it work without a wait from `from` to t? */
bool waits(const struct world *w, int p, int tid, uint64_t t);
bool works(const struct world *w, int p, int tid, uint64_t from, uint64_t t);
/* The stage at t; *leave: when it leaves that stage. */
enum stage stage_at(const struct facts *f, uint64_t t, uint64_t *leave);

/* What process p is in at t. */
struct state {
	int item, grade, tid;
	const char *rule, *sub;
	bool gap, waiting, may_yield;
	enum stage stage;
	uint64_t leave;
};

typedef bool filter(const struct piece *x);

/* Items as the sub-line of a gap calls them. */
extern const char *const item_names[];
/* brute_state.c: rule 2 at one instant. */
struct state state_at(const struct world *w, int p, uint64_t t);
/* True when x is the innermost evidence of its thread at t. */
bool innermost(const struct world *w, const struct piece *x, uint64_t t);
/* The last piece of p before t that passes the filter, the first after it; NULL. */
const struct piece *before(const struct world *w, int p, uint64_t t, filter *f);
const struct piece *after(const struct world *w, int p, uint64_t t, filter *f);
/* Passes what may name a gap. */
bool neighbour(const struct piece *x);
/* What a sub-line calls the process. */
const char *process_name(const struct world *w, int p);
