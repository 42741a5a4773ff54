/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not a store of ours is refused in words; other
 * writers are waited for; a killed writer leaves a sound file.
 */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "tests/unit/store_helpers.h"

static void refused(const char *path, enum store_mode mode, const char *words, const char *name)
{
	struct store *s = NULL;
	struct err err = {0};
	int r = store_open(path, mode, &s, &err);

	if (!ok(r < 0 && !s && strstr(err.msg, words), "%s is refused", name))
		diag("got %d: %s", r, err.msg);
	ok(err.hint[0], "with the next step (%s)", err.hint);
	if (r == 0)
		store_close(s);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		bail("cannot write %s", path);
}

static void refusals(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s", in_folder("refused.db"));

	refused(path, STORE_READ, "No such file", "an absent file, for reading,");
	refused(folder, STORE_WRITE, "not a regular file", "a folder");
	refused(in_folder("no/such/folder.db"), STORE_WRITE, "No such file",
		"a file in a folder that is not there");
	write_file(path, "");
	refused(path, STORE_READ, "is empty", "an empty file, for reading,");
	write_file(path, "This is no database, but it is long enough to be taken for one by "
			 "careless readers of headers.\n");
	refused(path, STORE_READ, "not a SQLite database", "text, for reading,");
	refused(path, STORE_WRITE, "not a SQLite database", "text, for writing,");
	is_str(sql_text(path, "SELECT 1 FROM sqlite_master"), "file is not a database",
	       "and it is left as it was");
	unlink(path);
	sql_text(path, "CREATE TABLE t (x)");
	refused(path, STORE_READ, "another program", "a foreign database, for reading,");
	refused(path, STORE_WRITE, "another program", "a foreign database, for writing,");
	unlink(path);
	sql_text(path, "PRAGMA application_id = 1234");
	refused(path, STORE_WRITE, "another program", "a foreign application_id");
	store_close(must_open(in_folder("newer.db"), STORE_WRITE));
	sql_text(in_folder("newer.db"), "PRAGMA user_version = 99");
	refused(in_folder("newer.db"), STORE_READ, "newer coldprof (schema 99",
		"a newer schema, for reading,");
	refused(in_folder("newer.db"), STORE_WRITE, "newer coldprof (schema 99",
		"a newer schema, for writing,");
}

/*
 * Root may do everything: the question is asked by a
 * child that is not root. `words` NULL: it is to open.
 */
static bool as_other_user(const char *path, enum store_mode mode, const char *words)
{
	struct store *s = NULL;
	struct err err = {0};
	int st;

	fflush(NULL);
	if (fork() > 0) {
		wait(&st);
		return st == 0;
	}
	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		_exit(9);
	if (store_open(path, mode, &s, &err) < 0)
		_exit(!words || !strstr(err.msg, words));
	store_close(s);
	_exit(words != NULL);
}

static void rights(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s", in_folder("rights.db"));
	store_close(must_open(path, STORE_WRITE));
	/* Root of a user namespace has no other user to become. */
	if (geteuid() == 0 && (chown(folder, 65534, 65534) < 0 || chown(path, 65534, 65534) < 0)) {
		skip(7, "no right to give %s away", folder);
		return;
	}
	ok(as_other_user(path, STORE_WRITE, NULL), "a file with all rights opens for writing");
	chmod(path, 0444);
	ok(as_other_user(path, STORE_WRITE, "for writing: Permission denied"),
	   "a read-only one does not");
	ok(as_other_user(path, STORE_READ, NULL), "but it opens for reading");
	chmod(folder, 0555);
	ok(as_other_user(path, STORE_READ, NULL), "in a read-only folder too");
	ok(as_other_user(in_folder("new.db"), STORE_WRITE, "Permission denied"),
	   "where none can be made, for its reason");
	chmod(path, 0644);
	ok(as_other_user(path, STORE_WRITE, "readonly database"),
	   "nor one written that needs files beside it");
	chmod(folder, 0755);
	chmod(path, 0);
	ok(as_other_user(path, STORE_READ, "for reading: Permission denied"),
	   "one without rights is refused");
}

static void locked(void)
{
	const char *path = in_folder("locked.db");
	struct store *s;
	struct trace t;
	struct err err = {0};
	sqlite3 *other;
	uint64_t began, took;

	store_close(must_open(path, STORE_WRITE));
	if (store_open_within(path, STORE_WRITE, 100, &s, &err) < 0)
		bail("cannot open %s: %s", path, err.msg);
	random_trace(&t);
	sqlite3_open(path, &other);
	sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	began = clock_now_ns();
	is_int(store_begin_run(s, &t, &err), -EBUSY,
	       "a database held by another writer is an error");
	took = clock_now_ns() - began;
	ok(took >= 100 * NS_PER_MS && took < 5 * NS_PER_SEC, "after the wait that was asked for");
	ok(strstr(err.msg, "another writer held it") != NULL, "in words: %s", err.msg);
	sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(other);
	is_int(store_begin_run(s, &t, &err), 0, "once it is free the same handle goes on");
	store_close(s);
	trace_done(&t);
}

/* A long reader keeps a writer out as long as the writer will wait: in all, not at each try. */
static void long_reader(void)
{
	const char *path = in_folder("read.db");
	struct store *s;
	struct err err = {0};
	sqlite3 *reader;
	uint64_t began;

	store_close(must_open(path, STORE_WRITE));
	sqlite3_open(path, &reader);
	sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM run", NULL, NULL, NULL);
	began = clock_now_ns();
	is_int(store_open_within(path, STORE_WRITE, 1000, &s, &err), -EBUSY,
	       "a database that a long reader holds is an error");
	ok(clock_now_ns() - began < 20 * NS_PER_SEC, "after little more than the wait asked for");
	sqlite3_close(reader);
	is_int(store_open_within(path, STORE_WRITE, 1000, &s, &err), 0, "once it is free it opens");
	store_close(s);
}

static void parallel_writers(void)
{
	char path[256];
	int st, bad = 0;

	snprintf(path, sizeof(path), "%s", in_folder("parallel.db"));
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			struct trace t;
			struct store *s;
			int r;

			random_state = (uint64_t)i + 77;
			s = must_open(path, STORE_WRITE);
			random_trace(&t);
			r = store_begin_run(s, &t, NULL);
			r |= store_put_trace(s, &t, NULL);
			store_close(s);
			_exit(r != 0);
		}
	while (wait(&st) > 0)
		bad += st != 0;
	is_int(bad, 0, "eight writers at once, into a file that none had made, all succeed");
	is_str(sql_text(path, "SELECT count(*) || ' ' || sum(complete = (ready_ns IS NOT NULL))"
			      " FROM run"),
	       "8 8", "eight runs are stored, those that became ready as complete");
	is_str(sql_text(path, "PRAGMA integrity_check"), "ok", "in a sound file");
}

static void killed_writer(void)
{
	char path[256];
	int st;

	snprintf(path, sizeof(path), "%s", in_folder("killed.db"));
	if (fork() == 0) {
		struct store *s = must_open(path, STORE_WRITE);
		struct trace t;

		random_trace(&t);
		if (store_begin_run(s, &t, NULL) < 0)
			_exit(1);
		raise(SIGKILL);
	}
	wait(&st);
	ok(WIFSIGNALED(st), "a writer is killed after it began a run");
	store_close(must_open(path, STORE_READ));
	is_str(sql_text(path, "SELECT count(*) || ' ' || complete FROM run"), "1 0",
	       "the run is there, incomplete");
	is_str(sql_text(path, "PRAGMA integrity_check"), "ok", "in a sound file");
}

int main(void)
{
	make_folder();
	refusals();
	locked();
	long_reader();
	parallel_writers();
	killed_writer();
	rights();
	remove_folder();
	return done_testing();
}
