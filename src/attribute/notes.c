/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader should know beside the numbers. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "attribute/rows.h"
#include "attribute/world.h"
#include "base/str.h"

static void say(struct world *w, struct ledger *l, struct str *s)
{
	vec_push(&l->notes, trace_str(w->t, str_get(s)));
	str_clear(s);
}

static void note_no_gpu(struct world *w, struct ledger *l, struct str *s)
{
	if (w->actors.n)
		return;
	str_add(s, "no GPU or weight use was seen in the observed tree");
	say(w, l, s);
}

/* A process that asked the driver and used nothing has no part in the wall. */
static void note_only_asked(struct world *w, struct ledger *l, struct str *s)
{
	vec_for_each (x, &l->work) {
		if (x->process < 0 || x->item != ITEM_CUDA_CONTEXT || w->actor[x->process] >= 0)
			continue;
		str_addf(s,
			 "%s (pid %d) called cuInit for %.3f s and used no device: work, not wall",
			 world_name(w, x->process), w->t->processes.v[x->process].pid,
			 (double)x->sum_ns / 1e9);
		say(w, l, s);
	}
}

static int by_path(const void *a, const void *b)
{
	const struct file *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

/* ", reading shard 2 of 3 (model-2.safetensors)" for the file that was being read at the end. */
static void add_shard(const struct world *w, const struct segment *last, struct str *s)
{
	VEC(const struct file *) shards = {0};
	const struct file *at = NULL;

	vec_for_each (e, &w->t->evidence)
		if (e->process == last->process && e->file >= 0 &&
		    kind_item(e->kind) == ITEM_WEIGHTS && e->start_ns < w->e && e->end_ns >= w->e)
			at = &w->t->files.v[e->file];
	vec_for_each (f, &w->t->files)
		if (f->cls == FILE_WEIGHTS && f->path)
			vec_push(&shards, f);
	if (shards.n)
		qsort(shards.v, shards.n, sizeof(*shards.v), by_path);
	for (size_t i = 0; at && at->path && i < shards.n; i++) {
		if (shards.v[i] != at)
			continue;
		str_addf(s, ", reading shard %zu of %zu (%s)", i + 1, shards.n,
			 str_base_name(at->path));
	}
	vec_free(&shards);
}

static void note_not_ready(struct world *w, struct ledger *l, struct str *s)
{
	const struct run *r = &w->t->run;
	const struct segment *last = vec_last(&l->segments);

	if (r->ready_ns != UNKNOWN)
		return;
	str_add(s, "not ready; ");
	if (r->status != -1 && WIFSIGNALED(r->status))
		str_addf(s, "SIG%s",
			 sigabbrev_np(WTERMSIG(r->status)) ? sigabbrev_np(WTERMSIG(r->status))
							   : "?");
	else if (r->status != -1 && WIFEXITED(r->status))
		str_addf(s, "exit with status %d", WEXITSTATUS(r->status));
	else
		str_add(s, r->ending ? r->ending : "the end of the record");
	str_addf(s, " in %s", last->item == ITEM_OTHER ? last->sub : item_title(last->item));
	add_shard(w, last, s);
	say(w, l, s);
}

/* The longest wait of a driver on one child. */
static void note_waits(struct world *w, struct ledger *l, struct str *s)
{
	static const char by[] = ROWS_WAITING_ON;

	vec_for_each (r, &l->rows) {
		const char *at = strstr(r->sub, by);

		if (!at)
			continue;
		str_addf(s, "%.*s waited %.3f s on %s", (int)(at - r->sub), r->sub,
			 (double)r->wall_ns / 1e9, at + strlen(by));
		say(w, l, s);
	}
}

void notes_write(struct world *w, struct ledger *l)
{
	struct str s = {0};

	note_no_gpu(w, l, &s);
	note_only_asked(w, l, &s);
	note_not_ready(w, l, &s);
	note_waits(w, l, &s);
	str_free(&s);
}
