/* SPDX-License-Identifier: Apache-2.0 */
#include "attribute/sweep.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS	   (1u << DIGIT_BITS)

static void sort_few(struct key *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct key k = v[i];
		size_t j = i;

		for (; j && v[j - 1].at > k.at; j--)
			v[j] = v[j - 1];
		v[j] = k;
	}
}

void keys_sort(struct key *v, size_t n, uint64_t *steps)
{
	uint64_t all = 0, base = UINT64_MAX;
	bool sorted = true;
	struct key *from = v, *to;

	*steps += n;
	for (size_t i = 0; i < n; i++) {
		base = v[i].at < base ? v[i].at : base;
		sorted = sorted && (!i || v[i - 1].at <= v[i].at);
	}
	if (sorted)
		return;
	if (n <= 32) {
		sort_few(v, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		all |= v[i].at - base;
	to = xcalloc(n, sizeof(*to));
	for (int shift = 0; shift < 64 && all >> shift; shift += DIGIT_BITS) {
		size_t count[DIGITS] = {0}, sum = 0;
		struct key *swap = from;

		*steps += n;
		for (size_t i = 0; i < n; i++)
			count[(from[i].at - base) >> shift & (DIGITS - 1)]++;
		for (size_t d = 0; d < DIGITS; d++) {
			size_t c = count[d];

			count[d] = sum;
			sum += c;
		}
		for (size_t i = 0; i < n; i++)
			to[count[(from[i].at - base) >> shift & (DIGITS - 1)]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != v) {
		memcpy(v, from, n * sizeof(*v));
		to = from;
	}
	free(to);
}

size_t keys_after(const struct key *v, size_t n, uint64_t at)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t m = lo + (hi - lo) / 2;

		if (v[m].at > at)
			hi = m;
		else
			lo = m + 1;
	}
	return lo;
}

static int by_rest(const void *a, const void *b)
{
	const struct iv *x = a, *y = b;

	if (x->b != y->b)
		return x->b < y->b ? -1 : 1;
	if (x->tie != y->tie)
		return x->tie < y->tie ? -1 : 1;
	return x->ref < y->ref ? -1 : x->ref > y->ref;
}

void iv_sort(struct iv *v, size_t n, uint64_t *steps)
{
	struct key *k = xcalloc(n, sizeof(*k));
	struct iv *copy = xcalloc(n, sizeof(*copy));

	for (size_t i = 0; i < n; i++)
		k[i] = (struct key){v[i].a, 0, (uint32_t)i};
	keys_sort(k, n, steps);
	for (size_t i = 0; i < n; i++)
		copy[i] = v[k[i].ref];
	if (n)
		memcpy(v, copy, n * sizeof(*v));
	free(copy);
	free(k);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && v[j].a == v[i].a; j++)
			;
		if (j - i > 1)
			qsort(v + i, j - i, sizeof(*v), by_rest);
	}
}

static bool inner(const struct iv *x, const struct iv *y)
{
	if (x->a != y->a)
		return x->a > y->a;
	if (x->b != y->b)
		return x->b < y->b;
	return x->tie != y->tie ? x->tie < y->tie : x->ref < y->ref;
}

static void heap_push(iv_list *h, struct iv x, uint64_t *steps)
{
	size_t i = h->n;

	vec_push(h, x);
	while (i && inner(&x, &h->v[(i - 1) / 2])) {
		h->v[i] = h->v[(i - 1) / 2];
		i = (i - 1) / 2;
		++*steps;
	}
	h->v[i] = x;
}

static void heap_pop(iv_list *h, uint64_t *steps)
{
	struct iv x = h->v[--h->n];
	size_t i = 0, c;

	while ((c = 2 * i + 1) < h->n) {
		if (c + 1 < h->n && inner(&h->v[c + 1], &h->v[c]))
			c++;
		if (!inner(&h->v[c], &x))
			break;
		h->v[i] = h->v[c];
		i = c;
		++*steps;
	}
	h->v[i] = x;
}

/* What lies in `out` below `base` is another thread's or process's: it never goes on. */
static void append(iv_list *out, size_t base, const struct iv *top, uint64_t a, uint64_t b)
{
	struct iv *last = out->n > base ? vec_last(out) : NULL;
	struct iv x = {a, b, top->tie, top->ref};

	if (last && last->b == a && last->ref == x.ref && last->tie == x.tie)
		last->b = b;
	else
		vec_push(out, x);
}

void iv_flatten(const struct iv *v, size_t n, iv_list *out, uint64_t *steps)
{
	iv_list open = {0};
	uint64_t now = 0, to;
	size_t i = 0, base = out->n;

	while (i < n || open.n) {
		++*steps;
		while (open.n && open.v[0].b <= now)
			heap_pop(&open, steps);
		if (!open.n) {
			if (i == n)
				break;
			now = v[i].a > now ? v[i].a : now;
		}
		for (; i < n && v[i].a <= now; i++)
			if (v[i].b > now)
				heap_push(&open, v[i], steps);
		if (!open.n)
			continue;
		to = open.v[0].b;
		if (i < n && v[i].a < to)
			to = v[i].a;
		append(out, base, &open.v[0], now, to);
		now = to;
	}
	vec_free(&open);
}

size_t iv_at(const struct iv *v, size_t n, uint64_t t)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t m = lo + (hi - lo) / 2;

		if (v[m].b > t)
			hi = m;
		else
			lo = m + 1;
	}
	return lo;
}

struct iv_walk iv_walk_over(const struct iv *v, size_t n, uint64_t a, uint64_t b)
{
	return (struct iv_walk){v, n, iv_at(v, n, a), a, b};
}

bool iv_walk_next(struct iv_walk *w, struct iv_part *ret, uint64_t *steps)
{
	const struct iv *x = w->i < w->n ? &w->v[w->i] : NULL;
	uint64_t to;

	if (w->at >= w->end)
		return false;
	++*steps;
	ret->in = x && x->a <= w->at ? x : NULL;
	to = ret->in ? x->b : x ? x->a : w->end;
	ret->a = w->at;
	ret->b = to < w->end ? to : w->end;
	w->at = ret->b;
	w->i += ret->in != NULL;
	return true;
}

void tourney_init(struct tourney *y, size_t n,
		  bool (*better)(const void *arg, int32_t a, int32_t b), const void *arg)
{
	y->n = n;
	y->better = better;
	y->arg = arg;
	for (y->width = 1; y->width < n; y->width *= 2)
		;
	y->win = xcalloc(2 * y->width, sizeof(*y->win));
	for (size_t i = 0; i < 2 * y->width; i++)
		y->win[i] = -1;
}

void tourney_set(struct tourney *y, size_t i, bool in, uint64_t *steps)
{
	size_t node = y->width + i;

	y->win[node] = in ? (int32_t)i : -1;
	for (node /= 2; node; node /= 2) {
		int32_t a = y->win[2 * node], b = y->win[2 * node + 1];

		y->win[node] = a < 0 || (b >= 0 && y->better(y->arg, b, a)) ? b : a;
		++*steps;
	}
}

int32_t tourney_best(const struct tourney *y)
{
	return y->win[1];
}

void tourney_done(struct tourney *y)
{
	free(y->win);
	y->win = NULL;
}
