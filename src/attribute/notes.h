/* SPDX-License-Identifier: Apache-2.0 */
/* Notes beside the ledger, one function a subject; `s` is scratch. Private to src/attribute. */
#pragma once
#include "attribute/world.h"
#include "base/str.h"

/* Make what is in `s` the next note, and empty it. */
void note_say(struct world *w, struct ledger *l, struct str *s);
/* The earliest abnormal end of a process that mattered: before what the launcher says itself. */
void note_first_death(struct world *w, struct ledger *l, struct str *s);
/* Several compilers: how many at once, and their CPU. */
void note_compilers(struct world *w, struct ledger *l, struct str *s);
/* Weight bytes that were asked for more than once. */
void note_read_again(struct world *w, struct ledger *l, struct str *s);
/* The process with most CPU in the stretch that no process drives. */
void note_who_worked(struct world *w, struct ledger *l, struct str *s);
