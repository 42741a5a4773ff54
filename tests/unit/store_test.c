/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into the store comes out of it; what is not a store of ours is refused in words. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/err.h"
#include "tests/tap.h"
#include "tests/unit/traces.h"

static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static uint64_t some_u64(void)
{
	switch (random_below(8)) {
	case 0:
		return UNKNOWN;
	case 1:
		return 0;
	case 2:
		return UINT64_C(1) << 63 |
		       random_below(1000); /* not representable as a positive SQL integer */
	default:
		return random_below(UINT64_C(1) << 50);
	}
}

static const char *some_str(struct trace *t)
{
	uint64_t i = random_below(N_HOSTILE + 3);

	if (i == N_HOSTILE)
		return NULL;
	if (i > N_HOSTILE)
		return trace_strf(t, "name %llu", (unsigned long long)random_below(50));
	return trace_str(t, hostile_strings[i]);
}

static int32_t some_index(size_t n)
{
	uint64_t i = random_below(n + 1);

	return i == n ? NO_INDEX : (int32_t)i;
}

static void random_run(struct trace *t)
{
	struct run *r = &t->run;

	r->command_json = some_str(t);
	r->cwd = some_str(t);
	r->label = some_str(t);
	r->engine = some_str(t);
	r->kernel = some_str(t);
	r->host = some_str(t);
	r->wall_anchor_ns = some_u64();
	r->mono_anchor_ns = some_u64();
	r->start_ns = some_u64();
	r->ready_ns = some_u64();
	r->end_ns = some_u64();
	r->ready_mark = some_str(t);
	r->ending = some_str(t);
	r->tier = (int32_t)random_below(3);
	r->status = (int32_t)random_below(70000) - 1;
	r->state = some_str(t);
	r->state_files = some_str(t);
	r->state_caches = some_str(t);
	t->saw = (unsigned)random_below(512);
}

static void random_rows(struct trace *t)
{
	size_t np = t->processes.n, nf = t->files.n;

	vec_push(&t->evidence,
		 ((struct evidence){some_index(np), (int32_t)random_below(99999),
				    (uint16_t)random_below(KIND_COUNT),
				    (uint16_t)random_below(SOURCE_COUNT), some_index(nf),
				    some_u64(), some_u64(), some_u64(), some_u64(), some_str(t)}));
	vec_push(&t->spans, ((struct span){some_index(np), (uint16_t)random_below(ITEM_COUNT),
					   random_below(2), some_u64(), some_u64(), some_str(t)}));
	vec_push(&t->times, ((struct thread_time){some_index(np), (int32_t)random_below(99999),
						  some_u64(), some_u64(), some_u64(), some_u64(),
						  some_u64(), some_u64(), some_u64()}));
	vec_push(&t->io,
		 ((struct file_io){some_index(np), some_index(nf), some_u64(), some_u64() >> 1,
				   some_u64() >> 1, some_u64() >> 1, some_u64() >> 1,
				   some_u64() >> 1, some_u64() >> 1, (uint8_t)random_below(64)}));
	vec_push(&t->execs,
		 ((struct exec_event){some_index(np), some_u64(), some_str(t), some_str(t)}));
	vec_push(&t->log, ((struct log_line){some_index(np), (int32_t)random_below(3), some_u64(),
					     some_str(t)}));
	vec_push(&t->listeners, ((struct listener){some_index(np), (uint16_t)random_below(65536),
						   some_u64(), some_str(t)}));
	vec_push(&t->marks, ((struct mark){some_str(t), some_u64()}));
	vec_push(&t->cuda, ((struct cuda_count){some_index(np), some_str(t), some_u64(), some_u64(),
						some_u64()}));
	vec_push(&t->coverage, ((struct coverage){some_index(np), some_str(t), some_str(t),
						  some_u64(), random_below(2)}));
	vec_push(&t->graphs, ((struct graph){some_index(np), some_u64(), some_u64(), some_u64(),
					     some_u64(), some_u64(), some_u64()}));
	vec_push(&t->diagnostics,
		 ((struct diagnostic){some_str(t), some_str(t), some_str(t), some_u64()}));
	vec_push(&t->settings, ((struct setting){some_str(t), some_str(t)}));
}

static void random_trace(struct trace *t)
{
	size_t n = random_below(60);

	trace_init(t);
	random_run(t);
	for (size_t i = 0; i < 1 + n / 4; i++) {
		vec_push(&t->processes,
			 ((struct process){(int32_t)random_below(99999),
					   (int32_t)random_below(99999), some_index(i), some_u64(),
					   some_u64(), some_u64(), (int32_t)random_below(70000) - 1,
					   (uint8_t)random_below(ROLE_COUNT), random_below(2),
					   some_str(t), some_str(t), some_str(t), some_str(t)}));
		vec_push(&t->files,
			 ((struct file){some_str(t), some_str(t), some_u64(), some_u64(),
					some_u64(), some_str(t),
					(uint8_t)random_below(FILE_CLASS_COUNT), some_u64()}));
	}
	while (n--)
		random_rows(t);
}

static bool same_str(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Each comparison names its member: a column left out of the store is then told by name. */
static const char *differs;
#define SAME(member)	 (x->member == y->member ? (void)0 : (void)(differs = #member))
#define SAME_STR(member) (same_str(x->member, y->member) ? (void)0 : (void)(differs = #member))
#define EACH(vec)                                                                                  \
	if (a->vec.n != b->vec.n)                                                                  \
		differs = #vec ".n";                                                               \
	else                                                                                       \
		for (size_t i = 0; i < a->vec.n; i++)                                              \
			for (__typeof__(*a->vec.v) *x = &a->vec.v[i], *y = &b->vec.v[i]; x;        \
			     x = NULL)

static void compare_run(const struct trace *a, const struct trace *b)
{
	const struct run *x = &a->run, *y = &b->run;

	SAME_STR(command_json), SAME_STR(cwd), SAME_STR(label), SAME_STR(engine), SAME_STR(kernel),
		SAME_STR(host);
	SAME(wall_anchor_ns), SAME(mono_anchor_ns), SAME(start_ns), SAME(ready_ns), SAME(end_ns);
	SAME_STR(ready_mark), SAME_STR(ending), SAME(tier), SAME(status);
	SAME_STR(state), SAME_STR(state_files), SAME_STR(state_caches);
	if (a->saw != b->saw)
		differs = "saw";
}

static void compare_rows(const struct trace *a, const struct trace *b)
{
	EACH (processes) {
		SAME(pid), SAME(ppid), SAME(parent), SAME(start_ns), SAME(exec_ns), SAME(end_ns),
			SAME(status), SAME(role);
		SAME(shim), SAME_STR(name), SAME_STR(exe), SAME_STR(command), SAME_STR(uncovered);
	}
	EACH (files) {
		SAME_STR(path), SAME_STR(target), SAME(dev), SAME(ino), SAME(size_bytes),
			SAME_STR(fs), SAME(cls);
		SAME(resident_before_bytes);
	}
	EACH (evidence) {
		SAME(process), SAME(tid), SAME(kind), SAME(source), SAME(file), SAME(start_ns),
			SAME(end_ns), SAME(bytes);
		SAME(wait_ns), SAME_STR(what);
	}
	EACH (spans) {
		SAME(process), SAME(item), SAME(container), SAME(start_ns), SAME(end_ns),
			SAME_STR(name);
	}
	EACH (times) {
		SAME(process), SAME(tid), SAME(start_ns), SAME(end_ns), SAME(cpu_ns),
			SAME(runnable_ns), SAME(io_wait_ns);
		SAME(sleep_ns), SAME(yields);
	}
	EACH (io) {
		SAME(process), SAME(file), SAME(bin_ns), SAME(asked_bytes), SAME(storage_bytes),
			SAME(mapped_bytes);
		SAME(reads), SAME(faults), SAME(wait_ns), SAME(mode);
	}
}

static void compare_more_rows(const struct trace *a, const struct trace *b)
{
	EACH (execs) {
		SAME(process), SAME(at_ns), SAME_STR(exe), SAME_STR(command);
	}
	EACH (log) {
		SAME(process), SAME(fd), SAME(at_ns), SAME_STR(text);
	}
	EACH (listeners) {
		SAME(process), SAME(port), SAME(at_ns), SAME_STR(address);
	}
	EACH (marks) {
		SAME_STR(name), SAME(at_ns);
	}
	EACH (cuda) {
		SAME(process), SAME_STR(symbol), SAME(calls), SAME(total_ns), SAME(bytes);
	}
	EACH (coverage) {
		SAME(process), SAME_STR(symbol), SAME_STR(route), SAME(calls), SAME(hooked);
	}
	EACH (graphs) {
		SAME(process), SAME(id), SAME(nodes), SAME(capture_ns), SAME(instantiate_ns),
			SAME(upload_ns);
		SAME(first_replay_ns);
	}
	EACH (diagnostics) {
		SAME_STR(source), SAME_STR(severity), SAME_STR(text), SAME(count);
	}
	EACH (settings) {
		SAME_STR(name), SAME_STR(value);
	}
}

static const char *compare(const struct trace *a, const struct trace *b)
{
	differs = NULL;
	compare_run(a, b);
	compare_rows(a, b);
	compare_more_rows(a, b);
	return differs;
}

static struct store *must_open(const char *path, enum store_mode mode)
{
	struct store *s = NULL;
	struct err err = {0};

	if (store_open(path, mode, &s, &err) < 0)
		bail("%s", err.msg);
	return s;
}

static void round_trip(void)
{
	const char *path = in_folder("round.db");
	int bad = 0, r = 0;
	struct err err = {0};

	for (int i = 0; i < 200; i++) {
		struct trace a, b;
		struct store *s = must_open(path, STORE_WRITE);
		const char *why;

		random_trace(&a);
		r |= store_begin_run(s, &a, &err);
		r |= store_put_trace(s, &a, &err);
		store_close(s);
		s = must_open(path, STORE_READ);
		r |= store_load_trace(s, a.run.id, &b, &err);
		store_close(s);
		why = compare(&a, &b);
		if (why && !bad++)
			diag("trace %d differs in %s", i, why);
		trace_done(&a);
		trace_done(&b);
	}
	is_int(r, 0, "200 random traces are stored and loaded %s", err.msg);
	is_int(bad, 0, "each comes back as it went in");
	ok(access(in_folder("round.db-wal"), F_OK) < 0 &&
		   access(in_folder("round.db-shm"), F_OK) < 0,
	   "nothing lies beside the file");
}

static void random_ledger(struct trace *t, struct segment *x, struct ledger_row *row)
{
	*x = (struct segment){random_below(1000),
			      random_below(1000),
			      (uint16_t)random_below(ITEM_COUNT),
			      (uint16_t)random_below(GRADE_COUNT),
			      some_index(5),
			      some_str(t),
			      some_str(t),
			      some_u64(),
			      some_u64(),
			      some_u64(),
			      some_u64()};
	*row = (struct ledger_row){(uint16_t)random_below(ITEM_COUNT),
				   (uint16_t)random_below(GRADE_COUNT),
				   some_str(t),
				   random_below(1000),
				   some_u64(),
				   some_u64(),
				   some_u64(),
				   some_u64(),
				   some_u64(),
				   some_u64()};
}

static bool same_ledger(const struct segment *x, const struct segment *y,
			const struct ledger_row *p, const struct ledger_row *q)
{
	return x->start_ns == y->start_ns && x->end_ns == y->end_ns && x->item == y->item &&
	       x->grade == y->grade && x->process == y->process && same_str(x->sub, y->sub) &&
	       same_str(x->rule, y->rule) && x->cpu_ns == y->cpu_ns &&
	       x->runnable_ns == y->runnable_ns && x->io_wait_ns == y->io_wait_ns &&
	       x->sleep_ns == y->sleep_ns && p->item == q->item && p->grade == q->grade &&
	       same_str(p->sub, q->sub) && p->wall_ns == q->wall_ns && p->work_ns == q->work_ns &&
	       p->bytes == q->bytes && p->cpu_ns == q->cpu_ns && p->runnable_ns == q->runnable_ns &&
	       p->io_wait_ns == q->io_wait_ns && p->sleep_ns == q->sleep_ns;
}

static void ledger_round_trip(void)
{
	enum { N = 100 };
	struct segment in[N], *out = NULL;
	struct ledger_row rows_in[N], *rows_out = NULL;
	size_t n = 0, n_rows = 0, n_notes = 0, bad = 0;
	const char *notes_in[2] = {"no GPU was seen", "cuInit \"only\" asked"}, **notes_out = NULL;
	struct err err = {0};
	struct trace t;
	struct store *s = must_open(in_folder("ledger.db"), STORE_WRITE);
	int r;

	random_trace(&t);
	for (int i = 0; i < N; i++)
		random_ledger(&t, &in[i], &rows_in[i]);
	r = store_begin_run(s, &t, &err);
	r |= store_put_trace(s, &t, &err);
	r |= store_put_ledger(s, t.run.id, in, 7, rows_in, 9, &err);
	r |= store_put_ledger(s, t.run.id, in, N, rows_in, N, &err);
	r |= store_put_notes(s, t.run.id, notes_in, 2, &err);
	r |= store_load_ledger(s, t.run.id, &t, &out, &n, &rows_out, &n_rows, &err);
	r |= store_load_notes(s, t.run.id, &t, &notes_out, &n_notes, &err);
	is_int(r, 0, "a ledger is stored twice and loaded %s", err.msg);
	is_int((int64_t)(n * 1000 + n_rows * 10 + n_notes), N * 1000 + N * 10 + 2,
	       "the second replaces the first");
	for (size_t i = 0; i < N; i++)
		bad += n != N || n_rows != N ||
		       !same_ledger(&in[i], &out[i], &rows_in[i], &rows_out[i]);
	is_int((int64_t)bad, 0, "segments and rows come back as they went in");
	ok(n_notes == 2 && same_str(notes_in[0], notes_out[0]) &&
		   same_str(notes_in[1], notes_out[1]),
	   "notes too");
	store_close(s);
	free(out);
	free(rows_out);
	free(notes_out);
	trace_done(&t);
}

static char *sql_text(const char *path, const char *sql)
{
	static char text[512];
	sqlite3_stmt *q;
	sqlite3 *db;

	snprintf(text, sizeof(text), "(nothing)");
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) ==
	    SQLITE_OK) {
		if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
			snprintf(text, sizeof(text), "%s", sqlite3_errmsg(db));
		else if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0))
			snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(q, 0));
		sqlite3_finalize(q);
	}
	sqlite3_close(db);
	return text;
}

static void schema_agrees_with_model(void)
{
	const char *path = in_folder("ledger.db");
	char want[512] = "", *p = want;

	is_str(sql_text(path, "PRAGMA integrity_check"), "ok", "integrity_check");
	is_str(sql_text(path, "PRAGMA application_id"), "1129071696", "application_id is CLDP");
	is_str(sql_text(path, "PRAGMA user_version"), "1", "user_version");
	is_str(sql_text(path, "PRAGMA journal_mode"), "delete",
	       "the closed file needs no helper files");
	for (int i = 0; i < ITEM_COUNT; i++)
		p += sprintf(p, "%s%d %s %s", i ? "," : "", i, item_word(i), item_title(i));
	is_str(sql_text(path, "SELECT group_concat(id || ' ' || word || ' ' || title) FROM item"),
	       want, "the table item is the model's enum");
	p = want;
	for (int i = 0; i < GRADE_COUNT; i++)
		p += sprintf(p, "%s%d %s", i ? "," : "", i, grade_word(i));
	is_str(sql_text(path, "SELECT group_concat(id || ' ' || word) FROM grade"), want,
	       "and so is grade");
}

static void views_work(void)
{
	static const char *const views[] = {"runs",  "ledger", "segments",    "processes",
					    "files", "events", "spans",	      "times",
					    "reads", "log",    "listeners",   "marks",
					    "cuda",  "graphs", "diagnostics", "settings"};

	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		char sql[128];

		snprintf(sql, sizeof(sql), "SELECT 'rows' FROM %s WHERE run = 1 LIMIT 1", views[i]);
		is_str(sql_text(in_folder("ledger.db"), sql), "rows", "view %s has rows", views[i]);
	}
}

static void refused(const char *path, enum store_mode mode, const char *words, const char *name)
{
	struct store *s = NULL;
	struct err err = {0};
	int r = store_open(path, mode, &s, &err);

	if (!ok(r < 0 && !s && strstr(err.msg, words), "%s is refused", name))
		diag("got %d: %s", r, err.msg);
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

/* Root may do everything: the question is asked by a child that is not root. `words` NULL: it is to
 * open. */
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
	if (geteuid() == 0 && (chown(folder, 65534, 65534) < 0 || chown(path, 65534, 65534) < 0))
		bail("cannot give %s away", folder);
	ok(as_other_user(path, STORE_WRITE, NULL), "a file with all rights opens for writing");
	chmod(path, 0444);
	ok(as_other_user(path, STORE_WRITE, "for writing: Permission denied"),
	   "a read-only one does not");
	ok(as_other_user(path, STORE_READ, NULL), "but it opens for reading");
	chmod(folder, 0555);
	ok(as_other_user(path, STORE_READ, NULL), "in a read-only folder too");
	chmod(folder, 0755);
	chmod(path, 0);
	ok(as_other_user(path, STORE_READ, "for reading: Permission denied"),
	   "one without rights is refused");
}

static bool no_patience(void *arg)
{
	return ++*(int *)arg < 5;
}

static void locked(void)
{
	const char *path = in_folder("locked.db");
	struct store *s = must_open(path, STORE_WRITE);
	struct trace t;
	struct err err = {0};
	sqlite3 *other;
	uint64_t began;
	int calls = 0;

	random_trace(&t);
	sqlite3_open(path, &other);
	sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	store_on_busy(s, no_patience, &calls);
	began = clock_now_ns();
	is_int(store_begin_run(s, &t, &err), -EBUSY,
	       "a database held by another writer is an error");
	ok(clock_now_ns() - began < 5 * NS_PER_SEC, "the caller ends the wait");
	is_int(calls, 5, "and is asked while it lasts");
	ok(strstr(err.msg, "another writer held it") != NULL, "in words: %s", err.msg);
	sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(other);
	is_int(store_begin_run(s, &t, &err), 0, "once it is free the same handle goes on");
	store_close(s);
	trace_done(&t);
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
	is_str(sql_text(path, "SELECT count(*) || ' ' || sum(complete) FROM run"), "8 8",
	       "eight runs are stored");
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
	snprintf(folder, sizeof(folder), "/tmp/coldprof-store.XXXXXX");
	if (!mkdtemp(folder))
		bail("no folder in /tmp");
	round_trip();
	ledger_round_trip();
	schema_agrees_with_model();
	views_work();
	refusals();
	locked();
	parallel_writers();
	killed_writer();
	rights();
	if (fork() == 0)
		execlp("rm", "rm", "-rf", folder, NULL);
	wait(NULL);
	return done_testing();
}
