/* SPDX-License-Identifier: Apache-2.0 */
#include "attribute/sight.h"

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

uint64_t sight_jit(const struct sight *s, uint64_t a, uint64_t b)
{
	return jit_before(s, b) - jit_before(s, a);
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

static bool ends_span(const struct key *k)
{
	return k->what == SPAN_OFF || k->what == BOX_OFF;
}

uint64_t sight_step(struct sight *s, size_t *i)
{
	uint64_t t = s->events.v[*i].at;

	/* Ends before beginnings, so that a span that takes over is not lost. */
	for (size_t j = *i; j < s->events.n && s->events.v[j].at == t; j++)
		if (ends_span(&s->events.v[j]))
			handle(s, &s->events.v[j]);
	for (; *i < s->events.n && s->events.v[*i].at == t; ++*i)
		if (!ends_span(&s->events.v[*i]))
			handle(s, &s->events.v[*i]);
	s->w->steps++;
	return t;
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

void sight_look_back(struct sight *s, uint64_t t)
{
	for (; s->ib < s->by_b.n && s->by_b.v[s->ib].at <= t; s->ib++) {
		const struct piece *x = &s->all.v[s->by_b.v[s->ib].ref];

		if (piece_is_neighbour(x))
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

const struct piece *sight_next_neighbour(struct sight *s, uint64_t t)
{
	return look_ahead(s, &s->ia, t, piece_is_neighbour);
}

const struct piece *sight_next_weight(struct sight *s, uint64_t t)
{
	return look_ahead(s, &s->iw, t, is_weight);
}

const struct piece *sight_next_evidence(struct sight *s, uint64_t t)
{
	return look_ahead(s, &s->in, t, is_own);
}

uint32_t sight_thread(const struct sight *s)
{
	return s->own.item >= 0 ? s->own.thread : s->main;
}

uint32_t sight_thread_in(const struct sight *s, int kind)
{
	const uint64_t *bits = s->bits + (size_t)kind * s->words;

	for (size_t i = 0; i < s->words; i++)
		if (bits[i])
			return (uint32_t)(s->w->thread0[s->actor->process] + i * 64 +
					  (size_t)__builtin_ctzll(bits[i]));
	return sight_thread(s);
}

void sight_open(struct sight *s, struct world *w, const struct actor *actor)
{
	const struct near none = {.item = -1};

	*s = (struct sight){.w = w, .actor = actor};
	s->prev = s->prev_weight = s->prev_any = s->last_weight = s->own = none;
	s->main = world_main_thread(w, actor->process);
	gather_pieces(s);
	gather_flats(s);
	gather_spans(s, false, &s->spans);
	gather_spans(s, true, &s->boxes);
	gather_jit(s);
	gather_cuts(s);
	keys_sort(s->events.v, s->events.n, &w->steps);
}

void sight_close(struct sight *s)
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
