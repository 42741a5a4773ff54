/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is to a preloaded library, told from its file. */
#pragma once
#include <stdbool.h>

enum program_kind {
	PROGRAM_FINE,
	PROGRAM_STATIC,	   /* nothing can be preloaded; its children may be fine */
	PROGRAM_SECURE,	   /* set-uid or capabilities: the loader ignores the shim */
	PROGRAM_CLASS,	   /* another word size: the loader would complain on stderr */
	PROGRAM_MACHINE,   /* of an emulator, as before */
	PROGRAM_LIBC,	   /* another libc */
	PROGRAM_SANITIZER, /* wants its runtime to come first, else it ends at once */
	PROGRAM_UNKNOWN,
	PROGRAM_KIND_COUNT
};

/*
 * The program that exec will find for `name` under PATH=`path` (NULL: libc's own), or the one behind
 * its #! lines, and behind the env of such a line.
 */
enum program_kind program_look(const char *name, const char *path);
/* The file that was run, or the interpreter of its #! lines. */
enum program_kind program_of_file(const char *file);
/* False where preloading would do harm. */
bool program_takes_shim(enum program_kind kind);
/* Why the shim is not in it: a sentence, and the word that the store keeps; NULL: no reason known. */
const char *program_why(enum program_kind kind);
const char *program_word(enum program_kind kind);
