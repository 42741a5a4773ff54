/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: store_bench [EVENTS]: what storing costs beside bare SQLite inserting
 * the same rows, and what reports cost on a run of so many events (default a
 * million). One line a figure: name ours reference ratio goal ok|SHORT.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/err.h"
#include "store/report.h"
#include "store/store.h"
#include "tests/unit/traces.h"

#define FILES 2000

static char folder[] = "/tmp/coldprof-bench.XXXXXX";
static struct err err;

static void must(int r)
{
	if (r < 0) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
}

/* CPU time: what else the machine does is not our figure. */
static uint64_t cpu_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static double seconds_since(uint64_t began_ns)
{
	return (double)(cpu_now_ns() - began_ns) / 1e9;
}

/*
 * Reads of 4 KiB over many files by 16 processes, as
 * the kernel side hands them over after aggregation.
 */
static void fill(struct trace *t, size_t events)
{
	trace_init(t);
	t->run.command_json = "[\"bench\"]";
	t->run.start_ns = t->run.mono_anchor_ns = t->run.wall_anchor_ns = NS_PER_SEC;
	t->run.end_ns = t->run.ready_ns = 600 * NS_PER_SEC;
	for (int i = 0; i < 16; i++)
		vec_push(&t->processes, ((struct process){.pid = 100 + i,
							  .parent = i ? 0 : NO_INDEX,
							  .start_ns = NS_PER_SEC,
							  .end_ns = UNKNOWN,
							  .name = trace_strf(t, "worker %d", i)}));
	for (int i = 0; i < FILES; i++)
		vec_push(&t->files,
			 ((struct file){
				 .path = trace_strf(t, "/models/big/model-%05d.safetensors", i),
				 .size_bytes = 1 << 30,
				 .cls = FILE_WEIGHTS}));
	for (size_t i = 0; i < events; i++) {
		uint64_t at = NS_PER_SEC + random_below(599 * NS_PER_SEC);

		vec_push(&t->evidence,
			 ((struct evidence){(int32_t)(i % 16), 200 + (int32_t)(i % 64),
					    KIND_READ_STORAGE, SOURCE_BPF,
					    (int32_t)random_below(FILES), at, at + 50000, 4096,
					    UNKNOWN, NULL}));
		if (i % 10 == 0)
			vec_push(&t->io,
				 ((struct file_io){(int32_t)(i % 16), (int32_t)random_below(FILES),
						   at, 40960, 40960, 0, 10, 0, 500000, IO_READ}));
	}
}

static void fill_segments(const struct trace *t, size_t n, struct segment *v)
{
	uint64_t step = (t->run.end_ns - t->run.start_ns) / n;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct segment){t->run.start_ns + i * step,
					t->run.start_ns + (i + 1) * step,
					ITEM_WEIGHTS,
					GRADE_MEASURED,
					(int32_t)(i % 16),
					"storage read",
					"2.1",
					1,
					2,
					3,
					4};
}

/* The same rows into the same table, by nothing but SQLite. */
static double bare_inserts(const struct trace *t)
{
	uint64_t began;
	sqlite3_stmt *q;
	sqlite3 *db;
	char path[64];

	snprintf(path, sizeof(path), "%s/bare.db", folder);
	sqlite3_open(path, &db);
	sqlite3_exec(db,
		     "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = "
		     "-16384;"
		     "CREATE TABLE e (run INTEGER NOT NULL, id INTEGER NOT NULL, c INTEGER, d "
		     "INTEGER NOT NULL,"
		     " e INTEGER NOT NULL, f INTEGER NOT NULL, g INTEGER, h INTEGER, i INTEGER, j "
		     "INTEGER, k INTEGER,"
		     " l INTEGER, PRIMARY KEY (run, id)) STRICT, WITHOUT ROWID",
		     NULL, NULL, NULL);
	began = cpu_now_ns();
	sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	sqlite3_prepare_v2(db, "INSERT INTO e VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", -1, &q,
			   NULL);
	for (size_t i = 0; i < t->evidence.n + t->io.n; i++) {
		const struct evidence *e = &t->evidence.v[i % t->evidence.n];
		const int64_t values[] = {
			1,	 (int64_t)i,	       e->process,	   e->tid,	     7, 8,
			e->file, (int64_t)e->start_ns, (int64_t)e->end_ns, (int64_t)e->bytes};

		for (int j = 0; j < 10; j++)
			sqlite3_bind_int64(q, j + 1, values[j]);
		sqlite3_step(q);
		sqlite3_reset(q);
	}
	sqlite3_finalize(q);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(db);
	return seconds_since(began);
}

static double report_seconds(struct store *s, const char *name, const char *sql)
{
	uint64_t began = cpu_now_ns();
	struct query *q;

	must(query_open(s, name, sql, 1, &q, &err));
	while (query_next(q, &err) > 0)
		;
	query_close(q);
	return seconds_since(began);
}

int main(int argc, char **argv)
{
	size_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000,
	       n_segments = events / 10 + 1;
	struct segment *segments = xcalloc(n_segments, sizeof(*segments));
	const struct ledger_row rows[] = {
		{ITEM_WEIGHTS, GRADE_MEASURED, "storage read", 1, 2, 3, 4, 5, 6, 7}};
	double ours, bare;
	uint64_t began;
	struct store *s;
	struct trace t;
	struct stat st;
	char path[64];

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/runs.db", folder);
	fill(&t, events);
	fill_segments(&t, n_segments, segments);
	must(store_open(path, STORE_WRITE, &s, &err));
	must(store_begin_run(s, &t, &err));
	began = cpu_now_ns();
	must(store_put_trace(s, &t, &err));
	ours = seconds_since(began);
	must(store_put_ledger(s, t.run.id, segments, n_segments, rows, 1, &err));
	store_close(s);
	bare = bare_inserts(&t);
	printf("store_insert %.3fs %.3fs %.2f >=0.70 %s\n", ours, bare, bare / ours,
	       bare / ours >= 0.7 ? "ok" : "SHORT");
	must(store_open(path, STORE_READ, &s, &err));
	for (const struct report *r = store_reports; r->name; r++) {
		double seconds = report_seconds(s, r->name, r->sql);

		printf("report_%s %.3fs 1s %.3f <=1 %s\n", r->name, seconds, seconds,
		       seconds <= 1 ? "ok" : "SHORT");
	}
	store_close(s);
	if (stat(path, &st) == 0)
		printf("# %zu events, %zu segments: %.1f bytes an event\n", events, n_segments,
		       (double)st.st_size / (double)events);
	trace_done(&t);
	free(segments);
	if (fork() == 0)
		execlp("rm", "rm", "-rf", folder, NULL);
	wait(NULL);
	return 0;
}
