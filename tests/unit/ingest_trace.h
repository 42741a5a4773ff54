/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces made by hand, and questions to what ingest makes of
 * them. Numbers are primes, so that no two can be mistaken.
 */
#pragma once
#include <unistd.h>

#include "../tap.h"
#include "ingest/ingest.h"
#include "ingest/inside.h"
#include "wire_writer.h"

#define MS UINT64_C(1000000)
#define MB (UINT64_C(1) << 20)

static const char argv_words[] = "server\0--port\0"
				 "8009";

static inline int32_t add_process(struct trace *t, int32_t pid, int32_t parent, uint64_t start_ns,
				  const char *exe, const char *command)
{
	struct process *p = vec_add(&t->processes);

	p->pid = pid;
	p->ppid = parent < 0 ? 1 : t->processes.v[parent].pid;
	p->parent = parent;
	p->start_ns = start_ns;
	p->exec_ns = exe ? start_ns : UNKNOWN;
	p->end_ns = UNKNOWN;
	p->status = -1;
	p->exe = trace_str(t, exe);
	p->command = trace_str(t, command);
	p->name = exe ? trace_str(t, strrchr(exe, '/') + 1) : NULL;
	return (int32_t)t->processes.n - 1;
}

static inline int32_t add_file(struct trace *t, const char *path, uint64_t ino, uint64_t size_bytes,
			       enum file_class cls)
{
	struct file *f = vec_add(&t->files);

	f->path = trace_str(t, path);
	f->dev = 7;
	f->ino = ino;
	f->size_bytes = size_bytes;
	f->cls = (uint8_t)cls;
	f->resident_before_bytes = UNKNOWN;
	return (int32_t)t->files.n - 1;
}

static inline struct access *add_access(struct trace *t, int32_t process, int32_t file,
					enum io_mode mode, uint64_t start_ns, uint64_t end_ns,
					uint64_t bytes)
{
	struct access *a = vec_add(&t->accesses);

	a->process = process;
	a->tid = t->processes.v[process].pid;
	a->file = file;
	a->mode = (uint8_t)mode;
	a->source = SOURCE_BPF;
	a->start_ns = start_ns;
	a->end_ns = end_ns;
	a->ops = 1;
	a->bytes = bytes;
	a->busy_ns = end_ns - start_ns;
	a->min_offset = a->max_offset = UNKNOWN;
	return a;
}

static inline void open_trace(struct trace *t, unsigned saw)
{
	trace_init(t);
	t->saw = saw;
	add_process(t, 1009, NO_INDEX, 11 * MS, "/nowhere/server", "server");
	t->run.start_ns = 11 * MS;
	t->run.end_ns = 9973 * MS;
}

static inline int run(struct trace *t, struct wire_writer *w)
{
	struct ingest_options opt = {0};

	return ingest_run(&opt, w ? w->ring.map : NULL, w ? w->ring.size_bytes : 0, t, NULL);
}

static inline uint64_t sum_bytes(const struct trace *t, enum kind kind)
{
	uint64_t n = 0;

	vec_for_each (e, &t->evidence)
		n += e->kind == kind ? e->bytes : 0;
	return n;
}

static inline uint64_t sum_time(const struct trace *t, enum kind kind)
{
	uint64_t n = 0;

	vec_for_each (e, &t->evidence)
		n += e->kind == kind ? e->end_ns - e->start_ns : 0;
	return n;
}

static inline int count(const struct trace *t, enum kind kind)
{
	int n = 0;

	vec_for_each (e, &t->evidence)
		n += e->kind == kind;
	return n;
}

static inline const struct evidence *first(const struct trace *t, enum kind kind)
{
	vec_for_each (e, &t->evidence)
		if (e->kind == kind)
			return e;
	return NULL;
}
