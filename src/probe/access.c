/* SPDX-License-Identifier: Apache-2.0 */
/* From faults and reads to trace.accesses. */
#include "probe/inside.h"

#include <stdlib.h>

#include "base/clock.h"
#include "model/model.h"

#define BIN_NS	   (10 * NS_PER_MS)
#define NEAR_BYTES (4u << 20) /* a step of at most so much goes on in order */
#define STEP_BYTES (2u << 20) /* what one fault maps at most: a huge page */
#define MEMORY	   16	      /* pieces that decide whether a walk is in order */

/* Where a thread is in a mapped file: tells a walk in order from random touches. */
struct walk {
	struct {
		int32_t process, tid, file;
	} key;
	int32_t open; /* tier 0: the piece that still grows, NO_INDEX */
	uint64_t at;  /* offset of the last touch */
	/* End of the piece before the open one: pieces of one walk never overlap. */
	uint64_t floor_ns;
	uint32_t steps, jumps;
	UT_hash_handle hh;
};

static struct walk *walk_of(struct probe *p, int32_t process, int32_t tid, int32_t file)
{
	struct walk *w, want = {.key = {process, tid, file}};

	HASH_FIND(hh, p->walks, &want.key, sizeof(want.key), w);
	if (!w) {
		w = xcalloc(1, sizeof(*w));
		w->key = want.key;
		w->open = NO_INDEX;
		w->at = UNKNOWN;
		HASH_ADD(hh, p->walks, key, sizeof(w->key), w);
	}
	return w;
}

static void walk_to(struct walk *w, uint64_t at, bool jump, uint32_t jumps)
{
	if (w->at == UNKNOWN || at > w->at || jump)
		w->at = at;
	w->steps++;
	w->jumps += jumps;
	if (w->steps == MEMORY) {
		w->steps /= 2;
		w->jumps /= 2;
	}
}

static uint8_t walk_mode(const struct walk *w)
{
	return w->jumps * 2 > w->steps && w->jumps > 2 ? IO_MAPPED_RANDOM : IO_MAPPED;
}

/* Returns: the mode of a touch of [min, max]. */
static uint8_t walk_step(struct walk *w, uint64_t min, uint64_t max, uint64_t faults)
{
	uint64_t extent = max - min;
	bool jump = w->at != UNKNOWN && (min + NEAR_BYTES < w->at || min > w->at + NEAR_BYTES);

	/* Many touches far from each other within one piece are no order either. */
	if (faults > 4 && extent / faults > NEAR_BYTES)
		jump = true;
	walk_to(w, max, jump, jump);
	return walk_mode(w);
}

/*
 * The last of `faults`, of which the others were not seen. As far as so many may have come it is a
 * walk in order, which passed all that lies between (`ret_from`). Of a walk without order many steps
 * look like that too, but some go back, and those of an order do not: they count for three.
 */
static uint8_t walk_sample(struct walk *w, uint64_t at, uint64_t faults, uint64_t *ret_from)
{
	bool back = w->at != UNKNOWN && at + NEAR_BYTES < w->at,
	     ahead = w->at != UNKNOWN && at > w->at + NEAR_BYTES + (faults - 1) * STEP_BYTES;

	if (w->at == UNKNOWN)
		*ret_from = at < faults * FAULT_AROUND_BYTES ? 0 : at;
	else
		*ret_from = back || ahead || at < w->at ? at : w->at;
	walk_to(w, at, back || ahead, back && faults > 1 ? 3 : back || ahead);
	return walk_mode(w);
}

void access_fault(struct probe *p, int32_t pid, int32_t tid, uint64_t address, uint64_t faults,
		  uint64_t at_ns)
{
	struct proc *proc = tree_find(p, pid);
	uint64_t offset, from;
	struct access *a;
	struct walk *w;
	int32_t file;
	uint8_t mode;

	if (!proc)
		return;
	file = maps_find(p, pid, address, at_ns, &offset);
	if (file == NO_INDEX) {
		p->anonymous_faults += faults;
		return;
	}
	w = walk_of(p, proc->index, tid, file);
	mode = walk_sample(w, offset, faults, &from);
	a = w->open == NO_INDEX ? NULL : &p->trace->accesses.v[w->open];
	if (!a || at_ns - a->start_ns >= BIN_NS) {
		w->open = (int32_t)p->trace->accesses.n;
		a = vec_add(&p->trace->accesses);
		*a = (struct access){
			.process = proc->index,
			.tid = tid,
			.file = file,
			.source = SOURCE_PERF,
			.start_ns = at_ns,
			.bytes = UNKNOWN,
			.storage_bytes = UNKNOWN,
			.busy_ns = UNKNOWN,
			.min_offset = from,
			.max_offset = offset,
		};
	}
	a->mode = mode;
	a->end_ns = at_ns;
	a->ops += faults;
	if (from < a->min_offset)
		a->min_offset = from;
	if (offset > a->max_offset)
		a->max_offset = offset;
}

/* Regions of one walk that were reported apart are one piece again. */
static bool join(struct access *a, const struct access *b)
{
	if (b->start_ns > a->start_ns + BIN_NS || a->start_ns > b->start_ns + BIN_NS)
		return false;
	a->start_ns = b->start_ns < a->start_ns ? b->start_ns : a->start_ns;
	a->end_ns = b->end_ns > a->end_ns ? b->end_ns : a->end_ns;
	a->ops += b->ops;
	a->storage_bytes += b->storage_bytes;
	a->busy_ns += b->busy_ns;
	if (b->min_offset != UNKNOWN && (a->min_offset == UNKNOWN || b->min_offset < a->min_offset))
		a->min_offset = b->min_offset;
	if (b->max_offset != UNKNOWN && (a->max_offset == UNKNOWN || b->max_offset > a->max_offset))
		a->max_offset = b->max_offset;
	a->mode = b->mode;
	return true;
}

static void add_piece(struct probe *p, const struct fault_piece *f, int32_t file, uint64_t min,
		      uint64_t max)
{
	struct walk *w = walk_of(p, f->process, f->tid, file);
	struct access a = {
		.process = f->process,
		.tid = f->tid,
		.file = file,
		.mode = IO_MAPPED,
		.source = SOURCE_BPF,
		.start_ns = f->start_ns,
		.end_ns = f->end_ns,
		.ops = f->faults,
		.bytes = UNKNOWN,
		.storage_bytes = f->fill_bytes,
		.busy_ns = f->wait_ns,
		.min_offset = min,
		.max_offset = max,
	};

	if (min != UNKNOWN)
		a.mode = walk_step(w, min, max, f->faults);
	/* Regions are reported out of order, so one may reach back into the piece before. */
	if (a.start_ns < w->floor_ns)
		a.start_ns = w->floor_ns;
	if (a.end_ns < a.start_ns)
		a.end_ns = a.start_ns;
	if (w->open != NO_INDEX) {
		if (join(&p->trace->accesses.v[w->open], &a))
			return;
		w->floor_ns = p->trace->accesses.v[w->open].end_ns;
		if (a.start_ns < w->floor_ns)
			a.start_ns = w->floor_ns < a.end_ns ? w->floor_ns : a.end_ns;
	}
	w->open = (int32_t)p->trace->accesses.n;
	vec_push(&p->trace->accesses, a);
}

void access_faults(struct probe *p, const struct fault_piece *f)
{
	uint64_t min, max = 0, end_ns = f->end_ns;
	int32_t file = maps_find(p, f->pid, f->min_address, end_ns, &min);
	int32_t last = file;

	if (f->max_address != f->min_address)
		last = maps_find(p, f->pid, f->max_address, end_ns, &max);
	else
		max = min;
	if (last != file) {
		/*
		 * A region that holds the end of one mapping and the
		 * begin of the next: the fill knows, else the file does.
		 */
		p->mixed_faults += f->faults;
		if (f->ino)
			file = files_get(p, f->dev, f->ino, NULL);
		else if (file == NO_INDEX)
			file = last;
		min = max = UNKNOWN;
	}
	if (file == NO_INDEX) {
		p->anonymous_faults += f->faults;
		return;
	}
	add_piece(p, f, file, min, max);
}

void access_mapped(struct probe *p, const struct fault_piece *f)
{
	int32_t file = files_known(p, f->dev, f->ino);

	/* Until its first exec the root runs in coldprof's own files, mapped before all this began. */
	if (file == NO_INDEX && f->process == 0 && p->trace->processes.v[0].exec_ns == UNKNOWN)
		return;
	p->file_faults += f->faults;
	file = files_get(p, f->dev, f->ino, NULL);
	if (!p->trace->files.v[file].path)
		files_name(p, file, f->pid);
	add_piece(p, f, file, f->min_address, f->max_address);
}

void access_huge(struct probe *p, const struct fault_piece *f)
{
	uint64_t min, max;
	int32_t file = maps_find(p, f->pid, f->min_address, f->end_ns, &min);

	if (file == NO_INDEX || maps_find(p, f->pid, f->max_address, f->end_ns, &max) != file)
		return;
	p->file_faults += f->faults;
	add_piece(p, f, file, min, max);
}

void access_populate(struct probe *p, const struct fault_piece *f)
{
	struct access a = {
		.process = f->process,
		.tid = f->tid,
		.mode = IO_POPULATE,
		.source = SOURCE_BPF,
		.start_ns = f->start_ns,
		.end_ns = f->end_ns,
		.ops = 1,
		.bytes = f->max_address - f->min_address,
		.storage_bytes = f->fill_bytes,
		.busy_ns = f->end_ns - f->start_ns,
		.min_offset = UNKNOWN,
		.max_offset = UNKNOWN,
	};
	uint64_t offset;

	if (f->from_call) {
		a.file = files_get(p, f->dev, f->ino, NULL);
		offset = f->offset;
	} else {
		a.file = maps_find(p, f->pid, f->min_address, f->end_ns, &offset);
		if (a.file == NO_INDEX && f->ino) {
			a.file = files_get(p, f->dev, f->ino, NULL);
			offset = UNKNOWN;
		}
	}
	if (a.file == NO_INDEX)
		return;
	if (!a.bytes) {
		a.bytes = UNKNOWN; /* mlockall: what it holds is not told */
	} else if (offset != UNKNOWN) {
		a.min_offset = offset;
		a.max_offset = offset + a.bytes;
	}
	vec_push(&p->trace->accesses, a);
}

void access_free(struct probe *p)
{
	struct walk *w, *next;

	HASH_ITER (hh, p->walks, w, next) {
		HASH_DEL(p->walks, w);
		free(w);
	}
	vec_free(&p->pending);
}
