/* SPDX-License-Identifier: Apache-2.0 */
/* What the process tree as a whole did: deaths, compilers, bytes read more than once, who worked at the end. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "attribute/notes.h"
#include "attribute/rows.h"
#include "base/str.h"

#define MB(bytes) ((double)(bytes) / 1e6)
#define SEC(ns)	  ((double)(ns) / 1e9)

static void add_signal(struct str *s, int sig)
{
	const char *name = sigabbrev_np(sig);

	str_addf(s, "SIG%s", name ? name : "?");
}

/* ", in weights, last file PATH": what it did last. */
static void add_last(const struct world *w, size_t p, struct str *s)
{
	const struct evidence *last = NULL;

	vec_for_each (e, &w->t->evidence)
		if (e->process == (int32_t)p && kind_item(e->kind) != ITEM_COUNT &&
		    (!last || e->end_ns >= last->end_ns))
			last = e;
	if (!last) {
		str_add(s, ", in process init");
		return;
	}
	str_addf(s, ", last seen in %s", item_title(kind_item(last->kind)));
	if (last->file >= 0 && (size_t)last->file < w->t->files.n && w->t->files.v[last->file].path)
		str_addf(s, " (%s)", w->t->files.v[last->file].path);
}

void note_first_death(struct world *w, struct ledger *l, struct str *s)
{
	const struct process *all = w->t->processes.v;
	size_t more;
	int32_t first = world_first_death(w, &more);

	if (first < 0)
		return;
	str_addf(s, "first to die: %s (pid %d), of ", world_name(w, first), all[first].pid);
	if (WIFSIGNALED(all[first].status))
		add_signal(s, WTERMSIG(all[first].status));
	else
		str_addf(s, "exit status %d", WEXITSTATUS(all[first].status));
	str_addf(s, " %.3f s after the start", SEC(all[first].end_ns - w->s));
	if (all[first].role != ROLE_COMPILER)
		add_last(w, (size_t)first, s);
	if (more)
		str_addf(s, "; %zu more after it", more);
	note_say(w, l, s);
}

static bool is_outermost(const struct world *w, size_t p)
{
	if (w->t->processes.v[p].role != ROLE_COMPILER)
		return false;
	for (int32_t q = w->parent[p]; q >= 0; q = w->parent[q])
		if (w->t->processes.v[q].role == ROLE_COMPILER)
			return false;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->what > y->what) - (x->what < y->what);
}

/* How many lived at once, at most. */
static size_t peak(key_list *k)
{
	size_t now = 0, most = 0;

	qsort(k->v, k->n, sizeof(*k->v), by_time);
	vec_for_each (x, k) {
		now += x->what ? 1 : (size_t)-1;
		most = now > most ? now : most;
	}
	return most;
}

void note_compilers(struct world *w, struct ledger *l, struct str *s)
{
	uint64_t cpu_ns = 0;
	bool timed = false;
	key_list edges = {0};

	for (size_t p = 1; p < w->t->processes.n; p++) {
		uint64_t a = w->t->processes.v[p].start_ns, b = w->t->processes.v[p].end_ns;

		if (!is_outermost(w, p) || !world_clip(w, &a, &b))
			continue;
		/* Of an end and a start at one time the end is first. */
		vec_push(&edges, ((struct key){a, 1, (uint32_t)p}));
		vec_push(&edges, ((struct key){b, 0, (uint32_t)p}));
	}
	vec_for_each (r, &w->t->times)
		if (r->process >= 0 && (size_t)r->process < w->t->processes.n &&
		    w->t->processes.v[r->process].role == ROLE_COMPILER && r->cpu_ns != UNKNOWN) {
			cpu_ns += r->cpu_ns;
			timed = true;
		}
	if (edges.n > 2) {
		size_t n = edges.n / 2;

		str_addf(s, "%zu compilers ran, up to %zu at once", n, peak(&edges));
		if (timed)
			str_addf(s, ", %.3f s of CPU", SEC(cpu_ns));
		note_say(w, l, s);
	}
	vec_free(&edges);
}

/* Of each process the bytes of weights that it asked for; their sum. */
static uint64_t weights_asked(const struct world *w, uint64_t *asked, bool *touched,
			      uint64_t *ret_storage)
{
	uint64_t sum = 0;

	*ret_storage = 0;
	vec_for_each (io, &w->t->io) {
		uint64_t n = rows_sum(io->asked_bytes, io->mapped_bytes);

		if (io->process < 0 || (size_t)io->process >= w->t->processes.n || io->file < 0 ||
		    (size_t)io->file >= w->t->files.n ||
		    w->t->files.v[io->file].cls != FILE_WEIGHTS || io->mode == IO_WRITE ||
		    io->bin_ns >= w->e || n == UNKNOWN)
			continue;
		asked[io->process] += n;
		sum += n;
		touched[io->file] |= n > 0;
		if (io->storage_bytes == UNKNOWN)
			*ret_storage = UNKNOWN;
		else if (*ret_storage != UNKNOWN)
			*ret_storage += io->storage_bytes;
	}
	return sum;
}

/* Who was last to have its weights; NO_INDEX. */
static int32_t last_loader(const struct world *w)
{
	const struct evidence *last = NULL;

	vec_for_each (e, &w->t->evidence)
		if (kind_item(e->kind) == ITEM_WEIGHTS && e->end_ns <= w->e &&
		    (!last || e->end_ns > last->end_ns))
			last = e;
	return last ? last->process : NO_INDEX;
}

void note_read_again(struct world *w, struct ledger *l, struct str *s)
{
	size_t n = w->t->processes.n, readers = 0, files = 0, most = 0;
	uint64_t *asked = xcalloc(n + 1, sizeof(*asked)), unique = 0, storage, sum;
	bool *touched = xcalloc(w->t->files.n + 1, sizeof(*touched));
	int32_t last;

	sum = weights_asked(w, asked, touched, &storage);
	for (size_t i = 0; i < w->t->files.n; i++) {
		files += touched[i];
		if (touched[i] && w->t->files.v[i].size_bytes != UNKNOWN)
			unique += w->t->files.v[i].size_bytes;
	}
	for (size_t p = 0; p < n; p++) {
		readers += asked[p] > 0;
		most = asked[p] > asked[most] ? p : most;
	}
	if (unique && sum > unique + unique / 2) {
		str_addf(s, "weights: %.1f MB asked for, %.1f times the %.1f MB of %zu file%s",
			 MB(sum), (double)sum / (double)unique, MB(unique), files,
			 files == 1 ? "" : "s");
		if (storage != UNKNOWN)
			str_addf(s, "; %.1f MB from storage", MB(storage));
		if (readers > 1)
			str_addf(s, "; %zu processes, most by %s (pid %d): %.1f MB", readers,
				 world_name(w, (int32_t)most), w->t->processes.v[most].pid,
				 MB(asked[most]));
		last = last_loader(w);
		if (readers > 1 && last >= 0)
			str_addf(s, "; last done: pid %d", w->t->processes.v[last].pid);
		note_say(w, l, s);
	}
	free(asked);
	free(touched);
}

/* Nothing says what the last stretch was for: at least who worked in it. */
void note_who_worked(struct world *w, struct ledger *l, struct str *s)
{
	uint64_t a = UNKNOWN, b = 0, *cpu = xcalloc(w->t->processes.n + 1, sizeof(*cpu));
	size_t best = 0;

	vec_for_each (x, &l->segments)
		if (x->process < 0 && (x->item == ITEM_SERVING_UP || x->item == ITEM_OTHER)) {
			a = x->start_ns < a ? x->start_ns : a;
			b = x->end_ns;
		}
	vec_for_each (r, &w->t->times) {
		uint64_t from = r->start_ns > a ? r->start_ns : a,
			 to = r->end_ns < b ? r->end_ns : b;

		if (from < to && r->cpu_ns != UNKNOWN && r->process >= 0 &&
		    (size_t)r->process < w->t->processes.n)
			cpu[r->process] += share(r->cpu_ns, to - from, r->end_ns - r->start_ns);
	}
	for (size_t p = 0; p < w->t->processes.n; p++)
		best = cpu[p] > cpu[best] ? p : best;
	if (a < b && b - a >= SHORT_NS && cpu[best] >= (b - a) / 2) {
		str_addf(s, "in the last %.3f s %s (pid %d) worked most: %.3f s of CPU", SEC(b - a),
			 world_name(w, (int32_t)best), w->t->processes.v[best].pid, SEC(cpu[best]));
		note_say(w, l, s);
	}
	free(cpu);
}
