/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a mapping was brought in, access by access. Bytes are never faults times page size. They
 * are the bytes that the source says were touched; else, for a mapping walked forward, the ranges
 * that were covered; else what FAULT_AROUND_BYTES can have mapped, at most the file.
 */
#include <stdlib.h>
#include <string.h>

#include "ingest/inside.h"

/*
 * In a forward walk, untouched-looking ranges up to
 * this long lie in one large folio or readahead window.
 */
#define WALK_GAP_BYTES (UINT64_C(4) << 20)
/*
 * Where faults are sampled: as many of two threads can
 * have gone unseen before the first that was seen.
 */
#define UNSEEN_FAULTS (2 * FAULTS_SAMPLED)
/* Fewer faults do not tell how a mapping is walked. */
#define RANDOM_FAULTS 64

/* Add [from, to), joining over gaps of at most `gap`. Returns: how many bytes are new. */
static uint64_t cover(ranges *r, uint64_t from, uint64_t to, uint64_t gap)
{
	size_t first = 0, last;
	uint64_t before = 0;

	while (first < r->n && r->v[first].to + gap < from)
		first++;
	for (last = first; last < r->n && r->v[last].from <= to + gap; last++) {
		before += r->v[last].to - r->v[last].from;
		from = r->v[last].from < from ? r->v[last].from : from;
		to = r->v[last].to > to ? r->v[last].to : to;
	}
	if (last == first) {
		vec_push(r, ((struct range){0}));
		memmove(&r->v[first + 1], &r->v[first], (r->n - 1 - first) * sizeof(r->v[0]));
	} else if (last - first > 1) {
		memmove(&r->v[first + 1], &r->v[last], (r->n - last) * sizeof(r->v[0]));
		r->n -= last - first - 1;
	}
	r->v[first] = (struct range){from, to};
	return to - from - before;
}

/*
 * A walk goes forward when nearly every piece of a
 * thread begins at or behind the end of the one before.
 */
static bool walks_forward(const struct use *u)
{
	size_t steps = 0, back = 0;

	for (size_t i = 0; i < u->n; i++) {
		const struct access *a = u->v[i];

		if (!is_fault(a) || a->min_offset == UNKNOWN)
			continue;
		if (a->mode & IO_MAPPED_RANDOM)
			return false;
		/*
		 * Within 10 ms a walk stays near: 64 MiB is more
		 * than memory moves in that time through faults.
		 */
		if (a->max_offset != UNKNOWN &&
		    a->max_offset - a->min_offset > (UINT64_C(64) << 20) && a->ops < 64)
			back++;
		for (size_t j = i; j-- > 0;) {
			if (!is_fault(u->v[j]) || u->v[j]->tid != a->tid ||
			    u->v[j]->min_offset == UNKNOWN)
				continue;
			steps++;
			back += a->min_offset + WALK_GAP_BYTES < u->v[j]->min_offset;
			break;
		}
	}
	return back * 10 <= steps;
}

/* What one access mapped when the source does not say what it touched. */
static uint64_t guess_bytes(const struct access *a)
{
	uint64_t fills = known(a->storage_bytes), pages = fills / PAGE_BYTES;

	if (pages >= a->ops)
		return fills < a->ops * FAULT_AROUND_BYTES ? fills : a->ops * FAULT_AROUND_BYTES;
	return fills + (a->ops - pages) * FAULT_AROUND_BYTES;
}

static const struct touch *first_touch(const struct use *u)
{
	size_t low = 0, high = u->in->touches.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct touch *t = &u->in->touches.v[mid];

		if (t->process < u->v[0]->process ||
		    (t->process == u->v[0]->process && t->file < u->v[0]->file))
			low = mid + 1;
		else
			high = mid;
	}
	return low < u->in->touches.n ? &u->in->touches.v[low] : NULL;
}

/*
 * Copies out of the mapping: what each touched goes to the last faults of its thread that began
 * before it ended. Those get `told`: their own offsets are not counted as well.
 */
static bool map_touched(const struct use *u, uint64_t *mapped, bool *told, ranges *r)
{
	const struct touch *t = first_touch(u), *end = u->in->touches.v + u->in->touches.n;
	bool any = false;

	for (size_t next = 0;
	     t && t < end && t->process == u->v[0]->process && t->file == u->v[0]->file; t++) {
		size_t at = u->n, back;

		while (next < u->n && u->v[next]->start_ns <= t->end_ns)
			next++;
		for (back = next; back-- > 0 && u->v[back]->end_ns + BIN_NS >= t->start_ns;) {
			if (!is_fault(u->v[back]) || u->v[back]->tid != t->tid)
				continue;
			at = at == u->n ? back : at;
			told[back] |= u->v[back]->end_ns >= t->start_ns;
		}
		/*
		 * No fault: the pages were mapped already, by the
		 * last one before or, at the worst, the first.
		 */
		for (back = next; at == u->n && back-- > 0;)
			at = is_fault(u->v[back]) ? back : at;
		for (back = 0; at == u->n && back < u->n; back++)
			at = is_fault(u->v[back]) ? back : at;
		if (at < u->n)
			mapped[at] += cover(r, t->from, t->to, 0);
		any |= at < u->n;
	}
	return any;
}

/* The touched page's end, and no more than the file has. */
static uint64_t end_in_file(const struct access *a, uint64_t size)
{
	uint64_t end = a->max_offset + PAGE_BYTES;

	return size && end > size && a->min_offset < size ? size : end;
}

static uint64_t mapped_by(const struct access *a, bool forward, uint64_t size, uint64_t gap,
			  ranges *r)
{
	if (a->bytes != UNKNOWN)
		return a->bytes;
	if (!a->ops)
		return 0;
	if (forward && a->min_offset != UNKNOWN && a->max_offset != UNKNOWN)
		return cover(r, a->min_offset, end_in_file(a, size), gap);
	return gap == WALK_GAP_BYTES ? guess_bytes(a) : 0;
}

/*
 * Of a sampled walk, the head before the first fault that was seen: as far
 * as unseen ones reach, and no more than all of them can have mapped.
 */
static uint64_t unseen_head(const struct use *u, uint64_t mapped, ranges *r)
{
	uint64_t head = r->n ? r->v[0].from : 0;
	uint64_t faults = 2 * UNSEEN_FAULTS; /* at the head and at the end */

	if ((u->in->t->saw & SAW_WAITS) || !head || head > UNSEEN_FAULTS * FAULT_AROUND_BYTES)
		return 0;
	for (size_t i = 0; i < u->n; i++)
		faults += is_fault(u->v[i]) ? u->v[i]->ops : 0;
	return mapped + head <= faults * FAULT_AROUND_BYTES ? cover(r, 0, head, 0) : 0;
}

void mapped_bytes(const struct use *u, uint64_t *ret_mapped)
{
	uint64_t size = u->in->t->files.v[u->v[0]->file].size_bytes, total = 0;
	bool forward = walks_forward(u), touched, *told = xcalloc(u->n, sizeof(*told));
	ranges r = {0};

	touched = map_touched(u, ret_mapped, told, &r);
	for (size_t i = 0; i < u->n; i++) {
		if (!is_fault(u->v[i]))
			continue;
		if (!told[i])
			ret_mapped[i] +=
				mapped_by(u->v[i], forward, size,
					  touched ? FAULT_AROUND_BYTES : WALK_GAP_BYTES, &r);
		/* The tail behind the last fault came with it. */
		if (!touched && forward && r.n && r.v[r.n - 1].to < size &&
		    size - r.v[r.n - 1].to <= WALK_GAP_BYTES && i + 1 == u->n)
			ret_mapped[i] += cover(&r, r.v[r.n - 1].to, size, WALK_GAP_BYTES);
		if (!touched && forward && i + 1 == u->n)
			ret_mapped[i] += unseen_head(u, total + ret_mapped[i], &r);
		if (size && total + ret_mapped[i] > size)
			ret_mapped[i] = total < size ? size - total : 0;
		total += ret_mapped[i];
	}
	free(told);
	vec_free(&r);
}

/*
 * A cold mapping without read-ahead brings in hardly more than the page that was touched, each time:
 * a mapping advised random, or one that is touched so. A warm one cannot be told apart.
 */
bool mapped_page_by_page(const struct use *u)
{
	uint64_t faults = 0, fills = 0;

	for (size_t i = 0; i < u->n; i++) {
		if (!is_fault(u->v[i]) || u->v[i]->storage_bytes == UNKNOWN)
			continue;
		faults += u->v[i]->ops;
		fills += u->v[i]->storage_bytes;
	}
	return faults >= RANDOM_FAULTS && fills >= faults * PAGE_BYTES / 2 &&
	       fills <= faults * PAGE_BYTES * 2;
}
