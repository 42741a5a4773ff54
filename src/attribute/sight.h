/* SPDX-License-Identifier: Apache-2.0 */
/* What one process's evidence, spans and compilers show at a moment, moment by moment. Private to src/attribute. */
#pragma once
#include "attribute/world.h"

/* The latest or the next piece of some sort. */
struct near {
	uint64_t at; /* its end, or its start */
	int item;    /* -1: there is none */
	uint64_t a;
	uint32_t thread;
};

struct sight {
	struct world *w;
	const struct actor *actor;
	piece_list all;	     /* evidence with an item, compilers, spans */
	key_list by_a, by_b; /* of `all`; by_a: equal starts by item */
	key_list events;
	iv_list flats; /* ref: kind, tie: thread */
	iv_list spans, boxes;
	iv_list jit;	   /* union of jit */
	uint64_t *jit_sum; /* its length before each */
	/* now */
	uint64_t mask; /* kinds */
	uint32_t count[KIND_COUNT];
	size_t words;
	uint64_t *bits; /* of each kind the threads in it */
	const struct piece *span, *box;
	size_t ib, ia, iw, in; /* cursors: by_b, next neighbour, next weights, next evidence */
	struct near prev, prev_weight, prev_any, last_weight, own;
	uint32_t main;
};

void sight_open(struct sight *s, struct world *w, const struct actor *actor);
void sight_close(struct sight *s);
/* Take what begins and ends at the moment of event *i, and move *i behind it. Returns: that moment. */
uint64_t sight_step(struct sight *s, size_t *i);
/* All that ended by t is behind: prev, prev_weight, prev_any, last_weight, own. */
void sight_look_back(struct sight *s, uint64_t t);
/* The next piece of a sort that begins after t, which must not go back; NULL. */
const struct piece *sight_next_neighbour(struct sight *s, uint64_t t);
const struct piece *sight_next_weight(struct sight *s, uint64_t t);
const struct piece *sight_next_evidence(struct sight *s, uint64_t t);
/* Time of jit in [a, b). */
uint64_t sight_jit(const struct sight *s, uint64_t a, uint64_t b);
/* The thread to look at in a gap: that of the evidence that ended last, else the main thread. */
uint32_t sight_thread(const struct sight *s);
/* The lowest thread that is in evidence of this kind; none (a compiler): as in a gap. */
uint32_t sight_thread_in(const struct sight *s, int kind);
