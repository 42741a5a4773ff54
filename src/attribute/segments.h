/* SPDX-License-Identifier: Apache-2.0 */
/* Segments on their way into the ledger. Private to src/attribute. */
#pragma once
#include "attribute/world.h"

/* Append `s` with what `thread` did in it; nothing when it is empty. */
void segments_add(struct world *w, struct ledger *l, struct segment s, uint32_t thread);
/* The same for a driver that waits: cut at its children's lives, the youngest living one is named. */
void segments_add_waiting(struct world *w, struct ledger *l, struct segment s, uint32_t thread);

/*
 * [a, b), in which no candidate drives. `starts`: actors that will be candidates or were, by start and pid, `ref` their
 * index.
 */
void undriven_add(struct world *w, struct ledger *l, const key_list *starts, uint64_t a,
		  uint64_t b);
