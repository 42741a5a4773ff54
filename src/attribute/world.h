/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rules look at, prepared once: pieces, threads,
 * waits, and the relevant processes. Private to src/attribute.
 */
#pragma once
#include "attribute/attribute.h"
#include "attribute/sweep.h"

#define SHORT_NS     UINT64_C(10000000)	  /* allocations and waits below it decide nothing */
#define JIT_FILL_NS  UINT64_C(1000000000) /* that much jit between weights is no longer loading */
#define YIELD_GAP_NS UINT64_C(100000)	  /* one sched_yield at least every so often: spinning */

enum stage { STAGE_INIT, STAGE_CONTEXT, STAGE_WEIGHTS, STAGE_JIT, STAGE_DONE };

#define NO_THREAD UINT32_MAX

/* Evidence of one kind on one thread, coalesced; or a compiler's life; or a declared span. */
struct piece {
	uint64_t a, b;
	uint32_t thread; /* index in threads; NO_THREAD */
	int32_t process; /* of a compiler */
	int16_t kind;	 /* enum kind; -1 declared */
	uint16_t item;
	bool container;
	const char *name; /* of a span */
};

typedef VEC(struct piece) piece_list;

/* A maximal stretch in which a thread waits, works, or is not known. */
struct stretch {
	uint64_t a, b;
	enum { AWAKE, WAITING, NOT_KNOWN } state;
};

typedef VEC(struct stretch) stretch_list;

enum cause { CAUSE_CPU, CAUSE_RUNNABLE, CAUSE_IO_WAIT, CAUSE_SLEEP, CAUSES };

/* Running sums over a thread's time records. */
struct record {
	uint64_t a, b;
	uint64_t ns[CAUSES];		     /* UNKNOWN each */
	uint64_t sum[CAUSES], known[CAUSES]; /* before this record */
};

struct thread {
	int32_t process, tid;
	size_t piece0, pieces; /* in world.pieces, by start */
	size_t flat0, flats;   /* in world.flat: innermost evidence; ref is the kind */
	size_t wait0, waits;   /* in world.waits: disjoint, by time */
	size_t record0, records;
	size_t run0, runs;
	uint64_t works_from, works_until; /* the last answer of world_works_until */
};

/* A relevant process. */
struct actor {
	int32_t process;
	uint64_t start, first, ctx_start, ctx_leave, in, done;
	bool ctx;
	piece_list extra;  /* compilers and declared spans */
	iv_list compilers; /* the youngest living one over time; ref is the process */
	const char *init;  /* its sub-line while it starts */
};

struct world {
	struct trace *t;
	uint64_t s, e;
	uint64_t steps;
	int32_t *parent; /* of each process; NO_INDEX where the trace names none, or a circle */
	bool *helper;	 /* compiler, version probe, or below one */
	int32_t *actor;	 /* of each process the index in actors, -1 */
	VEC(struct thread) threads; /* by process, tid */
	size_t *thread0;	    /* of each process the first in threads; one more at the end */
	piece_list pieces, syncs;
	iv_list flat, waits;
	VEC(struct record) records;
	stretch_list runs;
	VEC(struct actor) actors;
	VEC(struct span) serving; /* declared spans of serving up */
	size_t *child0;		  /* of each process the first in children */
	iv_list children;	  /* the youngest living child over time; ref is the process */
};

void world_open(struct world *w, struct trace *t, uint64_t end_ns);
void world_close(struct world *w);
/* [*a, *b) cut to the run; false when nothing of it counts. */
bool world_clip(const struct world *w, uint64_t *a, uint64_t *b);
/* The thread, or NO_THREAD when nothing is known of it. */
uint32_t world_thread(const struct world *w, int32_t process, int32_t tid);
/* That of the process's main thread; NO_THREAD also for NO_INDEX. */
uint32_t world_main_thread(const struct world *w, int32_t process);
/* [a, b) cut where the thread begins and ends to wait. */
struct iv_walk world_waits(const struct world *w, uint32_t thread, uint64_t a, uint64_t b);
/* What a process is called in a sub-line. */
const char *world_name(const struct world *w, int32_t process);
/*
 * The process whose abnormal end came first; NO_INDEX none did.
 * `ret_more` (may be NULL): how many came after it.
 */
int32_t world_first_death(const struct world *w, size_t *ret_more);
bool item_counts(enum item item);
/* Evidence or a span that counts as what is before or after a gap: no container, no short allocation. */
bool piece_is_neighbour(const struct piece *x);

/* The parts of world_open, in order. */
void world_take_times(struct world *w);
void world_take_actors(struct world *w);
void world_take_compilers(struct world *w);

/* Until when a thread is known to work without a wait, from `from` on. */
uint64_t world_works_until(struct world *w, uint32_t thread, uint64_t from);
/* What the thread did in [a, b), as far as it is known; UNKNOWN each. */
void world_causes(const struct world *w, uint32_t thread, uint64_t a, uint64_t b,
		  struct segment *ret_segment);

/* The same of the youngest compiler that runs for `actor`, and there of the pass that it runs. */
void world_compiler_causes(struct world *w, const struct actor *actor, struct segment *s);

/* What a process is in over [a, b). */
struct state {
	uint64_t a, b;
	uint16_t item;
	uint8_t grade, stage;
	bool waiting;	/* its thread waits, in a gap */
	bool may_yield; /* a gap in which a sleeper steps aside */
	uint32_t thread;
	const char *sub, *rule;
};

typedef VEC(struct state) state_list;

/* Rule 2: append the states of `actor` from its start to done; they leave no gap. */
void states_of(struct world *w, const struct actor *actor, state_list *out);
/* Rule 1: cut the run into the segments of `l`. */
void drive(struct world *w, struct ledger *l);
/* The work view: l->work, and work_ns and bytes of the rows. */
void work_view(struct world *w, struct ledger *l);
void notes_write(struct world *w, struct ledger *l);
/* "weights" and the like, as neighbours of `other` are called. */
const char *item_short(int item);
