/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into the store comes out of it, and the schema says the same words as the model. */
#include <errno.h>

#include "tests/unit/store_helpers.h"

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
		SAME(pid), SAME(ppid), SAME(ns_pid), SAME(parent), SAME(start_ns), SAME(exec_ns),
			SAME(end_ns), SAME(status), SAME(role);
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
		SAME(process), SAME(port), SAME(at_ns), SAME(late_ns), SAME_STR(address);
	}
	EACH (marks) {
		SAME_STR(name), SAME(at_ns), SAME(late_ns);
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

/* Sums of a file's bins: what one of them does not know, the whole does not. */
static void totals_know_all_or_nothing(void)
{
	static const struct {
		struct file_io io[2];
		const char *want;
	} cases[] = {
		{{{.asked_bytes = 7, .storage_bytes = 5, .wait_ns = 3, .mode = IO_READ},
		  {.asked_bytes = 11, .storage_bytes = 0, .wait_ns = 2, .mode = IO_DIRECT}},
		 "18 5 5"},
		{{{.asked_bytes = 7, .storage_bytes = UNKNOWN, .wait_ns = 3, .mode = IO_READ},
		  {.asked_bytes = 11, .storage_bytes = 11, .wait_ns = UNKNOWN, .mode = IO_DIRECT}},
		 "18 - -"},
		{{{.asked_bytes = 7, .storage_bytes = 7, .wait_ns = 3, .mode = IO_DIRECT},
		  {.asked_bytes = 11,
		   .storage_bytes = UNKNOWN,
		   .wait_ns = UNKNOWN,
		   .mode = IO_WRITE}},
		 "7 7 3"},
	};
	const char *path = in_folder("totals.db");

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};
		struct trace t;
		struct store *s = must_open(path, STORE_WRITE);
		char sql[256];

		trace_init(&t);
		vec_add(&t.processes)->pid = 101;
		vec_add(&t.files)->path = "/models/model.safetensors";
		for (int j = 0; j < 2; j++) {
			vec_push(&t.io, cases[i].io[j]);
			vec_last(&t.io)->bin_ns = (uint64_t)j * 10000000;
		}
		if (store_begin_run(s, &t, &err) < 0 || store_put_trace(s, &t, &err) < 0)
			bail("%s", err.msg);
		store_close(s);
		snprintf(sql, sizeof(sql),
			 "SELECT asked_bytes || ' ' || coalesce(storage_bytes, '-') || ' ' || "
			 "coalesce(wait_ns, '-') FROM file_total WHERE run = %lld",
			 (long long)t.run.id);
		is_str(sql_text(path, sql), cases[i].want, "totals %zu: asked, storage, wait", i);
		trace_done(&t);
	}
}

/* A damaged number must not be followed: it is refused, and what is wrong is named. */
static void damage_is_refused(void)
{
	static const struct {
		const char *sql, *column;
	} cases[] = {
		{"UPDATE segment SET process = 100000", "process"},
		{"UPDATE segment SET item = 63", "item"},
		{"UPDATE segment SET grade = 3", "grade"},
		{"UPDATE ledger_row SET item = 7", "item"},
		{"UPDATE ledger_row SET grade = 64", "grade"},
		{"UPDATE span SET item = 7", "item"},
		{"UPDATE process SET parent = 100000", "parent"},
		{"UPDATE evidence SET process = 100000", "process"},
		{"UPDATE evidence SET file = 100000", "file"},
		{"UPDATE file_io SET file = -2", "file"},
		{"UPDATE note SET text = NULL", "text"},
		{"UPDATE note SET text = 100000", "text"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char sql[128], *path = xstrdup(in_folder("ledger.db"));
		const char **notes = NULL;
		struct segment *segments = NULL;
		struct ledger_row *rows = NULL;
		size_t n;
		struct err err = {0};
		struct trace t;
		struct store *s;
		int r;

		snprintf(sql, sizeof(sql), "cp %s %s.damaged", path, path);
		if (system(sql))
			bail("no copy of %s", path);
		strcpy(sql, path);
		strcat(sql, ".damaged");
		sql_text(sql, cases[i].sql);
		s = must_open(sql, STORE_READ);
		r = store_load_trace(s, 1, &t, &err);
		if (r >= 0) {
			r = store_load_ledger(s, 1, &t, &segments, &n, &rows, &n, &err);
			if (r >= 0)
				r = store_load_notes(s, 1, &t, &notes, &n, &err);
			trace_done(&t);
		}
		ok(r == -EINVAL && strstr(err.msg, "is damaged") &&
			   strstr(err.msg, cases[i].column),
		   "%s: %s", cases[i].sql, err.msg);
		free(segments);
		free(rows);
		free(notes);
		store_close(s);
		free(path);
	}
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

int main(void)
{
	make_folder();
	round_trip();
	ledger_round_trip();
	totals_know_all_or_nothing();
	damage_is_refused();
	schema_agrees_with_model();
	views_work();
	remove_folder();
	return done_testing();
}
