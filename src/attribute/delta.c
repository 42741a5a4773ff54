/* SPDX-License-Identifier: Apache-2.0 */
#include "attribute/delta.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "attribute/sweep.h"

static const char *const cause_words[] = {
#define X(id, words) words,
	DELTA_CAUSES(X)
#undef X
};

const char *delta_cause_words(enum delta_cause cause)
{
	return cause_words[cause];
}

/* The cause that a kind of evidence is; its wall time is charged there whole. */
static int cause_of_kind(int kind)
{
	switch (kind) {
	case KIND_READ_STORAGE:
	case KIND_READ:
	case KIND_STREAM:
	case KIND_POPULATE:
		return DELTA_STORAGE;
	case KIND_FAULT:
		return DELTA_FAULT_WAIT;
	case KIND_READ_CACHE:
		return DELTA_PAGE_CACHE;
	case KIND_H2D:
		return DELTA_COPY;
	case KIND_DESERIALISE:
		return DELTA_HOST_WORK;
	case KIND_COMPILER:
	case KIND_COMPILE:
		return DELTA_COMPILE;
	case KIND_CACHE_IO:
		return DELTA_CACHE_IO;
	default:
		if (kind_item(kind) == ITEM_GRAPHS_JIT)
			return DELTA_GRAPHS;
		if (kind_item(kind) == ITEM_CUDA_CONTEXT || kind_item(kind) == ITEM_ALLOCATOR)
			return DELTA_DRIVER;
		return -1;
	}
}

/* The kind whose sub-line a measured row is; -1. */
static int kind_of_row(const struct ledger_row *r)
{
	if (r->grade != GRADE_MEASURED)
		return -1;
	for (int k = 0; k < KIND_COUNT; k++)
		if ((int)kind_item(k) == r->item && strcmp(kind_sub(k), r->sub) == 0)
			return k;
	return -1;
}

/* Nanoseconds of each (item, cause). */
typedef int64_t table[ITEM_COUNT][DELTA_CAUSE_COUNT];

static void charge(table t, const struct ledger_row *r, int64_t sign)
{
	const uint64_t known[] = {r->cpu_ns, r->runnable_ns, r->io_wait_ns, r->sleep_ns};
	int kind = kind_of_row(r), cause = kind < 0 ? -1 : cause_of_kind(kind);
	int64_t rest = (int64_t)r->wall_ns;

	if (cause < 0 && r->item == ITEM_WEIGHTS)
		cause = DELTA_HOST_WORK;
	if (cause >= 0) {
		t[r->item][cause] += sign * rest;
		return;
	}
	for (int c = 0; c < 4; c++) {
		int64_t ns = known[c] == UNKNOWN ? 0 : (int64_t)known[c];

		ns = ns < rest ? ns : rest;
		t[r->item][DELTA_ON_CPU + c] += sign * ns;
		rest -= ns;
	}
	t[r->item][DELTA_NOT_KNOWN] += sign * rest;
}

/* Busy time and bytes of one file or program, in one (item, cause): b less a. */
struct share {
	UT_hash_handle hh;
	struct {
		int32_t item, cause;
		const char *name; /* interned in one trace */
	} key;
	int64_t ns, bytes;
};

static const char *name_of(const struct trace *t, const struct evidence *e)
{
	if (e->file >= 0 && (size_t)e->file < t->files.n)
		return t->files.v[e->file].path;
	return e->what;
}

static struct share *share_of(struct share **set, int item, int cause, const char *name)
{
	struct share want, *s;

	memset(&want, 0, sizeof(want));
	want.key.item = item;
	want.key.cause = cause;
	want.key.name = name;
	HASH_FIND(hh, *set, &want.key, sizeof(want.key), s);
	if (s)
		return s;
	s = xcalloc(1, sizeof(*s));
	s->key = want.key;
	HASH_ADD(hh, *set, key, sizeof(s->key), s);
	return s;
}

/* `names` owns the strings that the shares are told apart by. */
static void share_evidence(struct share **set, struct trace *names, const struct trace *t,
			   const struct ledger *l, int64_t sign)
{
	vec_for_each (e, &t->evidence) {
		uint64_t a = e->start_ns, b = e->end_ns, bytes = e->bytes;
		int cause = cause_of_kind(e->kind);
		const char *name = name_of(t, e);
		struct share *s;

		if (cause < 0 || !name || !cut_to(l->start_ns, l->end_ns, &a, &b))
			continue;
		s = share_of(set, (int)kind_item(e->kind), cause, trace_str(names, name));
		s->ns += sign * (int64_t)(b - a);
		if (bytes == UNKNOWN)
			continue;
		if (e->end_ns > e->start_ns)
			bytes = share(bytes, b - a, e->end_ns - e->start_ns);
		s->bytes += sign * (int64_t)bytes;
	}
}

/* Files that are no weights made process init wait for storage. */
static void share_io(struct share **set, struct trace *names, const struct trace *t,
		     const struct ledger *l, int64_t sign)
{
	vec_for_each (x, &t->io) {
		const struct file *f;
		struct share *s;

		if (x->file < 0 || (size_t)x->file >= t->files.n)
			continue;
		f = &t->files.v[x->file];
		if (f->cls == FILE_WEIGHTS || !f->path || x->storage_bytes == UNKNOWN ||
		    !x->storage_bytes || x->bin_ns >= l->end_ns)
			continue;
		s = share_of(set, ITEM_PROCESS_INIT, DELTA_IO_WAIT, trace_str(names, f->path));
		s->bytes += sign * (int64_t)x->storage_bytes;
		if (x->wait_ns != UNKNOWN)
			s->ns += sign * (int64_t)x->wait_ns;
	}
}

static int64_t size(int64_t x)
{
	return x < 0 ? -x : x;
}

/*
 * Name the largest share that has the part's own sign; without times, the one with the most bytes.
 */
static void name_part(struct delta_part *p, struct share *set)
{
	struct share *s, *next, *best = NULL;
	bool any = false;
	int64_t bytes = 0;

	HASH_ITER (hh, set, s, next) {
		if (s->key.item != p->item || s->key.cause != p->cause)
			continue;
		any |= s->bytes != 0;
		bytes += s->bytes;
		if (((s->ns ? s->ns : s->bytes) < 0) != (p->ns < 0) || (!s->ns && !s->bytes))
			continue;
		if (!best || size(s->ns) > size(best->ns) ||
		    (size(s->ns) == size(best->ns) && size(s->bytes) > size(best->bytes)) ||
		    (size(s->ns) == size(best->ns) && size(s->bytes) == size(best->bytes) &&
		     strcmp(s->key.name, best->key.name) < 0))
			best = s;
	}
	if (any)
		p->bytes = bytes;
	if (best) {
		p->what = best->key.name;
		p->what_ns = best->ns;
	}
}

static int by_size(const void *a, const void *b)
{
	const struct delta_part *x = a, *y = b;

	if (x->item != y->item)
		return x->item - y->item;
	if (size(x->ns) != size(y->ns))
		return size(x->ns) > size(y->ns) ? -1 : 1;
	return x->cause - y->cause;
}

static void note_state(struct delta *d, struct trace *tb, const char *of, const char *a,
		       const char *b)
{
	const char *text;

	if (!a || !b || strcmp(a, b) == 0)
		return;
	text = trace_strf(tb, "unlike states: %s %s in the first, %s in the second", of, a, b);
	vec_push(&d->notes, text);
}

void delta_make(const struct trace *ta, const struct ledger *la, struct trace *tb,
		const struct ledger *lb, struct delta *ret_delta)
{
	struct share *set = NULL, *s, *next;
	table t = {{0}};

	memset(ret_delta, 0, sizeof(*ret_delta));
	vec_for_each (r, &la->rows)
		charge(t, r, -1);
	vec_for_each (r, &lb->rows)
		charge(t, r, 1);
	share_evidence(&set, tb, ta, la, -1);
	share_evidence(&set, tb, tb, lb, 1);
	share_io(&set, tb, ta, la, -1);
	share_io(&set, tb, tb, lb, 1);
	for (int item = 0; item < ITEM_COUNT; item++)
		for (int cause = 0; cause < DELTA_CAUSE_COUNT; cause++) {
			struct delta_part p = {.item = (uint16_t)item,
					       .cause = (uint16_t)cause,
					       .ns = t[item][cause],
					       .bytes = INT64_MIN};

			if (!p.ns)
				continue;
			name_part(&p, set);
			ret_delta->item_ns[item] += p.ns;
			ret_delta->wall_ns += p.ns;
			vec_push(&ret_delta->parts, p);
		}
	if (ret_delta->parts.n)
		qsort(ret_delta->parts.v, ret_delta->parts.n, sizeof(*ret_delta->parts.v), by_size);
	note_state(ret_delta, tb, "weights", ta->run.state, tb->run.state);
	note_state(ret_delta, tb, "files", ta->run.state_files, tb->run.state_files);
	note_state(ret_delta, tb, "compile caches", ta->run.state_caches, tb->run.state_caches);
	HASH_ITER (hh, set, s, next) {
		HASH_DEL(set, s);
		free(s);
	}
}

void delta_done(struct delta *d)
{
	vec_free(&d->parts);
	vec_free(&d->notes);
}
