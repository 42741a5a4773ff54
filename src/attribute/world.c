/* SPDX-License-Identifier: Apache-2.0 */
#include "attribute/world.h"

bool item_counts(enum item item)
{
	return item >= ITEM_CUDA_CONTEXT && item <= ITEM_GRAPHS_JIT;
}

const char *item_short(int item)
{
	static const char *const words[ITEM_COUNT] = {
		[ITEM_PROCESS_INIT] = "init", [ITEM_CUDA_CONTEXT] = "context",
		[ITEM_ALLOCATOR] = "alloc",   [ITEM_WEIGHTS] = "weights",
		[ITEM_GRAPHS_JIT] = "jit",    [ITEM_SERVING_UP] = "serving up",
		[ITEM_OTHER] = "other",
	};

	return words[item];
}

const char *world_name(const struct world *w, int32_t process)
{
	const char *name = w->t->processes.v[process].name;

	return name ? name : "?";
}

bool world_clip(const struct world *w, uint64_t *a, uint64_t *b)
{
	return cut_to(w->s, w->e, a, b);
}

bool piece_is_neighbour(const struct piece *x)
{
	bool brief = x->kind >= 0 && x->item == ITEM_ALLOCATOR && x->b - x->a < SHORT_NS;

	return item_counts(x->item) && !brief && !x->container;
}

uint32_t world_thread(const struct world *w, int32_t process, int32_t tid)
{
	size_t lo = w->thread0[process], hi = w->thread0[process + 1];

	while (lo < hi) {
		size_t m = lo + (hi - lo) / 2;

		if (w->threads.v[m].tid < tid)
			lo = m + 1;
		else
			hi = m;
	}
	return lo < w->thread0[process + 1] && w->threads.v[lo].tid == tid ? (uint32_t)lo
									   : NO_THREAD;
}

uint32_t world_main_thread(const struct world *w, int32_t process)
{
	if (process < 0)
		return NO_THREAD;
	return world_thread(w, process, w->t->processes.v[process].pid);
}

struct iv_walk world_waits(const struct world *w, uint32_t thread, uint64_t a, uint64_t b)
{
	const struct thread *h = thread == NO_THREAD ? NULL : &w->threads.v[thread];

	return iv_walk_over(h ? w->waits.v + h->wait0 : NULL, h ? h->waits : 0, a, b);
}
