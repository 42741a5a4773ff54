/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence in order of time, adjacent pieces joined: same process, thread, kind, file and source,
 * and a gap of at most GAP_NS (a loop's own work between two reads or faults). Where that leaves
 * more than EVIDENCE_MAX pieces the gap is widened until it does not, and the trace says so.
 */
#include <stdlib.h>
#include <string.h>

#include "ingest/inside.h"

#define GAP_NS	     UINT64_C(100000)
#define EVIDENCE_MAX 200000

struct evidence *evidence_add(struct trace *t, int32_t process, int32_t tid, enum kind kind,
			      enum source source, uint64_t start_ns, uint64_t end_ns)
{
	static struct evidence none;
	struct evidence *e;

	if (end_ns < start_ns || process == NO_INDEX) {
		memset(&none, 0, sizeof(none));
		return &none;
	}
	e = vec_add(&t->evidence);
	e->process = process;
	e->tid = tid;
	e->kind = (uint16_t)kind;
	e->source = (uint16_t)source;
	e->file = NO_INDEX;
	e->start_ns = start_ns;
	e->end_ns = end_ns;
	e->wait_ns = UNKNOWN;
	return e;
}

static int order(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_stream(const void *a, const void *b)
{
	const struct evidence *x = a, *y = b;
	int c = order(x->process, y->process);

	c = c ? c : order(x->tid, y->tid);
	c = c ? c : order(x->kind, y->kind);
	c = c ? c : order(x->file, y->file);
	c = c ? c : order(x->source, y->source);
	c = c ? c : order((int64_t)x->start_ns, (int64_t)y->start_ns);
	return c ? c : order((int64_t)y->end_ns, (int64_t)x->end_ns);
}

static int by_time(const void *a, const void *b)
{
	const struct evidence *x = a, *y = b;
	int c = order((int64_t)x->start_ns, (int64_t)y->start_ns);

	c = c ? c : order((int64_t)y->end_ns, (int64_t)x->end_ns);
	return c ? c : by_stream(a, b);
}

/* What keeps its own name is joined only where it touches: a module, a graph, a compiler. */
static bool joins(const struct evidence *a, const struct evidence *b, uint64_t gap_ns)
{
	if (a->process != b->process || a->tid != b->tid || a->kind != b->kind ||
	    a->file != b->file || a->source != b->source || b->start_ns > a->end_ns + gap_ns)
		return false;
	if (a->what == b->what || !a->what || !b->what)
		return true;
	return a->kind != KIND_COMPILER && a->kind != KIND_CAPTURE && a->kind != KIND_CONTEXT;
}

static void join(struct trace *t, uint64_t gap_ns)
{
	struct evidence *v = t->evidence.v;
	size_t n = 0;

	for (size_t i = 0; i < t->evidence.n; i++) {
		if (!n || !joins(&v[n - 1], &v[i], gap_ns)) {
			v[n++] = v[i];
			continue;
		}
		if (v[i].end_ns > v[n - 1].end_ns)
			v[n - 1].end_ns = v[i].end_ns;
		v[n - 1].bytes += v[i].bytes;
		if (v[n - 1].wait_ns != UNKNOWN && v[i].wait_ns != UNKNOWN)
			v[n - 1].wait_ns += v[i].wait_ns;
		else
			v[n - 1].wait_ns = UNKNOWN;
		if (v[n - 1].what != v[i].what)
			v[n - 1].what = NULL;
	}
	t->evidence.n = n;
}

void evidence_coalesce(struct trace *t)
{
	uint64_t gap_ns = GAP_NS;

	if (!t->evidence.n)
		return;
	qsort(t->evidence.v, t->evidence.n, sizeof(t->evidence.v[0]), by_stream);
	join(t, gap_ns);
	while (t->evidence.n > EVIDENCE_MAX && gap_ns < UINT64_C(10000000000)) {
		gap_ns *= 4;
		join(t, gap_ns);
	}
	if (gap_ns > GAP_NS)
		trace_note(t, "ingest", "info", UNKNOWN,
			   "so much evidence that pieces up to %llu us apart were joined",
			   (unsigned long long)(gap_ns / 1000));
	qsort(t->evidence.v, t->evidence.n, sizeof(t->evidence.v[0]), by_time);
}
