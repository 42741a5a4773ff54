/* SPDX-License-Identifier: Apache-2.0 */
/* One SQLite file for many runs. The schema is in coldprof-trace(5). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct ledger_row;
struct segment;
struct store;
struct trace;

enum store_mode { STORE_READ, STORE_WRITE /* created when absent */ };

/*
 * Open `path`. Refused with a clear error: unreadable, unwritable, not SQLite, SQLite but not ours
 * (application_id), a newer user_version. An older one is migrated under STORE_WRITE. WAL while
 * open for writing; checkpointed on close.
 */
int store_open(const char *path, enum store_mode mode, struct store **ret_store, struct err *err);
/* The same, but another writer is waited for at most `wait_ms`, here and in every later call. */
int store_open_within(const char *path, enum store_mode mode, int wait_ms, struct store **ret_store,
		      struct err *err);
/* Checkpoints what was written. `s` may be NULL. */
void store_close(struct store *s);

/*
 * All that is written between begin and commit is kept, or none of it. What writes by itself takes
 * part, and so may these: then the outermost decides, and has to roll back where an inner one
 * failed. Begin and commit return 0 or -errno with `err`; a commit that failed has rolled back.
 */
int store_begin(struct store *s, struct err *err);
int store_commit(struct store *s, struct err *err);
void store_rollback(struct store *s);

/*
 * Insert the run's row, complete = 0, before anything
 * is started; sets t->run.id. Committed at once, outside of store_begin().
 */
int store_begin_run(struct store *s, struct trace *t, struct err *err);
/* Take the row of a begun run away: nothing was started. Its number is not given again. */
int store_drop_run(struct store *s, int64_t run, struct err *err);
/*
 * Write everything of `t` (accesses excepted) in one transaction;
 * what was stored of that run is replaced. complete = 1 when it became ready.
 */
int store_put_trace(struct store *s, const struct trace *t, struct err *err);
/* Replace the stored segments and rows of a run. */
int store_put_ledger(struct store *s, int64_t run, const struct segment *segments,
		     size_t n_segments, const struct ledger_row *rows, size_t n_rows,
		     struct err *err);
/* Replace the stored notes of a run's ledger (struct ledger.notes). */
int store_put_notes(struct store *s, int64_t run, const char *const *notes, size_t n,
		    struct err *err);
/*
 * Read a run back, so that it can be attributed anew. `t` is
 * initialised by the call. -ENOENT when there is no such run.
 */
int store_load_trace(struct store *s, int64_t run, struct trace *ret_trace, struct err *err);
/* Only the run's own row, its processes, settings and diagnostics: enough to show its ledger. */
int store_load_run(struct store *s, int64_t run, struct trace *ret_trace, struct err *err);
/*
 * Read the stored ledger of a run. Strings are interned into `t`. Owns: the caller frees the arrays
 * with free().
 */
int store_load_ledger(struct store *s, int64_t run, struct trace *t, struct segment **ret_segments,
		      size_t *ret_n_segments, struct ledger_row **ret_rows, size_t *ret_n_rows,
		      struct err *err);
int store_load_notes(struct store *s, int64_t run, struct trace *t, const char ***ret_notes,
		     size_t *ret_n, struct err *err);
/* 0 when the file holds that run; -ENOENT. */
int store_has_run(struct store *s, int64_t run, struct err *err);
/* The last run's id; -ENOENT when there is none. */
int store_last_run(struct store *s, int64_t *ret_run, struct err *err);
