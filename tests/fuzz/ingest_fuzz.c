/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session memories that a guest has scribbled over, or that were cut: ingest reads what holds
 * together and never crashes, and what it makes is within its trace. The seed is fixed;
 * COLDPROF_FUZZ_SEED and COLDPROF_FUZZ_ROUNDS widen the search.
 */
#include "ingest/ingest.h"

#include "../tap.h"
#include "../unit/wire_writer.h"
#include "model/model.h"

#define MS UINT64_C(1000000)

static uint64_t state;

/* xorshift64 */
static uint64_t roll(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static void fill(struct wire_writer *w)
{
	for (int p = 0; p < 5; p++) {
		writer_process(w, 1009 + p, p ? 1008 + p : 1, (13 + (uint64_t)p) * MS,
			       WIRE_PROCESS_EXEC, "/nowhere/server", "server\0a", 8);
		writer_symbol(w, 1, WIRE_CLASS_H2D, "cuMemcpyHtoD_v2", 3, 5, 7, WIRE_ROUTE_PROC);
		writer_file(w, 1, 7, 211, 1 << 28,
			    "/nowhere/a/path/long/enough/for/two/slots/model.safetensors");
		for (unsigned i = 0; i < 90; i++) {
			uint64_t at = (100 + i * 7) * MS;

			writer_call(w, 1009 + p, (enum wire_class)(i % WIRE_CLASS_COUNT), at,
				    at + MS, i * 4099)
				->symbol = 1;
			writer_read(w, 1009 + p, 1, at + MS, at + 3 * MS, 1 << 20,
				    (uint64_t)i << 20, (uint64_t)(i + 1) << 20);
			if (i % 9 == 0)
				writer_log(w, at, i & 7,
					   "Loading weights took 0.5 seconds, and more text than a "
					   "slot holds");
		}
	}
}

static bool sound(const struct trace *t)
{
	vec_for_each (e, &t->evidence)
		if (e->process < 0 || (size_t)e->process >= t->processes.n ||
		    e->end_ns < e->start_ns || e->kind >= KIND_COUNT ||
		    e->file >= (int32_t)t->files.n)
			return false;
	vec_for_each (l, &t->log)
		if (!l->text || l->process >= (int32_t)t->processes.n)
			return false;
	vec_for_each (p, &t->processes)
		if (p->parent >= (int32_t)t->processes.n)
			return false;
	vec_for_each (io, &t->io)
		if (io->file < 0 || (size_t)io->file >= t->files.n)
			return false;
	return true;
}

static void damage(unsigned char *map, size_t size, size_t used)
{
	uint64_t n = 1 + roll(64);

	if (roll(8) == 0) {
		/* All of it noise behind a true header. */
		for (size_t i = 4096; i < used; i++)
			map[i] = (unsigned char)roll(256);
		return;
	}
	while (n--) {
		size_t at = roll(4) ? roll(used) : roll(192);

		map[at < size ? at : 0] = (unsigned char)roll(256);
	}
}

int main(void)
{
	const char *seed = getenv("COLDPROF_FUZZ_SEED"), *rounds = getenv("COLDPROF_FUZZ_ROUNDS");
	int n = rounds ? atoi(rounds) : 150, bad = 0;
	struct ingest_options opt = {0};
	struct wire_writer w;
	unsigned char *copy;
	size_t used;

	state = seed ? strtoull(seed, NULL, 10) : 88172645463325252u;
	writer_open(&w);
	fill(&w);
	used = writer_header(&w)->chunk_offset +
	       (size_t)writer_header(&w)->next_chunk * WIRE_CHUNK_SIZE;
	for (int i = 0; i < n; i++) {
		size_t size = roll(3) ? w.ring.size_bytes : roll(used);
		struct trace t;

		/* Exactly as large as it says, so that a sanitizer sees each byte beyond. */
		copy = malloc(size ? size : 1);
		memcpy(copy, w.ring.map, size);
		if (size > 4096)
			damage(copy, size, used < size ? used : size);
		trace_init(&t);
		t.run.end_ns = 9973 * MS;
		t.saw = (unsigned)roll(512);
		struct process *root = vec_add(&t.processes);
		*root = (struct process){.pid = 1009,
					 .parent = NO_INDEX,
					 .start_ns = 11 * MS,
					 .exec_ns = 11 * MS,
					 .end_ns = UNKNOWN};
		if (ingest_run(&opt, copy, size, &t, NULL) != 0 || !sound(&t)) {
			diag("round %d", i);
			bad++;
		}
		trace_done(&t);
		free(copy);
	}
	is_int(bad, 0, "%d damaged or cut memories are read as far as they go", n);

	struct trace t;
	trace_init(&t);
	struct process *root = vec_add(&t.processes);
	*root = (struct process){.pid = 1009,
				 .parent = NO_INDEX,
				 .start_ns = 11 * MS,
				 .exec_ns = 11 * MS,
				 .end_ns = UNKNOWN};
	is_int(ingest_run(&opt, w.ring.map, w.ring.size_bytes, &t, NULL), 0,
	       "the same memory, whole");
	ok(t.evidence.n > 100 && t.log.n > 0, "is read");
	trace_done(&t);
	writer_close(&w);
	return done_testing();
}
