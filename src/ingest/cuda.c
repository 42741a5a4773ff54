/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver calls → evidence and graphs. The pieces are the calls themselves; what lies between cuInit
 * and the first successful allocation, copy or launch is for the rules. A call that failed took its
 * time but used no device.
 */
#include <stdlib.h>

#include "ingest/inside.h"

/* A copy to the device of at least this is weights by itself. */
#define LARGE_COPY_BYTES (UINT64_C(1) << 20)
/*
 * A smaller one is weights within this time of weights:
 * later they are inputs of a warm-up or of a capture.
 */
#define NEAR_NS UINT64_C(1000000000)

/* KIND_COUNT: no evidence. */
static enum kind kind_of_class(const struct call *c)
{
	switch ((enum wire_class)c->cls) {
	case WIRE_CLASS_INIT:
		return KIND_CU_INIT;
	case WIRE_CLASS_CONTEXT:
		return KIND_CONTEXT;
	case WIRE_CLASS_PEER:
		return KIND_PEER;
	case WIRE_CLASS_COLLECTIVE:
		return KIND_COLLECTIVE;
	case WIRE_CLASS_ALLOC:
	case WIRE_CLASS_FREE:
		return KIND_ALLOC;
	case WIRE_CLASS_VMM:
		return KIND_VMM;
	case WIRE_CLASS_POOL:
		return KIND_POOL;
	case WIRE_CLASS_PINNED:
		return KIND_PINNED;
	case WIRE_CLASS_IPC:
		return KIND_IPC_IMPORT;
	case WIRE_CLASS_H2D:
		return KIND_H2D;
	case WIRE_CLASS_COPY:
		return c->direction == WIRE_TO_DEVICE ? KIND_H2D : KIND_DEVICE_USE;
	case WIRE_CLASS_PREFETCH:
		return KIND_DEVICE_USE;
	case WIRE_CLASS_MODULE:
	case WIRE_CLASS_FUNCTION:
		return KIND_MODULE_LOAD;
	case WIRE_CLASS_LINK:
	case WIRE_CLASS_COMPILE:
		return KIND_COMPILE;
	case WIRE_CLASS_INSTANTIATE:
	case WIRE_CLASS_GRAPH_UPDATE:
	case WIRE_CLASS_GRAPH_DESTROY:
		return KIND_INSTANTIATE;
	case WIRE_CLASS_UPLOAD:
		return KIND_UPLOAD;
	case WIRE_CLASS_GRAPH_LAUNCH:
	case WIRE_CLASS_LAUNCH:
		return KIND_FIRST_LAUNCH;
	case WIRE_CLASS_SYNC:
		return KIND_SYNC;
	case WIRE_CLASS_CAPTURE_BEGIN:
	case WIRE_CLASS_CAPTURE_END: /* together, see find_captures */
	/* Counted, without a record: */
	case WIRE_CLASS_DEVICE:
	case WIRE_CLASS_MEMINFO:
	case WIRE_CLASS_D2H:
	case WIRE_CLASS_D2D:
	case WIRE_CLASS_GRAPH_NODE:
	case WIRE_CLASS_LAUNCH_OTHER:
	case WIRE_CLASS_QUERY:
	case WIRE_CLASS_RESOLVE:
	case WIRE_CLASS_COUNT:
		break;
	}
	return KIND_COUNT; /* or of a damaged memory */
}

/*
 * A wait that begins so soon after the first launch of
 * a function or graph waits for that: it is warm-up.
 */
#define WAIT_FOR_LAUNCH_NS UINT64_C(1000000)

static bool waits_for_first_launch(const struct ingest *in, const struct call *c)
{
	const struct call *before = c > in->calls.v ? c - 1 : NULL;

	while (before && before > in->calls.v && before->cls == WIRE_CLASS_SYNC &&
	       before->tid == c->tid)
		before--;
	return before && before->process == c->process && before->tid == c->tid &&
	       !before->result &&
	       (before->cls == WIRE_CLASS_LAUNCH || before->cls == WIRE_CLASS_GRAPH_LAUNCH) &&
	       c->start_ns < before->end_ns + WAIT_FOR_LAUNCH_NS;
}

static bool uses_device(enum kind kind)
{
	return kind != KIND_CU_INIT && kind != KIND_CONTEXT && kind != KIND_PEER &&
	       kind != KIND_COLLECTIVE && kind != KIND_COMPILE && kind != KIND_SYNC;
}

static uint64_t bytes_of(const struct call *c)
{
	return c->cls == WIRE_CLASS_SYNC || c->cls == WIRE_CLASS_FREE ? 0 : c->bytes;
}

/* Until it is instantiated a graph is known by its own handle. */
struct captured {
	int32_t process;
	uint64_t graph, nodes, capture_ns, end_ns;
};

typedef VEC(struct captured) captures;
/* When each of the trace's graphs was instantiated; 0: not seen. */
typedef VEC(uint64_t) graph_times;

static struct graph *add_graph(struct trace *t, graph_times *made, const struct call *c,
			       uint64_t at_ns)
{
	struct graph *g = vec_add(&t->graphs);

	*g = (struct graph){c->process, c->handle, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN};
	vec_push(made, at_ns);
	return g;
}

/* A handle is given out again: its graph is the last that was made before the call. */
static struct graph *graph_of(struct trace *t, graph_times *made, const struct call *c)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < t->graphs.n; i++) {
		const struct graph *g = &t->graphs.v[i];

		if (g->process == c->process && g->id == c->handle && made->v[i] <= c->start_ns &&
		    (best == SIZE_MAX || made->v[i] >= made->v[best]))
			best = i;
	}
	return best == SIZE_MAX ? add_graph(t, made, c, 0) : &t->graphs.v[best];
}

/* What was captured into the graph that the call instantiates; NULL: it was not seen. */
static const struct captured *capture_of(const captures *caps, const struct call *c)
{
	const struct captured *best = NULL;

	vec_for_each (cap, caps)
		if (cap->process == c->process && cap->graph == c->aux && c->aux &&
		    cap->end_ns <= c->start_ns && (!best || cap->end_ns >= best->end_ns))
			best = cap;
	return best;
}

static void add_capture(struct trace *t, const struct call *begin, const struct call *end,
			captures *ret)
{
	struct captured cap = {end->process, end->aux, end->extra, end->end_ns - begin->start_ns,
			       end->end_ns};
	struct evidence *e = evidence_add(t, end->process, begin->tid, KIND_CAPTURE, SOURCE_SHIM,
					  begin->start_ns, end->end_ns);

	e->what = end->symbol;
	vec_push(ret, cap);
}

/* A capture is a pair of calls on one stream. */
static void find_captures(struct ingest *in, captures *ret)
{
	VEC(const struct call *) open = {0};

	vec_for_each (c, &in->calls) {
		const struct call **begin = NULL;

		if (c->cls == WIRE_CLASS_CAPTURE_BEGIN && c->result == 0)
			vec_push(&open, (const struct call *)c);
		if (c->cls != WIRE_CLASS_CAPTURE_END)
			continue;
		vec_for_each (b, &open)
			if (*b && (*b)->process == c->process && (*b)->handle == c->handle &&
			    (*b)->start_ns <= c->start_ns)
				begin = b;
		if (begin) {
			add_capture(in->t, *begin, c, ret);
			*begin = NULL;
		}
	}
	vec_free(&open);
}

/* Calls stand thread by thread: what was made is known before what was done with it. */
static void find_graphs(struct ingest *in, const captures *caps)
{
	struct trace *t = in->t;
	graph_times made = {0};

	vec_for_each (c, &in->calls) {
		const struct captured *cap;
		struct graph *g;

		if (c->cls != WIRE_CLASS_INSTANTIATE || c->result)
			continue;
		cap = capture_of(caps, c);
		g = add_graph(t, &made, c, c->end_ns);
		g->instantiate_ns = c->end_ns - c->start_ns;
		if (cap) {
			g->nodes = cap->nodes;
			g->capture_ns = cap->capture_ns;
		}
	}
	vec_for_each (c, &in->calls) {
		struct graph *g;
		uint64_t *took;

		if (c->result || (c->cls != WIRE_CLASS_UPLOAD && c->cls != WIRE_CLASS_GRAPH_LAUNCH))
			continue;
		g = graph_of(t, &made, c);
		took = c->cls == WIRE_CLASS_UPLOAD ? &g->upload_ns : &g->first_replay_ns;
		if (*took == UNKNOWN)
			*took = c->end_ns - c->start_ns;
	}
	vec_free(&made);
}

static int by_start(const void *a, const void *b)
{
	const struct evidence *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool anchors(const struct evidence *e)
{
	return e->kind == KIND_H2D ? e->bytes >= LARGE_COPY_BYTES
				   : kind_item(e->kind) == ITEM_WEIGHTS;
}

/* Small copies far from any weights of their process are plain device use. */
static void sort_copies(struct trace *t)
{
	struct evidence *v = t->evidence.v;

	if (t->evidence.n)
		qsort(v, t->evidence.n, sizeof(*v), by_start);
	for (size_t from = 0, to; from < t->evidence.n; from = to) {
		uint64_t last = 0;
		bool any = false;

		for (to = from; to < t->evidence.n && v[to].process == v[from].process; to++)
			any |= anchors(&v[to]);
		/* Backwards: how far is the next anchor; forwards: how far was the last one. */
		for (size_t i = to, next = 0; any && i-- > from;) {
			if (anchors(&v[i]))
				next = v[i].start_ns;
			else if (v[i].kind == KIND_H2D)
				v[i].wait_ns = next && next < v[i].end_ns + NEAR_NS ? 0 : UNKNOWN;
		}
		for (size_t i = from; any && i < to; i++) {
			if (anchors(&v[i])) {
				last = v[i].end_ns > last ? v[i].end_ns : last;
			} else if (v[i].kind == KIND_H2D) {
				if (v[i].wait_ns == UNKNOWN &&
				    (!last || v[i].start_ns > last + NEAR_NS))
					v[i].kind = KIND_DEVICE_USE;
				v[i].wait_ns = UNKNOWN;
			}
		}
	}
}

void cuda_derive(struct ingest *in)
{
	struct trace *t = in->t;
	captures caps = {0};

	find_captures(in, &caps);
	find_graphs(in, &caps);
	vec_for_each (c, &in->calls) {
		enum kind kind = kind_of_class(c);
		struct evidence *e;

		if (kind == KIND_COUNT)
			continue;
		if (kind == KIND_SYNC && waits_for_first_launch(in, c))
			kind = KIND_WARM_UP;
		if (c->result && uses_device(kind))
			kind = KIND_DEVICE_QUERY;
		e = evidence_add(t, c->process, c->tid, kind, SOURCE_SHIM, c->start_ns, c->end_ns);
		e->bytes = bytes_of(c);
		e->what = c->symbol;
	}
	sort_copies(t);
	vec_free(&caps);
}
