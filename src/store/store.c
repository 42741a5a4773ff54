/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/internal.h"

#define BUSY_STEP_MS 20

const char *const store_steps[] = {store_schema_sql, NULL};

static int errno_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_FULL:
		return ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return EBUSY;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return EACCES;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return EINVAL;
	case SQLITE_NOMEM:
		return ENOMEM;
	default:
		return EIO;
	}
}

/* Where no better step is known. */
static void hint_another(struct err *err)
{
	if (err && !err->hint[0])
		err_hint(err, "give another file with --db");
}

int store_error(struct store *s, struct err *err, const char *doing)
{
	int rc = sqlite3_extended_errcode(s->db);
	int errnum = errno_of(rc), system = sqlite3_system_errno(s->db);

	/* "disk I/O error" alone helps no one. */
	if (errnum == EIO && system) {
		errnum = system;
		err_sys(err, errnum, "cannot %s database '%s'", doing, s->path);
	} else {
		err_set(err, errnum, "cannot %s database '%s': %s", doing, s->path,
			sqlite3_errmsg(s->db));
	}

	switch (errnum) {
	case ENOSPC:
		err_hint(err, "make room on its file system, or give another file with --db");
		break;
	case EBUSY:
		err_set(err, errnum, "cannot %s database '%s': another writer held it for %d s",
			doing, s->path, s->wait_ms / 1000);
		err_hint(err, "try again when it is done, or give another file with --db");
		break;
	case EINVAL:
		err_hint(err, "give another file with --db; sqlite3 FILE .recover may save what is "
			      "left of this one");
		break;
	case EIO:
		if ((rc & 0xff) == SQLITE_ERROR)
			err_hint(err, "its tables are not those of this version: give another file "
				      "with --db");
		else
			err_hint(err, "what it lies on gives errors: give another file with --db");
		break;
	case EACCES:
		err_hint(err, "check the rights of the file and of its folder, or give another "
			      "file with --db");
		break;
	default:
		hint_another(err);
	}
	return -errnum;
}

static int wait_for_writer(void *arg, int calls)
{
	struct store *s = arg;

	if (calls == 0)
		s->waited_ms = 0;
	if (s->waited_ms >= s->wait_ms)
		return 0;
	poll(NULL, 0, BUSY_STEP_MS);
	s->waited_ms += BUSY_STEP_MS;
	return 1;
}

int store_exec(struct store *s, const char *sql, const char *doing, struct err *err)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0
								       : store_error(s, err, doing);
}

/*
 * IMMEDIATE: a transaction that reads first and then
 * writes would be refused at once instead of waiting.
 */
int store_begin(struct store *s, struct err *err)
{
	int r = s->depth ? 0 : store_exec(s, "BEGIN IMMEDIATE", "write to", err);

	s->depth += r >= 0;
	return r;
}

int store_commit(struct store *s, struct err *err)
{
	int r = s->depth > 1 ? 0 : store_exec(s, "COMMIT", "write to", err);

	if (r < 0)
		store_rollback(s);
	else
		s->depth--;
	return r;
}

void store_rollback(struct store *s)
{
	if (s->depth)
		s->depth--;
	if (!s->depth && !sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

int store_clear(struct store *s, const char *table, int64_t run, struct err *err)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE run = %lld", table, (long long)run);
	return store_exec(s, sql, "write to", err);
}

int store_prepare(struct store *s, const char *sql, sqlite3_stmt **ret_stmt, struct err *err)
{
	return sqlite3_prepare_v2(s->db, sql, -1, ret_stmt, NULL) == SQLITE_OK
		       ? 0
		       : store_error(s, err, "read");
}

/* SQLite tells of the file that it cannot make no more than that it is not there. */
static int check_folder(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	struct str folder = {0};
	int errnum;

	str_addn(&folder, slash ? path : ".", slash ? (size_t)(slash - path) + 1 : 1);
	errnum = access(str_get(&folder), W_OK | X_OK) < 0 ? errno : 0;
	if (errnum) {
		err_sys(err, errnum, "cannot make database '%s'", path);
		err_hint(err, "its folder must be there and be yours to write in; --db FILE or "
			      "COLDPROF_DB names another");
	}
	str_free(&folder);
	return -errnum;
}

/* What open(2) says is clearer than SQLite's "unable to open database file". */
static int check_path(const char *path, enum store_mode mode, struct err *err)
{
	struct stat st;
	int fd;

	if (!*path || !strcmp(path, ":memory:")) { /* to SQLite: a file that nobody finds again */
		err_set(err, EINVAL, "'%s' is not the name of a database", path);
		err_hint(err, "--db FILE or COLDPROF_DB names one");
		return -EINVAL;
	}
	if (stat(path, &st) < 0) {
		if (errno != ENOENT || mode == STORE_READ) {
			int errnum = errno;

			err_sys(err, errnum, "cannot open database '%s'", path);
			if (errnum == ENOENT)
				err_hint(err, "coldprof -- COMMAND makes it; --db FILE or "
					      "COLDPROF_DB names another");
			return -errnum;
		}
		return check_folder(path, err);
	}
	if (!S_ISREG(st.st_mode)) {
		err_set(err, EINVAL, "cannot open database '%s': not a regular file", path);
		return -EINVAL;
	}
	fd = open(path, (mode == STORE_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (fd < 0) {
		int errnum = errno;

		err_sys(err, errnum, "cannot open database '%s' for %s", path,
			mode == STORE_WRITE ? "writing" : "reading");
		err_hint(err, "check its rights, or give another file with --db");
		return -errnum;
	}
	close(fd);
	return 0;
}

static int open_file(struct store *s, enum store_mode mode, struct err *err)
{
	int flags = SQLITE_OPEN_READWRITE | (mode == STORE_WRITE ? SQLITE_OPEN_CREATE : 0);
	int rc;

	/* A reader who may write can also fold a log in that a killed writer left. */
	if (mode == STORE_READ && access(s->path, W_OK) < 0)
		flags = SQLITE_OPEN_READONLY;
	rc = sqlite3_open_v2(s->path, &s->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			     NULL);
	if (rc != SQLITE_OK) {
		int errnum = sqlite3_system_errno(s->db);

		if (!errnum)
			return store_error(s, err, "open");
		return err_sys(err, errnum, "cannot open database '%s'", s->path);
	}
	sqlite3_busy_handler(s->db, wait_for_writer, s);
	return 0;
}

/* 1: ours; 0: empty; negative: not for us, with the reason. */
static int recognise(struct store *s, int64_t *ret_version, struct err *err)
{
	int64_t id, tables;
	sqlite3_stmt *q;

	/* One statement sees one state: another process may be laying the file out right now. */
	if (sqlite3_prepare_v2(s->db,
			       "SELECT application_id, user_version, (SELECT count(*) FROM "
			       "sqlite_master) FROM pragma_application_id, pragma_user_version",
			       -1, &q, NULL) != SQLITE_OK)
		return store_error(s, err, "read");
	if (sqlite3_step(q) != SQLITE_ROW) {
		sqlite3_finalize(q);
		return store_error(s, err, "read");
	}
	id = sqlite3_column_int64(q, 0);
	*ret_version = sqlite3_column_int64(q, 1);
	tables = sqlite3_column_int64(q, 2);
	sqlite3_finalize(q);
	if (id == 0 && tables == 0)
		return 0;
	if (id != STORE_APPLICATION_ID) {
		err_set(err, EINVAL,
			"'%s' is a SQLite database of another program (application_id 0x%08x)",
			s->path, (unsigned)id);
		err_hint(err, "give another file with --db");
		return -EINVAL;
	}
	if (*ret_version > STORE_SCHEMA_VERSION) {
		err_set(err, EINVAL,
			"'%s' was written by a newer coldprof (schema %d, this one knows %d)",
			s->path, (int)*ret_version, STORE_SCHEMA_VERSION);
		err_hint(err, "use that coldprof, or give another file with --db");
		return -EINVAL;
	}
	return 1;
}

/* Leads an empty or older file to the present schema; another process may be doing the same. */
static int migrate(struct store *s, struct err *err)
{
	char sql[128];
	int64_t version = 0;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	r = recognise(s, &version, err);
	if (r == 0)
		version = 0;
	for (; r >= 0 && version < STORE_SCHEMA_VERSION; version++)
		r = store_exec(s, store_steps[version], "lay out", err);
	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d",
		 STORE_APPLICATION_ID, STORE_SCHEMA_VERSION);
	if (r >= 0)
		r = store_exec(s, sql, "lay out", err);
	if (r < 0) {
		store_rollback(s);
		return r;
	}
	return store_commit(s, err);
}

/*
 * To change the mode a connection wants the file for itself, and would wait for that with the file
 * half taken, as would another: neither waits inside SQLite, both let go and try again.
 */
static int journal_mode(struct store *s, const char *sql)
{
	uint64_t until_ns = clock_now_ns() + (uint64_t)s->wait_ms * NS_PER_MS;
	int rc, wait_ms = s->wait_ms;

	s->wait_ms = s->waited_ms = 0;
	while ((rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL)) != SQLITE_OK &&
	       (rc & 0xff) == SQLITE_BUSY && clock_now_ns() < until_ns)
		poll(NULL, 0, BUSY_STEP_MS / 2 + getpid() % BUSY_STEP_MS);
	s->wait_ms = wait_ms;
	if ((rc & 0xff) == SQLITE_BUSY)
		s->waited_ms = wait_ms;
	return rc;
}

static int prepare_to_write(struct store *s, bool current, struct err *err)
{
	int r;

	/*
	 * On file systems without shared memory SQLite
	 * stays with a rollback journal, which is as safe.
	 */
	if (journal_mode(s, "PRAGMA journal_mode = WAL") != SQLITE_OK)
		return store_error(s, err, "write to");
	r = store_exec(s, "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384", "open", err);
	return r < 0 || current ? r : migrate(s, err);
}

int store_open(const char *path, enum store_mode mode, struct store **ret_store, struct err *err)
{
	return store_open_within(path, mode, STORE_BUSY_TIMEOUT_MS, ret_store, err);
}

int store_open_within(const char *path, enum store_mode mode, int wait_ms, struct store **ret_store,
		      struct err *err)
{
	struct store *s;
	int64_t version = 0;
	int r = check_path(path, mode, err);

	if (r < 0) {
		hint_another(err);
		return r;
	}
	s = xcalloc(1, sizeof(*s));
	s->path = xstrdup(path);
	s->wait_ms = wait_ms;
	r = open_file(s, mode, err);
	if (r >= 0)
		r = recognise(s, &version, err);
	if (r == -EINVAL && (sqlite3_errcode(s->db) & 0xff) == SQLITE_NOTADB)
		err_set(err, EINVAL, "'%s' is not a SQLite database", path);
	if (r >= 0 && mode == STORE_WRITE) {
		s->writes = true;
		r = prepare_to_write(s, r == 1 && version == STORE_SCHEMA_VERSION, err);
	} else if (r == 0) {
		r = err_set(err, ENOENT, "database '%s' is empty", path);
		err_hint(err, "coldprof -- COMMAND stores a run in it");
	} else if (r > 0 && version < STORE_SCHEMA_VERSION) {
		r = err_set(err, EINVAL,
			    "database '%s' has an older schema (%d, this coldprof writes %d)", path,
			    (int)version, STORE_SCHEMA_VERSION);
		err_hint(err, "the next start recorded into it brings it up to date");
	}
	/* A file from elsewhere is data: nothing in its schema is to do more than read. */
	if (r >= 0 && mode == STORE_READ)
		r = store_exec(s, "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF", "open",
			       err);
	if (r < 0) {
		hint_another(err);
		s->writes = false;
		store_close(s);
		return r;
	}
	*ret_store = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	if (s->writes) {
		/*
		 * One file is left behind, readable from a read-only
		 * folder; while others use it, the last one does this.
		 */
		sqlite3_busy_timeout(s->db, 0);
		sqlite3_exec(s->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
		sqlite3_exec(s->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	}
	sqlite3_close(s->db);
	free(s->path);
	free(s);
}
