/* SPDX-License-Identifier: Apache-2.0 */
/* What the command is to a preloaded library, told from its file before anything is started. */
#pragma once
#include <stdbool.h>

enum program_kind {
	PROGRAM_FINE,
	PROGRAM_STATIC,	   /* nothing can be preloaded; its children may be fine */
	PROGRAM_SECURE,	   /* set-uid: the loader ignores the shim */
	PROGRAM_CLASS,	   /* another word size: the loader would complain on stderr */
	PROGRAM_LIBC,	   /* another libc */
	PROGRAM_SANITIZER, /* wants its runtime to come first, else it ends at once */
	PROGRAM_UNKNOWN,
};

/* Look at the program that exec will find for `name` under PATH=`path`, and behind its #! lines. */
enum program_kind program_look(const char *name, const char *path);
/* False where preloading would do harm. */
bool program_takes_shim(enum program_kind kind);
/* Why the shim is not in it; NULL for PROGRAM_FINE and PROGRAM_UNKNOWN. */
const char *program_why(enum program_kind kind);
