/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses → evidence and file_io.
 *
 * An access says when its first read or fault began, when its last one ended, and how long it was
 * inside them. Evidence covers just that long: it begins and ends where the access does, so that
 * the first and the last touch of the weights are exact, and what lies between is left to the rules
 * for gaps. Reads give way to driver calls of the same thread, since no thread is in both; faults
 * do not, since a copy from pageable memory faults inside the call.
 */
#include <stdlib.h>

#include "ingest/inside.h"

/* Readahead fills pages before the read that asks for them. */
#define FILL_WINDOW_NS UINT64_C(30000000)
/*
 * A reader that never went further has only looked at
 * the header, if the file goes on at least as far again.
 */
#define HEADER_READ_BYTES UINT64_C(131072)

static int by_use(const void *a, const void *b)
{
	const struct access *x = *(struct access *const *)a, *y = *(struct access *const *)b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Did the read come from storage? Fills of this process in this file around it tell. */
static enum kind read_kind(const struct use *u, size_t i)
{
	const struct access *a = u->v[i];
	uint64_t asked = 0, storage = 0;

	if (a->mode & IO_DIRECT)
		return KIND_READ_STORAGE;
	if (!(u->in->t->saw & SAW_FILLS))
		return KIND_READ;
	if (u->storage_bytes >= u->asked_bytes / 10 * 9)
		return u->storage_bytes ? KIND_READ_STORAGE : KIND_READ_CACHE;
	for (size_t j = i + 1; j-- > 0 && u->v[j]->end_ns + FILL_WINDOW_NS >= a->start_ns;) {
		asked += u->v[j]->ops ? known(u->v[j]->bytes) : 0;
		storage += known(u->v[j]->storage_bytes);
	}
	for (size_t j = i + 1; j < u->n && u->v[j]->start_ns <= a->end_ns + FILL_WINDOW_NS; j++) {
		asked += u->v[j]->ops ? known(u->v[j]->bytes) : 0;
		storage += known(u->v[j]->storage_bytes);
	}
	return storage && storage >= asked / 10 ? KIND_READ_STORAGE : KIND_READ_CACHE;
}

static bool in_header(const struct use *u, const struct access *a)
{
	const struct file_info *info = &u->in->files.v[a->file];
	uint64_t end = (info->header_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;

	if (u->header_only)
		return true;
	return info->header_bytes && a->max_offset != UNKNOWN && a->max_offset <= end &&
	       is_fault(a) == false;
}

/* A process that never went beyond the header's surroundings. */
static bool only_header(const struct use *u)
{
	const struct file *f = &u->in->t->files.v[u->v[0]->file];
	uint64_t header = u->in->files.v[u->v[0]->file].header_bytes, total = 0, limit;

	if (!header)
		return false;
	if (u->filled_only)
		return u->storage_bytes <= header + 2 * HEADER_READ_BYTES;
	limit = header + PAGE_BYTES > HEADER_READ_BYTES ? header + PAGE_BYTES : HEADER_READ_BYTES;
	if (limit > f->size_bytes / 2)
		limit = header + PAGE_BYTES;
	for (size_t i = 0; i < u->n; i++) {
		const struct access *a = u->v[i];
		uint64_t end = a->max_offset;

		if (a->mode == IO_WRITE || !a->ops)
			continue;
		/*
		 * Without offsets, what was asked for in all is the furthest that it can have gone.
		 */
		if (end == UNKNOWN) {
			if (is_fault(a))
				return false;
			total += known(a->bytes);
			end = total;
		}
		if (end > limit)
			return false;
	}
	return limit < f->size_bytes;
}

static const struct call *first_call(const struct ingest *in, const struct access *a)
{
	size_t low = 0, high = in->calls.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct call *c = &in->calls.v[mid];

		if (c->process < a->process ||
		    (c->process == a->process &&
		     (c->tid < a->tid || (c->tid == a->tid && c->end_ns <= a->start_ns))))
			low = mid + 1;
		else
			high = mid;
	}
	return low < in->calls.n ? &in->calls.v[low] : NULL;
}

/* The parts of an access that no driver call of its thread covers. */
static void free_parts(const struct ingest *in, const struct access *a, ranges *r)
{
	const struct call *c = first_call(in, a), *end = in->calls.v + in->calls.n;
	uint64_t at = a->start_ns;

	for (; c && c < end && c->process == a->process && c->tid == a->tid &&
	       c->start_ns < a->end_ns;
	     c++) {
		if (c->end_ns <= at)
			continue;
		if (c->start_ns > at)
			vec_push(r, ((struct range){at, c->start_ns}));
		at = c->end_ns;
	}
	if (at < a->end_ns)
		vec_push(r, ((struct range){at, a->end_ns}));
}

static void add_piece(struct trace *t, const struct access *a, enum kind kind, uint64_t from,
		      uint64_t to, uint64_t bytes, uint64_t wait_ns)
{
	struct evidence *e = evidence_add(t, a->process, a->tid, kind, a->source, from, to);

	e->file = a->file;
	e->bytes = bytes;
	e->wait_ns = wait_ns;
}

/* `busy` ns of [from, to), half at each end. */
static void add_busy(struct trace *t, const struct access *a, enum kind kind, struct range r,
		     uint64_t busy, uint64_t bytes, uint64_t wait_ns)
{
	uint64_t len = r.to - r.from;
	bool waits = wait_ns != UNKNOWN;

	if (busy >= len || len - busy < len / 10) {
		add_piece(t, a, kind, r.from, r.to, bytes, wait_ns);
		return;
	}
	add_piece(t, a, kind, r.from, r.from + busy / 2, bytes / 2, waits ? wait_ns / 2 : UNKNOWN);
	add_piece(t, a, kind, r.to - (busy - busy / 2), r.to, bytes - bytes / 2,
		  waits ? wait_ns - wait_ns / 2 : UNKNOWN);
}

static void add_read(const struct use *u, const struct access *a, enum kind kind)
{
	struct trace *t = u->in->t;
	uint64_t total = 0, busy = a->busy_ns, left = known(a->bytes), share;
	ranges r = {0};

	free_parts(u->in, a, &r);
	vec_for_each (part, &r)
		total += part->to - part->from;
	for (size_t i = 0; i < r.n; i++) {
		uint64_t len = r.v[i].to - r.v[i].from;
		double part = (double)len / (double)total;

		share = i + 1 == r.n ? left : (uint64_t)((double)known(a->bytes) * part);
		share = share < left ? share : left;
		left -= share;
		add_busy(t, a, kind, r.v[i],
			 busy == UNKNOWN ? len : (uint64_t)((double)busy * part), share, UNKNOWN);
	}
	/* All of it inside calls, or no time at all: still something that happened. */
	if (!r.n)
		add_piece(t, a, kind, a->start_ns, a->end_ns, left, UNKNOWN);
	vec_free(&r);
}

static void add_weights(const struct use *u, size_t i, uint64_t mapped)
{
	struct trace *t = u->in->t;
	const struct access *a = u->v[i];
	uint64_t busy = a->busy_ns, len = a->end_ns - a->start_ns;
	bool waits = t->saw & SAW_WAITS && busy != UNKNOWN && a->source != SOURCE_PROC;

	if (u->filled_only && !u->header_only)
		add_piece(t, a, KIND_READ_STORAGE, a->start_ns, a->end_ns, known(a->storage_bytes),
			  UNKNOWN);
	if (a->mode & IO_WRITE || !a->ops)
		return;
	if (in_header(u, a))
		add_piece(t, a, KIND_HEADER, a->start_ns, a->end_ns,
			  is_fault(a) ? mapped : known(a->bytes), UNKNOWN);
	else if (a->mode & IO_POPULATE)
		add_piece(t, a, KIND_POPULATE, a->start_ns, a->end_ns, known(a->bytes), UNKNOWN);
	else if (is_fault(a))
		add_busy(t, a, KIND_FAULT, (struct range){a->start_ns, a->end_ns},
			 waits ? busy : len, mapped, waits ? busy : UNKNOWN);
	else
		add_read(u, a, read_kind(u, i));
}

static void add_cache(const struct use *u, const struct access *a)
{
	struct trace *t = u->in->t;
	uint8_t role = t->processes.v[a->process].role;

	/* What a compiler reads and writes there is inside its own evidence. */
	if (role == ROLE_PLAIN && a->ops)
		add_busy(t, a, KIND_CACHE_IO, (struct range){a->start_ns, a->end_ns},
			 a->busy_ns == UNKNOWN ? a->end_ns - a->start_ns : a->busy_ns,
			 is_fault(a) ? 0 : known(a->bytes), UNKNOWN);
}

/* Inside reads and faults; a source that cannot time them leaves the bin's sum unknown. */
static uint64_t add_wait(const struct trace *t, uint64_t sum, const struct access *a)
{
	if (sum == UNKNOWN || a->busy_ns == UNKNOWN || (is_fault(a) && !(t->saw & SAW_WAITS)))
		return UNKNOWN;
	return sum + a->busy_ns;
}

/* What nobody saw stays unknown: nothing more of it is no news. */
static void add_known(uint64_t *sum, uint64_t n)
{
	if (n)
		*sum = known(*sum) + n;
}

static void put_io(struct ingest *in, const struct access *a, uint8_t mode, uint64_t mapped,
		   struct file_io **last)
{
	struct trace *t = in->t;
	uint64_t bin = a->start_ns / BIN_NS * BIN_NS;
	struct file_io *io = *last;
	bool reads = a->mode & (IO_READ | IO_DIRECT), filled = !a->mode;

	if (!io || io->process != a->process || io->file != a->file || io->bin_ns != bin) {
		io = vec_add(&t->io);
		io->process = a->process;
		io->file = a->file;
		io->bin_ns = bin;
		io->storage_bytes = t->saw & SAW_FILLS || a->mode & IO_DIRECT ? 0 : UNKNOWN;
		io->faults = t->saw & SAW_FAULTS ? 0 : UNKNOWN;
		io->asked_bytes = io->mapped_bytes = io->reads = UNKNOWN;
		*last = io;
	}
	/* Who only brings pages in may use them by calls that nobody sees. */
	if (!filled && io->reads == UNKNOWN) {
		io->asked_bytes = io->reads = 0;
		io->mapped_bytes = io->faults;
	}
	io->mode |= mode;
	if (reads || a->mode & IO_WRITE)
		io->asked_bytes += known(a->bytes);
	/* A direct read tells by itself that it comes from storage, not what else of the bin did. */
	if (!(t->saw & SAW_FILLS) && !(a->mode & (IO_DIRECT | IO_WRITE)))
		io->storage_bytes = UNKNOWN;
	if (io->storage_bytes != UNKNOWN)
		io->storage_bytes += known(a->storage_bytes);
	if (is_fault(a)) {
		if (!a->ops && !io->faults && faults_sampled(t))
			io->faults = UNKNOWN;
		add_known(&io->faults, a->ops);
		add_known(&io->mapped_bytes, mapped);
	} else if (!filled) {
		io->reads += a->ops;
		add_known(&io->mapped_bytes, a->mode & IO_POPULATE ? known(a->bytes) : 0);
	}
	if (a->mode != IO_WRITE && a->ops)
		io->wait_ns = add_wait(t, io->wait_ns, a);
}

static void derive_use(struct use *u)
{
	const struct file *f = &u->in->t->files.v[u->v[0]->file];
	uint64_t *mapped = xcalloc(u->n, sizeof(*mapped));
	struct file_io *last = NULL;
	bool random = mapped_page_by_page(u);

	u->filled_only = true;
	for (size_t i = 0; i < u->n; i++) {
		u->filled_only &= !u->v[i]->mode;
		if (u->v[i]->mode & IO_READ && u->v[i]->ops)
			u->asked_bytes += known(u->v[i]->bytes);
		u->storage_bytes += known(u->v[i]->storage_bytes);
	}
	mapped_bytes(u, mapped);
	u->header_only = f->cls == FILE_WEIGHTS && only_header(u);
	for (size_t i = 0; i < u->n; i++) {
		put_io(u->in, u->v[i],
		       random && is_fault(u->v[i]) ? IO_MAPPED_RANDOM : u->v[i]->mode, mapped[i],
		       &last);
		if (f->cls == FILE_WEIGHTS)
			add_weights(u, i, mapped[i]);
		else if (f->cls == FILE_COMPILE_CACHE)
			add_cache(u, u->v[i]);
	}
	free(mapped);
}

/* Indices and times that cannot be come from a damaged source. */
static bool usable(const struct trace *t, const struct access *a)
{
	return a->process >= 0 && (size_t)a->process < t->processes.n && a->file >= 0 &&
	       (size_t)a->file < t->files.n && a->start_ns <= a->end_ns;
}

void access_derive(struct ingest *in)
{
	struct trace *t = in->t;
	VEC(struct access *) order = {0};

	vec_for_each (a, &t->accesses)
		if (usable(t, a))
			vec_push(&order, a);
	if (order.n)
		qsort(order.v, order.n, sizeof(order.v[0]), by_use);
	for (size_t from = 0, to; from < order.n; from = to) {
		struct use u = {.in = in, .v = order.v + from};

		for (to = from; to < order.n && order.v[to]->process == order.v[from]->process &&
				order.v[to]->file == order.v[from]->file;
		     to++)
			u.n++;
		derive_use(&u);
	}
	vec_free(&order);
}
