/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growable arrays: VEC(struct thing) things; vec_push(&things, t); things.v[i]; vec_free(&things).
 * Memory that cannot be had ends the program (never used in a guest).
 */
#pragma once
#include <stddef.h>

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *v;                                                                           \
		size_t n, cap;                                                                     \
	}

/* Append a copy of `item`. */
#define vec_push(a, item)                                                                          \
	do {                                                                                       \
		if ((a)->n == (a)->cap)                                                            \
			(a)->v = vec_grow((a)->v, &(a)->cap, (a)->n + 1, sizeof(*(a)->v));         \
		(a)->v[(a)->n++] = (item);                                                         \
	} while (0)

/* A zeroed new last element; evaluates to its address. */
#define vec_add(a)                                                                                 \
	((a)->v = vec_room((a)->v, &(a)->cap, (a)->n, sizeof(*(a)->v)), &(a)->v[(a)->n++])

#define vec_last(a)  (&(a)->v[(a)->n - 1])
#define vec_clear(a) ((a)->n = 0)
#define vec_free(a)  (vec_release((a)->v), (a)->v = NULL, (a)->n = (a)->cap = 0)
#define vec_for_each(p, a)                                                                         \
	for (__typeof__((a)->v + 0) p = (a)->v, p##_end = p ? p + (a)->n : p; p < p##_end; p++)

/* Room for at least `want` elements of `size` bytes; *cap is set. */
void *vec_grow(void *v, size_t *cap, size_t want, size_t size);
/* Room for one more than `n`, that one zeroed. */
void *vec_room(void *v, size_t *cap, size_t n, size_t size);
void vec_release(void *v);

/* calloc, realloc and strdup that end the program when memory cannot be had. */
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);
