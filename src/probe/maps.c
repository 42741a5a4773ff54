/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file lay at an address of a process at a moment. Only mappings of files are kept: an
 * anonymous one that takes their place just cuts them. What was cut stays findable for a while, for
 * faults that are reported late.
 */
#include "probe/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/model.h"

#define OLD_NS (5 * NS_PER_SEC)

struct map {
	uint64_t start, end, offset; /* addresses; offset of start in the file */
	uint64_t from_ns, until_ns;
	int32_t file;
};

struct space {
	int32_t pid;
	uint64_t dead_ns;     /* 0 alive */
	VEC(struct map) live; /* by address, no overlap */
	VEC(struct map) old;  /* by until_ns */
	UT_hash_handle hh;
};

static struct space *space_of(struct probe *p, int32_t pid)
{
	struct space *s;

	HASH_FIND(hh, p->spaces, &pid, sizeof(pid), s);
	if (!s) {
		s = xcalloc(1, sizeof(*s));
		s->pid = pid;
		HASH_ADD(hh, p->spaces, pid, sizeof(s->pid), s);
	}
	return s;
}

static void space_free(struct probe *p, struct space *s)
{
	HASH_DEL(p->spaces, s);
	vec_free(&s->live);
	vec_free(&s->old);
	free(s);
}

static void retire(struct space *s, const struct map *m, uint64_t start, uint64_t end,
		   uint64_t at_ns)
{
	struct map old = *m;

	old.offset += start - m->start;
	old.start = start;
	old.end = end;
	old.until_ns = at_ns;
	vec_push(&s->old, old);
}

/* The first live mapping that ends behind `address`. */
static size_t first_behind(const struct space *s, uint64_t address)
{
	size_t low = 0, high = s->live.n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (s->live.v[mid].end <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Replace live entries [at, at + gone) by `n` new ones. */
static void splice(struct space *s, size_t at, size_t gone, const struct map *with, size_t n)
{
	size_t tail = s->live.n - at - gone, want = at + n + tail;

	if (want > s->live.cap)
		s->live.v = vec_grow(s->live.v, &s->live.cap, want, sizeof(*s->live.v));
	if (tail && n != gone)
		memmove(s->live.v + at + n, s->live.v + at + gone, tail * sizeof(*s->live.v));
	if (n)
		memcpy(s->live.v + at, with, n * sizeof(*with));
	s->live.n = want;
}

void maps_add(struct probe *p, int32_t pid, uint64_t at_ns, uint64_t start, uint64_t bytes,
	      uint64_t offset, int32_t file)
{
	struct space *s = space_of(p, pid);
	uint64_t end = start + bytes;
	struct map with[3];
	size_t at = first_behind(s, start), last = at, n = 0;

	for (; last < s->live.n && s->live.v[last].start < end; last++) {
		const struct map *m = &s->live.v[last];
		uint64_t from = m->start > start ? m->start : start;

		retire(s, m, from, m->end < end ? m->end : end, at_ns);
	}
	if (last == at && file == NO_INDEX)
		return;
	if (last > at && s->live.v[at].start < start) {
		with[n] = s->live.v[at];
		with[n++].end = start;
	}
	if (file != NO_INDEX)
		with[n++] = (struct map){start, end, offset, at_ns, UINT64_MAX, file};
	if (last > at && s->live.v[last - 1].end > end) {
		with[n] = s->live.v[last - 1];
		with[n].offset += end - with[n].start;
		with[n++].start = end;
	}
	splice(s, at, last - at, with, n);
}

void maps_fork(struct probe *p, int32_t ppid, int32_t pid, uint64_t at_ns)
{
	struct space *child, *parent;

	HASH_FIND(hh, p->spaces, &pid, sizeof(pid), child);
	if (child)
		space_free(p, child);
	child = space_of(p, pid);
	HASH_FIND(hh, p->spaces, &ppid, sizeof(ppid), parent);
	if (!parent)
		return;
	splice(child, 0, 0, parent->live.v, parent->live.n);
	vec_for_each (m, &child->live)
		m->from_ns = at_ns;
}

void maps_exec(struct probe *p, int32_t pid, uint64_t at_ns)
{
	struct space *s = space_of(p, pid);

	s->dead_ns = 0;
	vec_for_each (m, &s->live)
		retire(s, m, m->start, m->end, at_ns);
	vec_clear(&s->live);
}

void maps_exit(struct probe *p, int32_t pid, uint64_t at_ns)
{
	struct space *s;

	HASH_FIND(hh, p->spaces, &pid, sizeof(pid), s);
	if (s)
		s->dead_ns = at_ns;
}

int32_t maps_find(struct probe *p, int32_t pid, uint64_t address, uint64_t at_ns,
		  uint64_t *ret_offset)
{
	const struct map *m = NULL;
	struct space *s;
	size_t i;

	HASH_FIND(hh, p->spaces, &pid, sizeof(pid), s);
	if (!s)
		return NO_INDEX;
	i = first_behind(s, address);
	if (i < s->live.n && s->live.v[i].start <= address && s->live.v[i].from_ns <= at_ns)
		m = &s->live.v[i];
	for (i = s->old.n; !m && i-- > 0 && s->old.v[i].until_ns > at_ns;)
		if (s->old.v[i].start <= address && address < s->old.v[i].end &&
		    s->old.v[i].from_ns <= at_ns)
			m = &s->old.v[i];
	if (!m)
		return NO_INDEX;
	*ret_offset = m->offset + (address - m->start);
	return m->file;
}

void maps_forget(struct probe *p, uint64_t now_ns)
{
	struct space *s, *next;

	if (now_ns < p->next_forget_ns)
		return;
	p->next_forget_ns = now_ns + NS_PER_SEC;
	HASH_ITER (hh, p->spaces, s, next) {
		size_t keep = 0;

		if (s->dead_ns && s->dead_ns + OLD_NS < now_ns) {
			space_free(p, s);
			continue;
		}
		while (keep < s->old.n && s->old.v[keep].until_ns + OLD_NS < now_ns)
			keep++;
		if (!keep)
			continue;
		s->old.n -= keep;
		memmove(s->old.v, s->old.v + keep, s->old.n * sizeof(*s->old.v));
	}
}

void maps_free(struct probe *p)
{
	struct space *s, *next;

	HASH_ITER (hh, p->spaces, s, next)
		space_free(p, s);
}
