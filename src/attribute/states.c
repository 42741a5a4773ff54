/* SPDX-License-Identifier: Apache-2.0 */
/* Rule 2: which item a process is in, over its life as a candidate. One sweep over its evidence. */
#include "attribute/world.h"

#include <stdlib.h>
#include <string.h>

enum event {
	CUT,
	FLAT_ON,
	FLAT_OFF,
	COMPILER_ON,
	COMPILER_OFF,
	SPAN_ON,
	SPAN_OFF,
	BOX_ON,
	BOX_OFF
};

/* The latest or the next piece of some sort. */
struct near {
	uint64_t at; /* its end, or its start */
	int item;    /* -1: there is none */
	uint64_t a;
	uint32_t thread;
};

struct sight {
	struct world *w;
	const struct actor *actor;
	state_list *out;
	size_t base;	     /* of its states in `out` */
	piece_list all;	     /* evidence with an item, compilers, spans */
	key_list by_a, by_b; /* of `all`; by_a: equal starts by item */
	key_list events;
	iv_list flats; /* ref: kind, tie: thread */
	iv_list spans, boxes;
	iv_list jit;	   /* union of jit */
	uint64_t *jit_sum; /* its length before each */
	/* now */
	uint64_t mask; /* kinds */
	uint32_t count[KIND_COUNT];
	size_t words;
	uint64_t *bits; /* of each kind the threads in it */
	const struct piece *span, *box;
	size_t ib, ia, iw, in; /* cursors: by_b, next neighbour, next weights, next evidence */
	struct near prev, prev_weight, prev_any, last_weight, own;
	uint32_t main;
};

static bool is_short_alloc(const struct piece *x)
{
	return x->kind >= 0 && x->item == ITEM_ALLOCATOR && x->b - x->a < SHORT_NS;
}

static bool is_neighbour(const struct piece *x)
{
	return item_counts(x->item) && !is_short_alloc(x) && !x->container;
}

static bool is_weight(const struct piece *x)
{
	return x->item == ITEM_WEIGHTS && !x->container;
}

static bool is_own(const struct piece *x)
{
	return x->thread != NO_THREAD;
}

static void add_event(struct sight *s, uint64_t at, enum event what, size_t ref)
{
	struct key k = {at, what, (uint32_t)ref};

	vec_push(&s->events, k);
}

static void gather_pieces(struct sight *s)
{
	struct world *w = s->w;
	int32_t p = s->actor->process;

	for (size_t h = w->thread0[p]; h < w->thread0[p + 1]; h++)
		for (size_t i = 0; i < w->threads.v[h].pieces; i++) {
			const struct piece *x = &w->pieces.v[w->threads.v[h].piece0 + i];

			if (x->item != ITEM_COUNT)
				vec_push(&s->all, *x);
		}
	vec_for_each (x, &s->actor->extra)
		vec_push(&s->all, *x);
	for (int item = 0; item < ITEM_COUNT; item++)
		for (size_t i = 0; i < s->all.n; i++) {
			struct key k = {s->all.v[i].a, 0, (uint32_t)i};

			if (s->all.v[i].item == item)
				vec_push(&s->by_a, k);
		}
	for (size_t i = 0; i < s->all.n; i++) {
		struct key k = {s->all.v[i].b, 0, (uint32_t)i};

		vec_push(&s->by_b, k);
	}
	keys_sort(s->by_a.v, s->by_a.n, &w->steps);
	keys_sort(s->by_b.v, s->by_b.n, &w->steps);
}

static void gather_flats(struct sight *s)
{
	struct world *w = s->w;
	int32_t p = s->actor->process;
	size_t h0 = w->thread0[p], n = w->thread0[p + 1] - h0;

	s->words = n / 64 + 1;
	s->bits = xcalloc(KIND_COUNT * s->words, sizeof(*s->bits));
	for (size_t h = h0; h < h0 + n; h++)
		for (size_t i = 0; i < w->threads.v[h].flats; i++) {
			struct iv x = w->flat.v[w->threads.v[h].flat0 + i];

			x.tie = (uint32_t)(h - h0);
			add_event(s, x.a, FLAT_ON, s->flats.n);
			add_event(s, x.b, FLAT_OFF, s->flats.n);
			vec_push(&s->flats, x);
		}
}

static int by_item_name(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->item != y->item ? x->item - y->item : strcmp(x->name, y->name);
}

/* Innermost spans (or containers); ref is the index in `all`, ties go by item and name. */
static void gather_spans(struct sight *s, bool container, iv_list *out)
{
	piece_list sorted = {0};
	iv_list own = {0};
	uint32_t rank = 0;

	for (size_t i = 0; i < s->all.n; i++) {
		struct piece x = s->all.v[i];

		x.thread = (uint32_t)i;
		if (x.kind < 0 && x.container == container)
			vec_push(&sorted, x);
	}
	if (sorted.n)
		qsort(sorted.v, sorted.n, sizeof(*sorted.v), by_item_name);
	for (size_t i = 0; i < sorted.n; i++) {
		struct iv x = {sorted.v[i].a, sorted.v[i].b, 0, sorted.v[i].thread};

		if (i && by_item_name(&sorted.v[i - 1], &sorted.v[i]))
			rank++;
		x.tie = rank;
		vec_push(&own, x);
	}
	iv_sort(own.v, own.n, &s->w->steps);
	iv_flatten(own.v, own.n, out, &s->w->steps);
	for (size_t i = 0; i < out->n; i++) {
		add_event(s, out->v[i].a, container ? BOX_ON : SPAN_ON, out->v[i].ref);
		add_event(s, out->v[i].b, container ? BOX_OFF : SPAN_OFF, out->v[i].ref);
	}
	vec_free(&own);
	vec_free(&sorted);
}

static void gather_jit(struct sight *s)
{
	uint64_t sum = 0;

	vec_for_each (k, &s->by_a) {
		const struct piece *x = &s->all.v[k->ref];
		struct iv *last = s->jit.n ? vec_last(&s->jit) : NULL, v = {x->a, x->b, 0, 0};

		if (x->item != ITEM_GRAPHS_JIT || x->container || x->a == x->b)
			continue;
		if (last && last->b >= x->a)
			last->b = x->b > last->b ? x->b : last->b;
		else
			vec_push(&s->jit, v);
	}
	s->jit_sum = xcalloc(s->jit.n, sizeof(*s->jit_sum));
	for (size_t i = 0; i < s->jit.n; i++) {
		s->jit_sum[i] = sum;
		sum += s->jit.v[i].b - s->jit.v[i].a;
	}
}

/* jit before t */
static uint64_t jit_before(const struct sight *s, uint64_t t)
{
	size_t i = iv_at(s->jit.v, s->jit.n, t);
	uint64_t sum = 0;

	if (i < s->jit.n)
		return s->jit_sum[i] + (t > s->jit.v[i].a ? t - s->jit.v[i].a : 0);
	if (i)
		sum = s->jit_sum[i - 1] + s->jit.v[i - 1].b - s->jit.v[i - 1].a;
	return sum;
}

static void gather_cuts(struct sight *s)
{
	const struct actor *a = s->actor;
	const uint64_t at[] = {a->start, a->first, a->ctx_start, a->ctx_leave, a->in, a->done};

	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		if (at[i] >= a->start && at[i] <= a->done)
			add_event(s, at[i], CUT, 0);
	vec_for_each (x, &s->all) {
		if (x->a == x->b)
			add_event(s, x->a, CUT, 0);
		if (x->kind == KIND_COMPILER && x->thread == NO_THREAD && x->a < x->b) {
			add_event(s, x->a, COMPILER_ON, 0);
			add_event(s, x->b, COMPILER_OFF, 0);
		}
	}
}

static void switch_kind(struct sight *s, int kind, bool on)
{
	s->count[kind] += on ? 1 : UINT32_MAX;
	if (s->count[kind])
		s->mask |= UINT64_C(1) << kind;
	else
		s->mask &= ~(UINT64_C(1) << kind);
}

static void handle(struct sight *s, const struct key *k)
{
	const struct iv *f;
	uint64_t *word, bit;

	switch ((enum event)k->what) {
	case FLAT_ON:
	case FLAT_OFF:
		f = &s->flats.v[k->ref];
		word = &s->bits[f->ref * s->words + f->tie / 64];
		bit = UINT64_C(1) << f->tie % 64;
		*word = k->what == FLAT_ON ? *word | bit : *word & ~bit;
		switch_kind(s, (int)f->ref, k->what == FLAT_ON);
		break;
	case COMPILER_ON:
	case COMPILER_OFF:
		switch_kind(s, KIND_COMPILER, k->what == COMPILER_ON);
		break;
	case SPAN_ON:
		s->span = &s->all.v[k->ref];
		break;
	case SPAN_OFF:
		s->span = NULL;
		break;
	case BOX_ON:
		s->box = &s->all.v[k->ref];
		break;
	case BOX_OFF:
		s->box = NULL;
		break;
	case CUT:
		break;
	}
}

/* `x` ended last; of two that ended together the later item stands for both. */
static void remember(struct near *n, const struct piece *x)
{
	if (n->item < 0 || x->b > n->at || (x->b == n->at && x->item > n->item))
		*n = (struct near){x->b, x->item, x->a, x->thread};
}

/* The same for the thread to look at: the one that began later, then the lower thread. */
static void remember_thread(struct near *n, const struct piece *x)
{
	if (n->item < 0 || x->b > n->at ||
	    (x->b == n->at && (x->a > n->a || (x->a == n->a && x->thread < n->thread))))
		*n = (struct near){x->b, x->item, x->a, x->thread};
}

/* All that ended by t is behind. */
static void look_back(struct sight *s, uint64_t t)
{
	for (; s->ib < s->by_b.n && s->by_b.v[s->ib].at <= t; s->ib++) {
		const struct piece *x = &s->all.v[s->by_b.v[s->ib].ref];

		if (is_neighbour(x))
			remember(&s->prev, x);
		if (is_weight(x))
			remember(&s->prev_weight, x);
		if (!is_own(x))
			continue;
		remember(&s->prev_any, x);
		remember_thread(&s->own, x);
		if (x->item == ITEM_WEIGHTS)
			remember_thread(&s->last_weight, x);
	}
}

/* The next piece of a sort that begins after t; NULL. */
static const struct piece *look_ahead(struct sight *s, size_t *i, uint64_t t,
				      bool (*sort)(const struct piece *))
{
	for (; *i < s->by_a.n; ++*i) {
		const struct piece *x = &s->all.v[s->by_a.v[*i].ref];

		s->w->steps++;
		if (x->a > t && sort(x))
			return x;
	}
	return NULL;
}

static enum stage stage_at(const struct actor *a, uint64_t t)
{
	if (t < a->first)
		return STAGE_INIT;
	if (a->ctx && t < a->ctx_leave)
		return STAGE_CONTEXT;
	return t < a->in ? STAGE_WEIGHTS : STAGE_JIT;
}

static void put(struct sight *s, const struct state *x)
{
	struct state *last = s->out->n > s->base ? vec_last(s->out) : NULL;

	if (x->a >= x->b)
		return;
	if (last && last->b == x->a && last->item == x->item && last->grade == x->grade &&
	    last->stage == x->stage && last->waiting == x->waiting &&
	    last->may_yield == x->may_yield && last->thread == x->thread && last->sub == x->sub &&
	    last->rule == x->rule)
		last->b = x->b;
	else
		vec_push(s->out, *x);
}

/* [x.a, x.b) is a gap of one kind: cut where its thread begins or ends to wait. */
static void put_gap(struct sight *s, struct state x)
{
	const struct iv *v;
	uint64_t end = x.b;
	size_t i, n;

	x.thread = s->own.item >= 0 ? s->own.thread : s->main;
	if (x.thread == NO_THREAD) {
		put(s, &x);
		return;
	}
	v = s->w->waits.v + s->w->threads.v[x.thread].wait0;
	n = s->w->threads.v[x.thread].waits;
	for (i = iv_at(v, n, x.a); x.a < end; i += x.waiting) {
		uint64_t to = end;

		s->w->steps++;
		x.waiting = i < n && v[i].a <= x.a;
		if (i < n)
			to = x.waiting ? v[i].b : v[i].a;
		x.b = to < end ? to : end;
		put(s, &x);
		x.a = x.b;
	}
}

static const char *between(struct sight *s, const struct piece *next)
{
	const char *before = s->prev.item >= 0 ? item_short(s->prev.item) : "start";

	return trace_strf(s->w->t, "%s → %s", before, next ? item_short(next->item) : "end");
}

/* Rule 2.5, between weights: true when too little jit lies there to call it something else. */
static bool still_loading(struct sight *s, uint64_t t)
{
	const struct piece *next = look_ahead(s, &s->iw, t, is_weight);
	uint64_t fill;

	if (s->prev_weight.item < 0 || !next)
		return false;
	fill = jit_before(s, next->a) - jit_before(s, s->prev_weight.at);
	return fill < JIT_FILL_NS && 2 * fill < next->a - s->prev_weight.at;
}

/* Rules 2.3 to 2.7 over [x.a, x.b), in which nothing begins or ends. */
static void judge_gap(struct sight *s, struct state x)
{
	const struct actor *a = s->actor;
	const struct piece *next, *any;
	struct state post = x;

	x.grade = GRADE_INFERRED;
	x.may_yield = true;
	if (x.a < a->first) {
		x.item = ITEM_PROCESS_INIT, x.grade = GRADE_MEASURED, x.sub = a->init,
		x.rule = "2.3";
		return put_gap(s, x);
	}
	if (a->ctx && x.a >= a->ctx_start && x.a < a->ctx_leave) {
		any = look_ahead(s, &s->in, x.a, is_own);
		x.item = ITEM_CUDA_CONTEXT, x.sub = "between context calls", x.rule = "2.4";
		if (s->prev_any.item == ITEM_PROCESS_INIT && any && any->item == ITEM_PROCESS_INIT)
			x.item = ITEM_PROCESS_INIT, x.sub = a->init;
		return put_gap(s, x);
	}
	if (still_loading(s, x.a)) {
		x.item = ITEM_WEIGHTS, x.may_yield = false, x.sub = "host work between",
		x.rule = "2.5";
		return put_gap(s, x);
	}
	if (s->last_weight.item >= 0 && s->prev.item == ITEM_WEIGHTS) {
		uint64_t until = world_works_until(s->w, s->last_weight.thread, s->last_weight.at);

		post.b = until < x.b ? until : x.b;
		if (post.b > post.a) {
			post.item = ITEM_WEIGHTS, post.grade = GRADE_INFERRED,
			post.may_yield = false;
			post.sub = "post-processing", post.rule = "2.5";
			put_gap(s, post);
			x.a = post.b;
		}
		if (x.a == x.b)
			return;
	}
	next = look_ahead(s, &s->ia, x.a, is_neighbour);
	if (next && s->prev.item == next->item && next->item >= ITEM_WEIGHTS) {
		x.item = next->item, x.rule = "2.6";
		x.sub = next->item == ITEM_WEIGHTS ? "host work between"
						   : "between compiles and captures";
	} else if (s->box) {
		x.item = s->box->item, x.grade = GRADE_DECLARED, x.sub = s->box->name,
		x.rule = "2.2";
	} else {
		x.item = ITEM_OTHER, x.sub = between(s, next), x.rule = "2.7";
	}
	put_gap(s, x);
}

/* Rule 2.1: which of the kinds at work stands for the process. */
static int choose_kind(const struct sight *s, enum stage stage)
{
	static const int of_stage[] = {ITEM_PROCESS_INIT, ITEM_CUDA_CONTEXT, ITEM_WEIGHTS,
				       ITEM_GRAPHS_JIT};
	int best = -1;

	for (uint64_t m = s->mask; m; m &= m - 1) {
		int kind = __builtin_ctzll(m), item = (int)kind_item(kind);

		if (item == of_stage[stage])
			return kind;
		if (best < 0 || item < (int)kind_item(best))
			best = kind;
	}
	return best;
}

static uint32_t thread_of(const struct sight *s, int kind)
{
	const uint64_t *bits = s->bits + (size_t)kind * s->words;

	for (size_t i = 0; i < s->words; i++)
		if (bits[i])
			return (uint32_t)(s->w->thread0[s->actor->process] + i * 64 +
					  (size_t)__builtin_ctzll(bits[i]));
	return s->own.item >= 0 ? s->own.thread : s->main;
}

/* Rule 2 over [a, b), in which nothing begins or ends. */
static void judge(struct sight *s, uint64_t a, uint64_t b)
{
	struct state x = {.a = a, .b = b, .thread = NO_THREAD};
	int kind;

	if (a < s->actor->start || a >= s->actor->done)
		return;
	look_back(s, a);
	x.stage = stage_at(s->actor, a);
	kind = choose_kind(s, x.stage);
	if (kind >= 0) {
		x.item = (uint16_t)kind_item(kind), x.grade = GRADE_MEASURED;
		x.sub = kind_sub(kind), x.rule = "2.1", x.thread = thread_of(s, kind);
		put(s, &x);
	} else if (s->span) {
		x.item = s->span->item, x.grade = GRADE_DECLARED, x.sub = s->span->name,
		x.rule = "2.2";
		x.thread = s->own.item >= 0 ? s->own.thread : s->main;
		put(s, &x);
	} else {
		judge_gap(s, x);
	}
}

static void close_sight(struct sight *s)
{
	vec_free(&s->all);
	vec_free(&s->by_a);
	vec_free(&s->by_b);
	vec_free(&s->events);
	vec_free(&s->flats);
	vec_free(&s->spans);
	vec_free(&s->boxes);
	vec_free(&s->jit);
	free(s->jit_sum);
	free(s->bits);
}

void states_of(struct world *w, const struct actor *actor, state_list *out)
{
	struct sight s = {.w = w, .actor = actor, .out = out, .base = out->n};
	const struct near none = {.item = -1};

	s.prev = s.prev_weight = s.prev_any = s.last_weight = s.own = none;
	s.main = world_thread(w, actor->process, w->t->processes.v[actor->process].pid);
	gather_pieces(&s);
	gather_flats(&s);
	gather_spans(&s, false, &s.spans);
	gather_spans(&s, true, &s.boxes);
	gather_jit(&s);
	gather_cuts(&s);
	keys_sort(s.events.v, s.events.n, &w->steps);
	for (size_t i = 0; i < s.events.n;) {
		uint64_t t = s.events.v[i].at;

		/* Ends before beginnings, so that a span that takes over is not lost. */
		for (size_t j = i; j < s.events.n && s.events.v[j].at == t; j++)
			if (s.events.v[j].what == SPAN_OFF || s.events.v[j].what == BOX_OFF)
				handle(&s, &s.events.v[j]);
		for (; i < s.events.n && s.events.v[i].at == t; i++)
			if (s.events.v[i].what != SPAN_OFF && s.events.v[i].what != BOX_OFF)
				handle(&s, &s.events.v[i]);
		w->steps++;
		if (i < s.events.n)
			judge(&s, t, s.events.v[i].at);
	}
	close_sight(&s);
}
