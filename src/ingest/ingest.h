/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All sources → one clock, one order, one trace: shim records and
 * the probes' accesses become evidence, file_io, roles and counts.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct trace;
struct engine;

struct ingest_options {
	const struct engine *engine; /* NULL unknown */
	char *const *cache_folders;  /* absolute, NULL-terminated */
	/* Beside them, what each held before the start: 1 files, 0 nothing, -1 not known; NULL. */
	const int8_t *cache_held;
	bool caches_all; /* the program has no other compile caches */
	/* Known before the start, NULL-terminated; others are told by their magic. */
	char *const *weight_files;
};

/*
 * Read the shim's memory (`map`, `size`: the session memfd; may be NULL when no guest reached it)
 * into `t`, beside what the probes put there, and derive evidence, file classes, file_io, roles,
 * spans, graphs, cuda counts, coverage. A truncated or damaged memory is read as far as it goes,
 * and the loss becomes a diagnostic.
 */
int ingest_run(const struct ingest_options *opt, const void *map, size_t size, struct trace *t,
	       struct err *err);
