/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs, the option table and the words for the terminal. The only room that prints or exits.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct err;

/* Exit statuses of our own; every other status of `coldprof -- CMD` is the guest's. */
enum {
	EXIT_TIMEOUT = 124,   /* not ready within --timeout */
	EXIT_OURS = 125,      /* our own error, before anything was started */
	EXIT_NOT_EXEC = 126,  /* the command is there and cannot be executed */
	EXIT_NOT_FOUND = 127, /* the command is not there */
};

/* How the value of an option is read, and what stands at its offset. */
enum opt_kind {
	OPT_FLAG,    /* bool */
	OPT_STRING,  /* const char *, borrowed from argv */
	OPT_LIST,    /* opt_list: may be given several times */
	OPT_COUNT,   /* int, at least 1 */
	OPT_NUMBER,  /* int64_t, at least 1 */
	OPT_SECONDS, /* uint64_t nanoseconds, more than 0; fractions are taken */
	OPT_WORD,    /* int: index in `words` */
};

typedef VEC(const char *) opt_list;

/* One option of one verb. A table ends with an entry without a name. */
struct opt {
	const char *name;  /* long name without the dashes; of one letter: only -x */
	char letter;	   /* short form, 0 none */
	const char *value; /* what --help calls the value; NULL for a flag */
	enum opt_kind kind;
	size_t offset;		  /* in the caller's struct */
	const char *const *words; /* OPT_WORD: the allowed words, NULL-terminated */
	const char *help;
};

struct verb {
	const char *name;     /* "report"; NULL: the record verb, which is `coldprof ... -- CMD` */
	const char *synopsis; /* what stands behind the name in the usage line */
	const char *help;     /* one sentence */
	const char *more;     /* what --help of the verb says below the options; NULL nothing */
	const struct opt *options;
	/*
	 * argv[0] is the verb's name. Returns the exit status (>= 0),
	 * or -errno with `err` filled: main prints it, status 125.
	 */
	int (*run)(int argc, char **argv, struct err *err);
};

extern const struct verb verb_doctor, verb_record, verb_report, verb_diff, verb_list, verb_export;

/* All verbs, NULL-terminated; the record verb first. */
extern const struct verb *const verbs[];

/*
 * Read the options of `v` from argv[1..argc) into the struct at `ret` (already holding the
 * defaults). For the record verb reading stops at "--". What is left is moved to the front of argv:
 * argv[0..n), borrowed. --help prints and exits. Returns: n, or -EINVAL with `err` filled.
 */
int opt_parse(const struct verb *v, int argc, char **argv, void *ret, struct err *err);

/* --help of one verb, or of the whole program (`v` NULL), on standard output. */
void help_print(const struct verb *v);

/* The database: `given` (--db), else COLDPROF_DB, else ./coldprof.db. Borrowed. */
const char *cli_db(const char *given);

/* `coldprof: <msg>` and `hint: <hint>` on standard error. */
void cli_error(const struct err *err);
/* `coldprof: ...` on standard error, in one write. */
void cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
