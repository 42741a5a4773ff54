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
	const struct iv *v = actor->compilers.v;
	size_t n = actor->compilers.n, i = iv_at(v, n, s->start_ns);

	s->cpu_ns = s->runnable_ns = s->io_wait_ns = s->sleep_ns = UNKNOWN;
	for (uint64_t t = s->start_ns, to; i < n && t < s->end_ns; t = to) {
		struct segment part;
		int32_t p;

		if (v[i].a > t) {
			to = v[i].a;
			continue;
		}
		to = v[i].b < s->end_ns ? v[i].b : s->end_ns;
		p = pass_at(w, (int32_t)v[i].ref, t, &to);
		i += to == v[i].b;
		world_causes(w, world_thread(w, p, w->t->processes.v[p].pid), t, to, &part);
		sum(&s->cpu_ns, part.cpu_ns);
		sum(&s->runnable_ns, part.runnable_ns);
		sum(&s->io_wait_ns, part.io_wait_ns);
		sum(&s->sleep_ns, part.sleep_ns);
	}
}
