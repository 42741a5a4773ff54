/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world made: the tree, threads and their evidence, then the
 * other parts in the order in which they need each other.
 */
#include "attribute/world.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

struct seat {
	UT_hash_handle hh;
	uint64_t id;
	uint32_t thread;
};

/*
 * A damaged trace may name a parent that is not there,
 * or go in a circle: such a process is an orphan.
 */
static void find_parents(struct world *w)
{
	size_t n = w->t->processes.n;
	uint32_t *seen = xcalloc(n, sizeof(*seen));

	w->parent = xcalloc(n, sizeof(*w->parent));
	for (size_t p = 0; p < n; p++) {
		int32_t up = w->t->processes.v[p].parent;

		w->parent[p] = up >= 0 && (size_t)up < n ? up : NO_INDEX;
	}
	for (size_t p = 0; p < n; p++) {
		int32_t q = (int32_t)p;

		while (!seen[q]) {
			seen[q] = (uint32_t)p + 1;
			if (w->parent[q] < 0)
				break;
			if (seen[w->parent[q]] == p + 1) {
				w->parent[q] = NO_INDEX;
				break;
			}
			q = w->parent[q];
		}
	}
	free(seen);
}

/* A process below a compiler is part of it. */
static void find_helpers(struct world *w)
{
	size_t n = w->t->processes.n;
	uint8_t *known = xcalloc(n, 1);
	int32_t *path = xcalloc(n, sizeof(*path));

	w->helper = xcalloc(n, sizeof(*w->helper));
	for (size_t p = 0; p < n; p++) {
		int32_t q = (int32_t)p;
		size_t len = 0;
		bool helper = false;

		for (; q >= 0 && !known[q]; q = w->parent[q])
			path[len++] = q;
		helper = q >= 0 && w->helper[q];
		while (len--) {
			helper = helper || w->t->processes.v[path[len]].role != ROLE_PLAIN;
			w->helper[path[len]] = helper;
			known[path[len]] = 1;
		}
	}
	free(path);
	free(known);
}

static int by_process_tid(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void add_seat(struct seat **set, int32_t process, int32_t tid)
{
	uint64_t id = (uint64_t)(uint32_t)process << 32 | (uint32_t)tid;
	struct seat *s;

	HASH_FIND(hh, *set, &id, sizeof(id), s);
	if (s)
		return;
	s = xcalloc(1, sizeof(*s));
	s->id = id;
	HASH_ADD(hh, *set, id, sizeof(s->id), s);
}

static void take_threads(struct world *w)
{
	struct seat *set = NULL, *s, *next;
	size_t n = w->t->processes.n;
	int32_t process = NO_INDEX, tid = 0;

	vec_for_each (e, &w->t->evidence) {
		if (e->process == process && e->tid == tid)
			continue;
		process = e->process;
		tid = e->tid;
		add_seat(&set, process, tid);
	}
	vec_for_each (r, &w->t->times) {
		if (r->process == process && r->tid == tid)
			continue;
		process = r->process;
		tid = r->tid;
		add_seat(&set, process, tid);
	}
	HASH_ITER (hh, set, s, next) {
		struct thread *h = vec_add(&w->threads);

		h->process = (int32_t)(s->id >> 32);
		h->tid = (int32_t)(uint32_t)s->id;
		h->works_from = UNKNOWN;
		HASH_DEL(set, s);
		free(s);
	}
	if (w->threads.n)
		qsort(w->threads.v, w->threads.n, sizeof(*w->threads.v), by_process_tid);
	w->thread0 = xcalloc(n + 1, sizeof(*w->thread0));
	for (size_t p = 0, i = 0; p <= n; p++) {
		while (i < w->threads.n && (size_t)w->threads.v[i].process < p)
			i++;
		w->thread0[p] = i;
	}
}

/* Of one thread's evidence, sorted by start: pieces of a kind that touch or overlap become one. */
static void coalesce(struct world *w, struct thread *h, const struct iv *v, size_t n)
{
	size_t open[KIND_COUNT] = {0};
	bool have[KIND_COUNT] = {false};
	uint32_t index = (uint32_t)(h - w->threads.v);

	h->piece0 = w->pieces.n;
	for (size_t i = 0; i < n; i++) {
		int kind = (int)v[i].tie;
		piece_list *list = kind == KIND_SYNC ? &w->syncs : &w->pieces;
		struct piece x = {.a = v[i].a,
				  .b = v[i].b,
				  .thread = index,
				  .kind = (int16_t)kind,
				  .item = (uint16_t)kind_item(kind)};

		if (have[kind] && list->v[open[kind]].b >= x.a) {
			if (x.b > list->v[open[kind]].b)
				list->v[open[kind]].b = x.b;
			continue;
		}
		have[kind] = true;
		open[kind] = list->n;
		vec_push(list, x);
	}
	h->pieces = w->pieces.n - h->piece0;
}

static void flatten(struct world *w, struct thread *h)
{
	iv_list own = {0};

	h->flat0 = w->flat.n;
	for (size_t i = h->piece0; i < h->piece0 + h->pieces; i++) {
		const struct piece *x = &w->pieces.v[i];
		struct iv v = {x->a, x->b, (uint32_t)x->kind, (uint32_t)x->kind};

		if (x->item != ITEM_COUNT)
			vec_push(&own, v);
	}
	/* Of pieces with one start iv_flatten wants no order among them. */
	iv_flatten(own.v, own.n, &w->flat, &w->steps);
	h->flats = w->flat.n - h->flat0;
	vec_free(&own);
}

static void take_evidence(struct world *w)
{
	size_t n = w->t->evidence.n, used = 0, *at = xcalloc(w->threads.n + 1, sizeof(*at));
	uint32_t *thread = xcalloc(n, sizeof(*thread));
	struct iv *v = xcalloc(n, sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		const struct evidence *e = &w->t->evidence.v[i];
		const struct evidence *last = i ? e - 1 : NULL;
		uint64_t a = e->start_ns, b = e->end_ns;
		bool of_use = kind_item(e->kind) != ITEM_COUNT || e->kind == KIND_DEVICE_USE ||
			      e->kind == KIND_SYNC;

		thread[i] = NO_THREAD;
		w->steps++;
		if (w->helper[e->process] || !of_use || !world_clip(w, &a, &b))
			continue;
		if (last && thread[i - 1] != NO_THREAD && last->process == e->process &&
		    last->tid == e->tid)
			thread[i] = thread[i - 1];
		else
			thread[i] = world_thread(w, e->process, e->tid);
		at[thread[i] + 1]++;
	}
	for (size_t h = 0; h < w->threads.n; h++)
		at[h + 1] += at[h];
	used = at[w->threads.n];
	for (size_t i = 0; i < n; i++) {
		const struct evidence *e = &w->t->evidence.v[i];
		struct iv x = {e->start_ns, e->end_ns, e->kind, e->kind};

		if (thread[i] == NO_THREAD)
			continue;
		world_clip(w, &x.a, &x.b);
		v[at[thread[i]]++] = x;
	}
	for (size_t h = 0, from = 0; h < w->threads.n; from = at[h++]) {
		iv_sort(v + from, at[h] - from, &w->steps);
		coalesce(w, &w->threads.v[h], v + from, at[h] - from);
		flatten(w, &w->threads.v[h]);
	}
	w->steps += used;
	free(v);
	free(thread);
	free(at);
}

static void flatten_children(struct world *w, iv_list *of_parent)
{
	iv_sort(of_parent->v, of_parent->n, &w->steps);
	iv_flatten(of_parent->v, of_parent->n, &w->children, &w->steps);
	vec_clear(of_parent);
}

static void take_children(struct world *w)
{
	size_t n = w->t->processes.n;
	key_list by_parent = {0};
	iv_list own = {0};
	size_t i = 0;

	w->child0 = xcalloc(n + 1, sizeof(*w->child0));
	for (size_t p = 0; p < n; p++) {
		int32_t parent = w->parent[p];
		struct key k = {(uint64_t)parent, 0, (uint32_t)p};

		if (parent >= 0)
			vec_push(&by_parent, k);
	}
	keys_sort(by_parent.v, by_parent.n, &w->steps);
	for (size_t p = 0; p < n; p++) {
		w->child0[p] = w->children.n;
		for (; i < by_parent.n && by_parent.v[i].at == p; i++) {
			const struct process *c = &w->t->processes.v[by_parent.v[i].ref];
			struct iv x = {c->start_ns, c->end_ns, (uint32_t)c->pid,
				       by_parent.v[i].ref};

			vec_push(&own, x);
		}
		flatten_children(w, &own);
	}
	w->child0[n] = w->children.n;
	vec_free(&own);
	vec_free(&by_parent);
}

void world_open(struct world *w, struct trace *t, uint64_t end_ns)
{
	memset(w, 0, sizeof(*w));
	w->t = t;
	w->s = t->run.start_ns;
	w->e = end_ns;
	find_parents(w);
	find_helpers(w);
	take_threads(w);
	take_evidence(w);
	world_take_times(w);
	world_take_actors(w);
	take_children(w);
	world_take_compilers(w);
}

void world_close(struct world *w)
{
	vec_for_each (a, &w->actors) {
		vec_free(&a->extra);
		vec_free(&a->compilers);
	}
	free(w->parent);
	free(w->helper);
	free(w->actor);
	free(w->thread0);
	free(w->child0);
	vec_free(&w->threads);
	vec_free(&w->pieces);
	vec_free(&w->syncs);
	vec_free(&w->flat);
	vec_free(&w->waits);
	vec_free(&w->records);
	vec_free(&w->runs);
	vec_free(&w->actors);
	vec_free(&w->serving);
	vec_free(&w->children);
}
