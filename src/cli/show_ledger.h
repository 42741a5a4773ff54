/* SPDX-License-Identifier: Apache-2.0 */
/* Ledgers for people: the one of a run, stored or not, and the difference of two. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct ledger;
struct ledger_row;
struct look;
struct segment;
struct store;
struct table;
struct trace;

/* A ledger with what belongs to it; borrowed, or loaded by shown_load(). */
struct shown {
	const struct trace *trace; /* its run, processes and diagnostics are used */
	const char *command_json;  /* of the run, when it is valid JSON; NULL */
	uint64_t end_ns;	   /* where the ledger stops */
	const char *mark;	   /* the mark reached there; NULL: not ready */
	const struct segment *segments;
	size_t n_segments;
	const struct ledger_row *rows;
	size_t n_rows;
	const char *const *notes;
	size_t n_notes;
	void *owned; /* of shown_load() */
};

/* A ledger just made of `t`, up to where it was `mark` (NULL: not ready). Borrows all three. */
struct shown shown_of(const struct trace *t, const struct ledger *l, const char *mark);
/* Read the stored ledger of `run`. Owns: shown_free(). Returns: 0 or -errno. */
int shown_load(struct store *s, int64_t run, struct shown *ret, struct err *err);
/* Is the stored command of `run` valid JSON? */
bool shown_json_holds(struct store *s, int64_t run);
void shown_free(struct shown *s);

/* The ledger table and what is worth knowing below it. Returns: 0, or -errno of the stream. */
int show_ledger(FILE *out, const struct look *look, const struct shown *s);
/* A ledger just made, on standard error, in one write: the guest may be writing there too. */
void show_made(const struct trace *t, const struct ledger *l);

/* Every second of difference between two runs. */
int show_delta(FILE *out, const struct look *look, const struct shown *a, const struct shown *b);
/* The files that made most of it, told from the report files of both. */
void show_delta_files(FILE *out, const struct look *look, const struct table *a,
		      const struct table *b);
/* Each item's difference by cause, the largest first. */
int show_delta_causes(FILE *out, const struct look *look, struct store *s, int64_t a, int64_t b,
		      struct err *err);
int show_stored_delta(FILE *out, const struct look *look, struct store *s, int64_t a, int64_t b,
		      struct err *err);

/* The same on standard error, in one write. `db` is opened for reading. */
int show_delta_made(const char *db, int64_t a, int64_t b, struct err *err);
