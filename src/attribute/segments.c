/* SPDX-License-Identifier: Apache-2.0 */
#include "attribute/segments.h"

#include <string.h>

#include "attribute/rows.h"

void segments_add(struct world *w, struct ledger *l, struct segment s, uint32_t thread)
{
	if (s.start_ns >= s.end_ns)
		return;
	world_causes(w, thread, s.start_ns, s.end_ns, &s);
	rows_add_segment(l, &s);
}

/* What is worth running to tell: "python3 -m package", else the process's name. */
static const char *child_name(const struct world *w, uint32_t process)
{
	const struct process *p = &w->t->processes.v[process];
	const char *m = p->command ? strstr(p->command, " -m ") : NULL, *end;

	if (!m)
		return world_name(w, (int32_t)process);
	m += strlen(" -m ");
	end = strchr(m, ' ');
	return trace_strf(w->t, "%s -m %.*s", world_name(w, (int32_t)process),
			  (int)(end ? end - m : (ptrdiff_t)strlen(m)), m);
}

void segments_add_waiting(struct world *w, struct ledger *l, struct segment s, uint32_t thread)
{
	size_t c0 = w->child0[s.process], n = w->child0[s.process + 1] - c0;
	struct iv_walk walk = iv_walk_over(w->children.v + c0, n, s.start_ns, s.end_ns);
	const char *sub = s.sub;
	struct iv_part part;

	while (iv_walk_next(&walk, &part, &w->steps)) {
		s.start_ns = part.a;
		s.end_ns = part.b;
		if (part.in)
			s.sub = trace_strf(w->t, "%s" ROWS_WAITING_ON "%s", sub,
					   child_name(w, part.in->ref));
		else
			s.sub = s.item == ITEM_OTHER ? trace_strf(w->t, "%s (waiting)", sub) : sub;
		segments_add(w, l, s, thread);
	}
}
