/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes are relevant, whose the declared spans
 * and the compilers are, and when each stage ends.
 */
#include "attribute/world.h"

#include <stdlib.h>
#include <string.h>

/* Scratch of world_take_actors. */
struct cast {
	bool *by_evidence, *relevant;
	uint8_t *items;	   /* of each process a bit for each item it has evidence of */
	piece_list *extra; /* of each process */
	int32_t *depth;	   /* in the tree; 0 the root and orphans */
	key_list below;	   /* relevant processes, by how deep they are */
};

static int32_t parent_of(const struct world *w, int32_t p)
{
	return w->parent[p];
}

static void find_depths(const struct world *w, struct cast *c)
{
	size_t n = w->t->processes.n;
	int32_t *path = xcalloc(n, sizeof(*path));

	for (size_t p = 0; p < n; p++)
		c->depth[p] = -1;
	for (size_t p = 0; p < n; p++) {
		int32_t q = (int32_t)p, d;
		size_t len = 0;

		for (; q >= 0 && c->depth[q] < 0; q = parent_of(w, q))
			path[len++] = q;
		d = q >= 0 ? c->depth[q] + 1 : 0;
		while (len--)
			c->depth[path[len]] = d++;
	}
	free(path);
}

static void see_evidence(const struct world *w, struct cast *c)
{
	vec_for_each (h, &w->threads)
		for (size_t i = h->piece0; i < h->piece0 + h->pieces; i++) {
			const struct piece *x = &w->pieces.v[i];

			if (x->item != ITEM_COUNT)
				c->items[h->process] |= (uint8_t)(1u << x->item);
			if (x->kind != KIND_CU_INIT &&
			    (item_counts(x->item) || x->kind == KIND_DEVICE_USE))
				c->by_evidence[h->process] = c->relevant[h->process] = true;
		}
}

static bool below(const struct world *w, const struct cast *c, int32_t p, int32_t top)
{
	while (p >= 0 && c->depth[p] > c->depth[top])
		p = parent_of(w, p);
	return p == top;
}

/*
 * Relevant processes under `top` that live in the
 * span; with `same`, those with evidence of its item.
 */
static bool give_below(struct world *w, struct cast *c, int32_t top, const struct piece *x,
		       bool same)
{
	bool given = false;

	for (size_t i = 0; i < c->below.n; i++) {
		int32_t p = (int32_t)c->below.v[i].ref;
		const struct process *d = &w->t->processes.v[p];

		w->steps++;
		if (c->depth[p] <= c->depth[top] || !below(w, c, p, top) || d->start_ns >= x->b ||
		    (d->end_ns != UNKNOWN && d->end_ns <= x->a) ||
		    (same && !(c->items[p] >> x->item & 1)))
			continue;
		vec_push(&c->extra[p], *x);
		given = true;
	}
	return given;
}

static void give_span(struct world *w, struct cast *c, int32_t logger, const struct span *s)
{
	struct piece x = {.a = s->start_ns,
			  .b = s->end_ns,
			  .thread = NO_THREAD,
			  .kind = -1,
			  .item = s->item,
			  .container = s->container,
			  .name = s->name ? s->name : "declared"};

	if (!world_clip(w, &x.a, &x.b))
		return;
	if (item_counts(s->item) && !c->by_evidence[logger] &&
	    (give_below(w, c, logger, &x, true) || give_below(w, c, logger, &x, false)))
		return;
	vec_push(&c->extra[logger], x);
	if (item_counts(s->item) && !c->relevant[logger]) {
		struct key k = {0, 0, (uint32_t)logger};

		c->relevant[logger] = true;
		vec_push(&c->below, k);
	}
}

/*
 * Deepest loggers first, so that what is below a logger is known when its own spans are given away.
 */
static void take_spans(struct world *w, struct cast *c)
{
	key_list order = {0};

	for (size_t p = 0; p < w->t->processes.n; p++) {
		struct key k = {0, 0, (uint32_t)p};

		if (c->relevant[p])
			vec_push(&c->below, k);
	}
	for (size_t i = 0; i < w->t->spans.n; i++) {
		const struct span *s = &w->t->spans.v[i];
		int32_t p = s->process < 0 ? 0 : s->process;
		struct key k = {0, 0, (uint32_t)i};

		while (w->helper[p] && parent_of(w, p) >= 0)
			p = parent_of(w, p);
		if (s->item == ITEM_SERVING_UP) {
			vec_push(&w->serving, *s);
		} else if (s->item < ITEM_SERVING_UP && !w->helper[p]) {
			k.at = (uint64_t)(INT32_MAX - c->depth[p]);
			k.what = (uint32_t)p;
			vec_push(&order, k);
		}
	}
	keys_sort(order.v, order.n, &w->steps);
	vec_for_each (k, &order)
		give_span(w, c, (int32_t)k->what, &w->t->spans.v[k->ref]);
	vec_free(&order);
}

/* The nearest relevant ancestor of an outermost compiler; NO_INDEX. */
static int32_t compiler_owner(const struct world *w, const struct cast *c, int32_t p)
{
	int32_t o = NO_INDEX;

	for (int32_t q = parent_of(w, p); q >= 0; q = parent_of(w, q)) {
		if (w->t->processes.v[q].role == ROLE_COMPILER)
			return NO_INDEX;
		if (o == NO_INDEX && c->relevant[q])
			o = q;
	}
	return o;
}

static void give_compiler(struct world *w, struct cast *c, int32_t owner, int32_t process,
			  uint64_t a, uint64_t b)
{
	struct piece x = {.a = a,
			  .b = b,
			  .thread = NO_THREAD,
			  .process = process,
			  .kind = KIND_COMPILER,
			  .item = ITEM_GRAPHS_JIT};

	if (world_clip(w, &x.a, &x.b))
		vec_push(&c->extra[owner], x);
}

static void take_compilers(struct world *w, struct cast *c)
{
	bool *told = xcalloc(w->t->processes.n, sizeof(*told));

	vec_for_each (e, &w->t->evidence) {
		uint64_t a = e->start_ns, b = e->end_ns;
		int32_t owner;

		if (e->kind != KIND_COMPILER ||
		    w->t->processes.v[e->process].role != ROLE_COMPILER || !world_clip(w, &a, &b))
			continue;
		told[e->process] = true;
		owner = compiler_owner(w, c, e->process);
		if (owner != NO_INDEX)
			give_compiler(w, c, owner, e->process, e->start_ns, e->end_ns);
	}
	for (size_t p = 0; p < w->t->processes.n; p++) {
		const struct process *x = &w->t->processes.v[p];
		int32_t owner;

		if (x->role != ROLE_COMPILER || told[p])
			continue;
		owner = compiler_owner(w, c, (int32_t)p);
		if (owner != NO_INDEX)
			give_compiler(w, c, owner, (int32_t)p, x->start_ns, x->end_ns);
	}
	free(told);
}

static void look_at(struct actor *a, const struct piece *x, uint64_t *use, uint64_t *ctx_end,
		    uint64_t *done)
{
	if (!item_counts(x->item) && x->kind != KIND_DEVICE_USE)
		return;
	a->first = x->a < a->first ? x->a : a->first;
	if (x->kind == KIND_DEVICE_USE)
		*use = x->b > *use ? x->b : *use;
	else
		*done = x->b > *done ? x->b : *done;
	if (x->kind != KIND_CU_INIT && x->kind != KIND_CONTEXT)
		return;
	a->ctx = true;
	a->ctx_start = x->a < a->ctx_start ? x->a : a->ctx_start;
	*ctx_end = x->b > *ctx_end ? x->b : *ctx_end;
}

static bool first_use(const struct piece *x)
{
	return x->item == ITEM_ALLOCATOR || x->kind == KIND_H2D || x->kind == KIND_FIRST_LAUNCH ||
	       x->kind == KIND_DEVICE_USE;
}

/* When its last byte that counts is declared to be in; 0 when nothing is declared. */
static uint64_t declared_weights(const struct actor *a)
{
	uint64_t span = 0, box = 0;

	vec_for_each (x, &a->extra) {
		uint64_t *to = x->container ? &box : &span;

		if (x->item == ITEM_WEIGHTS && x->b > *to)
			*to = x->b;
	}
	return span ? span : box;
}

static void learn(struct world *w, struct actor *a)
{
	size_t h0 = w->thread0[a->process], h1 = w->thread0[a->process + 1];
	uint64_t use = 0, ctx_end = 0, dev = UNKNOWN;
	const struct process *p = &w->t->processes.v[a->process];

	a->first = a->ctx_start = UNKNOWN;
	a->start = p->start_ns < w->s ? w->s : p->start_ns;
	for (size_t h = h0; h < h1; h++)
		for (size_t i = 0; i < w->threads.v[h].pieces; i++)
			look_at(a, &w->pieces.v[w->threads.v[h].piece0 + i], &use, &ctx_end,
				&a->done);
	vec_for_each (x, &a->extra)
		look_at(a, x, &use, &ctx_end, &a->done);
	for (size_t h = h0; a->ctx && h < h1; h++)
		for (size_t i = 0; i < w->threads.v[h].pieces; i++) {
			const struct piece *x = &w->pieces.v[w->threads.v[h].piece0 + i];

			if (first_use(x) && x->a >= a->ctx_start && x->a < dev)
				dev = x->a;
		}
	a->ctx_leave = dev == UNKNOWN ? ctx_end : dev;
	a->done = a->done ? a->done : use;
	if (p->end_ns < a->done)
		a->done = p->end_ns;
	a->in = declared_weights(a);
	a->init = trace_strf(w->t, "init: %s", world_name(w, a->process));
}

/* Bytes of a piece that are in at t, of those that came since the run began. */
static uint64_t in_at(const struct world *w, const struct evidence *e, uint64_t bytes, uint64_t t)
{
	uint64_t from = e->start_ns < w->s ? w->s : e->start_ns;
	uint64_t to = t < e->end_ns ? t : e->end_ns, len = e->end_ns - e->start_ns;

	if (t < from)
		return 0;
	return len ? share(bytes, to - e->start_ns, len) - share(bytes, from - e->start_ns, len)
		   : bytes;
}

/* Weight evidence of one actor, by index in the trace. */
typedef VEC(uint32_t) index_list;

static uint64_t weight_of(const struct evidence *e, bool by_time)
{
	if (by_time)
		return e->end_ns - e->start_ns;
	return e->bytes == UNKNOWN ? 0 : e->bytes;
}

/*
 * The first moment at which 95 % of the bytes are in, each piece filling evenly. Halves the time
 * until one moment is left; pieces that lie wholly on one side are settled once, so that the work
 * stays linear for short pieces.
 */
static uint64_t crossing(struct world *w, index_list *l, bool by_time)
{
	const struct evidence *ev = w->t->evidence.v;
	uint64_t lo = w->s, hi = w->e, settled = 0;
	unsigned __int128 want = 0;

	vec_for_each (i, l)
		want += in_at(w, &ev[*i], weight_of(&ev[*i], by_time), w->e);
	want *= 95;
	while (lo < hi) {
		uint64_t m = lo + (hi - lo) / 2, sum = settled, whole = 0;
		size_t left = 0;
		bool reached;

		vec_for_each (i, l) {
			w->steps++;
			sum += in_at(w, &ev[*i], weight_of(&ev[*i], by_time), m);
		}
		reached = (unsigned __int128)sum * 100 >= want;
		if (reached)
			hi = m;
		else
			lo = m + 1;
		vec_for_each (i, l) {
			const struct evidence *e = &ev[*i];

			if (e->start_ns >= hi)
				continue;
			if (e->end_ns <= lo && e->start_ns <= lo)
				whole += in_at(w, e, weight_of(e, by_time), lo);
			else
				l->v[left++] = *i;
		}
		l->n = left;
		settled += whole;
	}
	return lo;
}

static void find_crossings(struct world *w)
{
	size_t n = w->actors.n;
	index_list *of = xcalloc(n, sizeof(*of));
	uint64_t *bytes = xcalloc(n, sizeof(*bytes));

	for (size_t i = 0; i < w->t->evidence.n; i++) {
		const struct evidence *e = &w->t->evidence.v[i];
		uint64_t a = e->start_ns, b = e->end_ns;
		int32_t actor = w->actor[e->process];

		if (actor < 0 || kind_item(e->kind) != ITEM_WEIGHTS || !world_clip(w, &a, &b))
			continue;
		vec_push(&of[actor], (uint32_t)i);
		bytes[actor] += in_at(w, e, weight_of(e, false), w->e);
	}
	for (size_t i = 0; i < n; i++) {
		if (of[i].n)
			w->actors.v[i].in = crossing(w, &of[i], bytes[i] == 0);
		vec_free(&of[i]);
	}
	free(bytes);
	free(of);
}

void world_take_actors(struct world *w)
{
	size_t n = w->t->processes.n;
	struct cast c = {.by_evidence = xcalloc(n, sizeof(bool)),
			 .relevant = xcalloc(n, sizeof(bool)),
			 .items = xcalloc(n, 1),
			 .extra = xcalloc(n, sizeof(*c.extra)),
			 .depth = xcalloc(n, sizeof(*c.depth))};

	find_depths(w, &c);
	see_evidence(w, &c);
	take_spans(w, &c);
	take_compilers(w, &c);
	w->actor = xcalloc(n, sizeof(*w->actor));
	for (size_t p = 0; p < n; p++) {
		struct actor *a;

		w->actor[p] = -1;
		if (!c.relevant[p]) {
			vec_free(&c.extra[p]);
			continue;
		}
		w->actor[p] = (int32_t)w->actors.n;
		a = vec_add(&w->actors);
		a->process = (int32_t)p;
		a->extra = c.extra[p];
		learn(w, a);
	}
	find_crossings(w);
	vec_free(&c.below);
	free(c.by_evidence);
	free(c.relevant);
	free(c.items);
	free(c.extra);
	free(c.depth);
}
