/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a start before it starts: which they are,
 * what of them is in the page cache, and getting it out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "launch/residency.h"
#include "launch/settle.h"
#include "store/store.h"

#define RUNS_BACK 64 /* how far an earlier run of the same command is looked for */
#define NAMED_MAX 3

struct tally {
	size_t files, unknown; /* unknown: of the files, those whose residency is not told */
	uint64_t size_bytes, before_bytes, after_bytes; /* of the others */
	size_t stayed;					/* files with more than 1 % left */
	struct str names;
};

static bool known(const struct trace *t, uint64_t dev, uint64_t ino)
{
	vec_for_each (f, &t->files) {
		if (f->dev == dev && f->ino == ino)
			return true;
	}
	return false;
}

static void name_it(struct tally *sum, const char *path, const struct residency *r)
{
	if (sum->stayed++ >= NAMED_MAX)
		return;
	str_addf(&sum->names, "\n  %s: %.1f MB", path, (double)r->resident_bytes / 1e6);
	if (residency_in_memory(r))
		str_addf(&sum->names, " (%s is memory)", r->fs);
	else if (r->dirty_bytes && r->dirty_bytes != RESIDENT_UNKNOWN)
		str_add(&sum->names, " (not yet written)");
	else
		str_add(&sum->names, " (in use, or kept by its file system)");
}

/* One file: evicted when asked for, looked at, and put into the trace. */
static void take(struct start *s, const char *path, uint8_t cls, bool evict, struct tally *sum)
{
	struct trace *t = &s->trace;
	struct file f = {.path = trace_str(t, path), .cls = cls};
	struct residency r;
	uint64_t before_bytes;
	char *target;

	if (residency_look(path, &r) || known(t, wire_dev(r.dev), r.ino))
		return;
	sum->files++;
	before_bytes = r.resident_bytes;
	if (evict && r.resident_bytes) {
		residency_evict(path);
		residency_look(path, &r);
	}
	if (before_bytes == RESIDENT_UNKNOWN || r.resident_bytes == RESIDENT_UNKNOWN) {
		sum->unknown++;
	} else {
		sum->size_bytes += r.size_bytes;
		sum->before_bytes += before_bytes;
		sum->after_bytes += r.resident_bytes;
	}
	if (evict && r.resident_bytes != RESIDENT_UNKNOWN && r.resident_bytes * 100 > r.size_bytes)
		name_it(sum, path, &r);
	target = realpath(path, NULL);
	if (target && strcmp(target, path))
		f.target = trace_str(t, target);
	free(target);
	f.dev = wire_dev(r.dev);
	f.ino = r.ino;
	f.size_bytes = r.size_bytes;
	f.fs = trace_str(t, r.fs);
	f.resident_before_bytes = r.resident_bytes;
	vec_push(&t->files, f);
}

/* The last stored run of the same command; -ENOENT none. */
static int earlier_run(struct start *s, struct store *store, struct trace *ret_trace)
{
	int64_t id;
	int rc = store_last_run(store, &id, NULL);

	for (int back = 0; !rc && id > 0 && back < RUNS_BACK; id--, back++) {
		struct trace t;
		bool same;

		if (id == s->trace.run.id || store_load_run(store, id, &t, NULL))
			continue;
		same = t.run.command_json && !strcmp(t.run.command_json, s->trace.run.command_json);
		trace_done(&t);
		if (same && !store_load_trace(store, id, ret_trace, NULL)) {
			if (ret_trace->files.n)
				return 0;
			trace_done(ret_trace);
		}
	}
	return -ENOENT;
}

static void tell(struct start *s, const char *what, const struct tally *sum, bool evicted)
{
	struct trace *t = &s->trace;
	size_t told = sum->files - sum->unknown;

	if (told)
		trace_note(t, "launch", "info", sum->after_bytes,
			   "bytes resident before the start, of %llu in %zu %s%s",
			   (unsigned long long)sum->size_bytes, told, what,
			   evicted ? ", after eviction" : "");
	if (sum->unknown)
		trace_note(t, "launch", "warning", sum->unknown,
			   "%s whose residency the kernel does not tell", what);
	if (!evicted || s->rec->quiet)
		return;
	if (told)
		cli_say("evicted %zu %s: %.1f of %.1f MB were resident, %.1f MB stay%s", told, what,
			(double)sum->before_bytes / 1e6, (double)sum->size_bytes / 1e6,
			(double)sum->after_bytes / 1e6, str_get(&sum->names));
	if (sum->unknown)
		cli_say("asked %zu %s out of the page cache, but the kernel does not tell whether "
			"they went",
			sum->unknown, what);
}

/* Compile caches are a state of their own: looked at, never evicted. */
static bool in_caches(const struct record *rec, const char *path)
{
	for (char **c = rec->caches.v; *c; c++) {
		size_t n = strlen(*c);

		if (!strncmp(path, *c, n) && path[n] == '/')
			return true;
	}
	return false;
}

static void earlier_files(struct start *s, bool weights, bool evict, struct tally *sum)
{
	struct store *store;
	struct trace t;

	if (store_open(s->rec->db, STORE_READ, &store, NULL))
		return;
	if (!earlier_run(s, store, &t)) {
		vec_for_each (f, &t.files) {
			bool cache = f->cls == FILE_COMPILE_CACHE || in_caches(s->rec, f->path);

			if (f->path[0] == '/' && !cache && (f->cls == FILE_WEIGHTS) == weights)
				take(s, f->path, f->cls, evict, sum);
		}
		trace_done(&t);
	}
	store_close(store);
}

void files_before(struct start *s)
{
	struct tally weights = {0}, others = {0};
	for (char **path = s->rec->weights.v; *path; path++)
		take(s, *path, FILE_WEIGHTS, s->cold_wanted, &weights);
	earlier_files(s, true, s->cold_wanted, &weights);
	earlier_files(s, false, s->cold_wanted, &others);
	tell(s, "weight files", &weights, s->cold_wanted);
	tell(s, "other files that an earlier run read", &others, s->cold_wanted);
	if (s->cold_wanted && !weights.files && !s->rec->quiet)
		cli_say("no weight files are known before this start: it cannot be made cold, only "
			"found so");
	for (char **folder = s->rec->caches.v; *folder; folder++)
		vec_push(&s->before.caches_held, (int8_t)folder_holds(*folder));
	str_free(&weights.names);
	str_free(&others.names);
}
