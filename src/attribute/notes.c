/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader should know beside the numbers. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "attribute/rows.h"
#include "attribute/notes.h"

void note_say(struct world *w, struct ledger *l, struct str *s)
{
	vec_push(&l->notes, trace_str(w->t, str_get(s)));
	str_clear(s);
}

static void note_no_gpu(struct world *w, struct ledger *l, struct str *s)
{
	if (w->actors.n)
		return;
	str_add(s, "no GPU or weight use was seen in the observed tree");
	note_say(w, l, s);
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
		note_say(w, l, s);
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

/* Would reads and faults on the weights have been seen? */
static bool would_see_loads(const struct trace *t)
{
	return t->saw & SAW_FAULTS && (t->saw & SAW_READS || t->processes.v[0].shim);
}

/* "; 44 % of the weights' 67.1 MB had been read": how far the load had come, where that is known. */
static void add_progress(const struct world *w, struct str *s)
{
	uint64_t size = 0, in = 0, *of = xcalloc(w->t->files.n + 1, sizeof(*of));
	bool known = would_see_loads(w->t);

	vec_for_each (io, &w->t->io) {
		uint64_t n = rows_sum(io->asked_bytes, io->mapped_bytes);

		if (io->file < 0 || (size_t)io->file >= w->t->files.n || io->mode == IO_WRITE ||
		    n == UNKNOWN)
			continue;
		of[io->file] += n;
		known |= w->t->files.v[io->file].cls == FILE_WEIGHTS && n;
	}
	for (size_t i = 0; i < w->t->files.n; i++) {
		const struct file *f = &w->t->files.v[i];

		if (f->cls != FILE_WEIGHTS || f->size_bytes == UNKNOWN)
			continue;
		size += f->size_bytes;
		in += of[i] < f->size_bytes ? of[i] : f->size_bytes;
	}
	if (size && known)
		str_addf(s, "; %.0f%% of the weights' %.1f MB had been read",
			 100 * (double)in / (double)size, (double)size / 1e6);
	free(of);
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
	add_progress(w, s);
	note_say(w, l, s);
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
		note_say(w, l, s);
	}
}

void notes_write(struct world *w, struct ledger *l)
{
	struct str s = {0};

	note_first_death(w, l, &s);
	note_no_gpu(w, l, &s);
	note_only_asked(w, l, &s);
	note_not_ready(w, l, &s);
	note_waits(w, l, &s);
	note_compilers(w, l, &s);
	note_read_again(w, l, &s);
	note_who_worked(w, l, &s);
	str_free(&s);
}
