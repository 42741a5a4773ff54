/* SPDX-License-Identifier: Apache-2.0 */
/* What compilers did while a process waits for them. */
#include "attribute/world.h"

/* Who works for a compiler at *t, and until when: the youngest living descendant. */
static int32_t pass_at(struct world *w, int32_t process, uint64_t t, uint64_t *until)
{
	for (;;) {
		const struct iv *v = w->children.v + w->child0[process];
		size_t n = w->child0[process + 1] - w->child0[process], i = iv_at(v, n, t);

		w->steps++;
		if (i < n && v[i].a > t && v[i].a < *until)
			*until = v[i].a;
		if (i == n || v[i].a > t)
			return process;
		if (v[i].b < *until)
			*until = v[i].b;
		process = (int32_t)v[i].ref;
	}
}

void world_take_compilers(struct world *w)
{
	iv_list own = {0};

	vec_for_each (a, &w->actors) {
		vec_for_each (x, &a->extra) {
			struct iv v = {x->a, x->b, (uint32_t)x->process, (uint32_t)x->process};

			if (x->kind == KIND_COMPILER)
				vec_push(&own, v);
		}
		iv_sort(own.v, own.n, &w->steps);
		iv_flatten(own.v, own.n, &a->compilers, &w->steps);
		vec_clear(&own);
	}
	vec_free(&own);
}

static void sum(uint64_t *to, uint64_t ns)
{
	if (ns != UNKNOWN)
		*to = (*to == UNKNOWN ? 0 : *to) + ns;
}

void world_compiler_causes(struct world *w, const struct actor *actor, struct segment *s)
{
	struct iv_walk walk =
		iv_walk_over(actor->compilers.v, actor->compilers.n, s->start_ns, s->end_ns);
	struct iv_part part;

	s->cpu_ns = s->runnable_ns = s->io_wait_ns = s->sleep_ns = UNKNOWN;
	while (iv_walk_next(&walk, &part, &w->steps)) {
		for (uint64_t t = part.a, to; part.in && t < part.b; t = to) {
			struct segment pass;
			int32_t p;

			to = part.b;
			p = pass_at(w, (int32_t)part.in->ref, t, &to);
			world_causes(w, world_main_thread(w, p), t, to, &pass);
			sum(&s->cpu_ns, pass.cpu_ns);
			sum(&s->runnable_ns, pass.runnable_ns);
			sum(&s->io_wait_ns, pass.io_wait_ns);
			sum(&s->sleep_ns, pass.sleep_ns);
		}
	}
}
