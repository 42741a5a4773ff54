/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies whose source is a mapped file tell, to the byte, what of the mapping was touched: better
 * than any count of faults, and where faults are not seen at all the only word on it.
 */
#include <stdlib.h>

#include "ingest/inside.h"

/*
 * The last mapping made at `address` before `at_ns`, of
 * the process or of the one that it was forked from.
 */
static const struct mapping *mapping_at(const struct ingest *in, int32_t process, uint64_t address,
					uint64_t at_ns)
{
	const struct mapping *found = NULL;

	for (int hops = 0; process >= 0 && hops < 8; hops++) {
		const struct process *p = &in->t->processes.v[process];

		vec_for_each (m, &in->mappings)
			if (m->process == process && m->start_ns <= at_ns &&
			    address >= m->address && address - m->address < m->size_bytes &&
			    (!found || m->start_ns >= found->start_ns))
				found = m;
		if (found || p->exec_ns != UNKNOWN)
			break;
		process = p->parent;
	}
	return found;
}

static int by_file(const void *a, const void *b)
{
	const struct touch *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

struct pair {
	int32_t process, file;
};

static int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->file > y->file) - (x->file < y->file);
}

/* A pair of process and file of whose faults nobody saw one still has its line in file_io. */
static void add_unseen(struct ingest *in)
{
	struct trace *t = in->t;
	VEC(struct pair) seen = {0};

	if (t->saw & SAW_FAULTS && !faults_sampled(t))
		return;
	vec_for_each (a, &t->accesses)
		if (is_fault(a) || a->mode & IO_POPULATE)
			vec_push(&seen, ((struct pair){a->process, a->file}));
	if (seen.n)
		qsort(seen.v, seen.n, sizeof(seen.v[0]), by_pair);
	for (size_t i = 0; i < in->touches.n; i++) {
		const struct touch *touch = &in->touches.v[i];
		struct pair want = {touch->process, touch->file};
		struct access *a;

		if (seen.n && bsearch(&want, seen.v, seen.n, sizeof(want), by_pair))
			continue;
		a = vec_add(&t->accesses);
		*a = (struct access){
			.process = touch->process,
			.tid = touch->tid,
			.file = touch->file,
			.mode = IO_MAPPED,
			.source = SOURCE_SHIM,
			.start_ns = touch->start_ns,
			.end_ns = touch->end_ns,
			.bytes = UNKNOWN,
			.busy_ns = UNKNOWN,
			.min_offset = UNKNOWN,
			.max_offset = UNKNOWN,
		};
	}
	vec_free(&seen);
}

/* Libraries are mapped by the thousand, and no weights come out of them. */
static void keep_weights(struct ingest *in)
{
	size_t n = 0;

	for (size_t i = 0; i < in->mappings.n; i++)
		if (in->t->files.v[in->mappings.v[i].file].cls == FILE_WEIGHTS)
			in->mappings.v[n++] = in->mappings.v[i];
	in->mappings.n = n;
}

void touch_derive(struct ingest *in)
{
	keep_weights(in);
	vec_for_each (c, &in->calls) {
		const struct mapping *m;
		struct touch *touch;

		if ((c->cls != WIRE_CLASS_H2D && c->cls != WIRE_CLASS_COPY) || c->result ||
		    !c->bytes || !c->extra)
			continue;
		m = mapping_at(in, c->process, c->extra, c->start_ns);
		if (!m)
			continue;
		touch = vec_add(&in->touches);
		touch->process = c->process;
		touch->tid = c->tid;
		touch->file = m->file;
		touch->start_ns = c->start_ns;
		touch->end_ns = c->end_ns;
		touch->from = m->offset + (c->extra - m->address);
		touch->to = touch->from + (c->bytes < m->size_bytes ? c->bytes : m->size_bytes);
	}
	if (in->touches.n)
		qsort(in->touches.v, in->touches.n, sizeof(in->touches.v[0]), by_file);
	add_unseen(in);
}
