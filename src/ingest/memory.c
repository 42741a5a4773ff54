/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shim's records, each checked, into files, accesses,
 * calls, counters, coverage, log lines and yields.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/str.h"
#include "ingest/inside.h"

/* A number larger than any machine holds is a sign of damage. */
#define BYTES_MAX (UINT64_C(1) << 50)
#define TIME_MAX  (UINT64_C(1) << 62)
/* A line put together from several writes is no longer than this. */
#define JOINED_MAX 4096
/* Weights are mapped early and are few; libraries come by the thousand. */
#define MAPPINGS_MAX 100000

static int32_t process_of(const struct ingest *in, const struct ring_record *rec)
{
	return rec->process < in->images.n ? in->images.v[rec->process].process : NO_INDEX;
}

static int32_t thread_of(const struct ingest *in, const struct ring_record *rec)
{
	return match_thread(in, &in->images.v[rec->process], rec->head.tid);
}

static bool sane_times(uint64_t start_ns, uint64_t end_ns)
{
	return start_ns && start_ns <= end_ns && end_ns < TIME_MAX;
}

static void remember_number(struct ingest *in, uint32_t image, uint32_t number, int32_t file)
{
	uint64_t key[2] = {image, number};
	struct file_ref *ref;

	HASH_FIND(hh, in->by_number, key, sizeof(key), ref);
	if (ref)
		return;
	ref = xcalloc(1, sizeof(*ref));
	memcpy(ref->key, key, sizeof(key));
	ref->file = file;
	HASH_ADD(hh, in->by_number, key, sizeof(ref->key), ref);
}

static int32_t file_of(const struct ingest *in, uint32_t image, uint32_t number)
{
	uint64_t key[2] = {image, number};
	struct file_ref *ref;

	HASH_FIND(hh, in->by_number, key, sizeof(key), ref);
	return ref ? ref->file : NO_INDEX;
}

static void take_file(struct ingest *in, const struct ring_record *rec)
{
	const struct wire_file *w = &rec->file;
	int32_t index;

	if (!w->ino || w->size_bytes > BYTES_MAX) {
		in->skipped++;
		return;
	}
	index = files_add(in, w->dev, w->ino, rec->words_bytes ? rec->words : NULL, w->size_bytes);
	remember_number(in, rec->process, w->file, index);
	if (!in->t->files.v[index].fs)
		in->t->files.v[index].fs = trace_str(in->t, fs_name(w->fs_magic));
	if (!in->t->files.v[index].path && rec->words_bytes)
		in->t->files.v[index].path = trace_str(in->t, rec->words);
	if (w->size_bytes > in->t->files.v[index].size_bytes)
		in->t->files.v[index].size_bytes = w->size_bytes;
}

static void take_log(struct ingest *in, const struct ring_record *rec)
{
	struct written *p;
	struct log_line *l;

	if (in->t->saw & SAW_LOG)
		return;
	if (!sane_times(rec->text.at_ns, rec->text.at_ns) || rec->text.code > 2) {
		in->skipped++;
		return;
	}
	p = vec_add(&in->written);
	p->open = rec->flags & WIRE_LOG_OPEN;
	l = &p->line;
	l->process = process_of(in, rec);
	l->fd = (int32_t)rec->text.code;
	l->at_ns = rec->text.at_ns;
	l->text = trace_str(in->t, rec->words);
}

static int by_writer(const void *a, const void *b)
{
	const struct written *x = a, *y = b;

	if (x->line.process != y->line.process)
		return x->line.process < y->line.process ? -1 : 1;
	if (x->line.fd != y->line.fd)
		return x->line.fd < y->line.fd ? -1 : 1;
	return (x->line.at_ns > y->line.at_ns) - (x->line.at_ns < y->line.at_ns);
}

/* A write that ended inside a line goes on with the same writer's next one. */
static void join_written(struct ingest *in)
{
	struct trace *t = in->t;
	bool open = false;

	if (in->written.n)
		qsort(in->written.v, in->written.n, sizeof(in->written.v[0]), by_writer);
	vec_for_each (w, &in->written) {
		struct log_line *last = t->log.n ? vec_last(&t->log) : NULL;

		if (open && last && last->process == w->line.process && last->fd == w->line.fd &&
		    strlen(last->text) < JOINED_MAX)
			last->text = trace_strf(t, "%s%s", last->text, w->line.text);
		else
			vec_push(&t->log, w->line);
		open = w->open;
	}
	vec_free(&in->written);
}

static const char *route_words(struct trace *t, uint32_t routes)
{
	static const char *const words[] = {"elf", "dlsym", "cuGetProcAddress",
					    "cudaGetDriverEntryPoint"};
	struct str out = {0};
	const char *result;

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (routes & 1u << i)
			str_addf(&out, "%s%s", out.n ? "+" : "", words[i]);
	result = out.n ? trace_str(t, out.s) : NULL;
	str_free(&out);
	return result;
}

static void add_count(struct trace *t, int32_t process, const char *symbol,
		      const struct wire_counter *w)
{
	struct cuda_count *c = NULL;

	vec_for_each (known, &t->cuda)
		if (known->process == process && known->symbol == symbol)
			c = known;
	if (!c) {
		c = vec_add(&t->cuda);
		c->process = process;
		c->symbol = symbol;
	}
	c->calls += w->calls;
	c->bytes += w->bytes <= BYTES_MAX ? w->bytes : 0;
	/* The time of calls that are only counted is not known. */
	if (w->timed == 0 && w->calls)
		c->total_ns = c->total_ns ? c->total_ns : UNKNOWN;
	else if (w->total_ns < TIME_MAX)
		c->total_ns = (c->total_ns == UNKNOWN ? 0 : c->total_ns) + w->total_ns;
}

static void add_coverage(struct trace *t, int32_t process, const char *symbol, const char *route,
			 uint64_t calls, bool hooked)
{
	struct coverage *c;

	vec_for_each (known, &t->coverage) {
		if (known->process != process || known->symbol != symbol || known->route != route ||
		    known->hooked != hooked)
			continue;
		if (calls != UNKNOWN)
			known->calls += calls;
		return;
	}
	c = vec_add(&t->coverage);
	*c = (struct coverage){process, symbol, route, calls, hooked};
}

static void take_counter(struct ingest *in, const struct ring_record *rec)
{
	struct image *image = &in->images.v[rec->process];
	const char *symbol = rec->words_bytes ? trace_str(in->t, rec->words) : NULL;

	if (!symbol || rec->counter.symbol > 4096) {
		in->skipped++;
		return;
	}
	while (image->symbols.n <= rec->counter.symbol)
		vec_push(&image->symbols, (const char *)NULL);
	image->symbols.v[rec->counter.symbol] = symbol;
	if (rec->counter.calls)
		add_count(in->t, image->process, symbol, &rec->counter);
	add_coverage(in->t, image->process, symbol, route_words(in->t, rec->counter.routes),
		     rec->counter.calls, rec->counter.hooked != 0);
}

static void take_unhooked(struct ingest *in, const struct ring_record *rec)
{
	if (rec->words_bytes)
		add_coverage(in->t, process_of(in, rec), trace_str(in->t, rec->words),
			     route_words(in->t, rec->text.code), UNKNOWN, false);
}

static void take_call(struct ingest *in, const struct ring_record *rec)
{
	const struct wire_call *w = &rec->call;
	const struct image *image = &in->images.v[rec->process];
	struct call *c;

	if (!sane_times(w->start_ns, w->end_ns)) {
		in->skipped++;
		return;
	}
	c = vec_add(&in->calls);
	*c = (struct call){
		.process = image->process,
		.tid = thread_of(in, rec),
		.start_ns = w->start_ns,
		.end_ns = w->end_ns,
		.bytes = w->bytes <= BYTES_MAX ? w->bytes : 0,
		.handle = w->handle,
		.aux = w->aux,
		.extra = w->extra,
		.symbol = w->symbol < image->symbols.n ? image->symbols.v[w->symbol] : NULL,
		.result = w->result,
		.cls = w->cls,
		.direction = w->direction,
	};
}

static struct access *add_access(struct ingest *in, const struct ring_record *rec, int32_t file,
				 uint8_t mode, uint64_t start_ns, uint64_t end_ns)
{
	struct access *a = vec_add(&in->t->accesses);

	a->process = process_of(in, rec);
	a->tid = thread_of(in, rec);
	a->file = file;
	a->mode = mode;
	a->source = SOURCE_SHIM;
	a->start_ns = start_ns;
	a->end_ns = end_ns;
	return a;
}

static void take_read(struct ingest *in, const struct ring_record *rec)
{
	const struct wire_read *w = &rec->read;
	bool direct = rec->flags & WIRE_READ_DIRECT;
	int32_t file = file_of(in, rec->process, w->file);
	struct access *a;

	if (in->t->saw & SAW_READS)
		return;
	if (file == NO_INDEX || !sane_times(w->start_ns, w->end_ns) || w->bytes > BYTES_MAX) {
		in->skipped++;
		return;
	}
	a = add_access(in, rec, file, direct ? IO_DIRECT : IO_READ, w->start_ns, w->end_ns);
	a->ops = w->ops;
	a->bytes = w->bytes;
	a->storage_bytes = direct ? w->bytes : 0;
	a->busy_ns = w->busy_ns <= w->end_ns - w->start_ns ? w->busy_ns : w->end_ns - w->start_ns;
	a->min_offset = w->min_offset;
	a->max_offset = w->max_offset ? w->max_offset : UNKNOWN;
}

/* The kernel side sees these calls too: of the same file and moment only one is kept. */
static bool known_populate(const struct trace *t, int32_t process, int32_t file, uint64_t start_ns,
			   uint64_t end_ns)
{
	vec_for_each (a, &t->accesses)
		if (a->mode == IO_POPULATE && a->source != SOURCE_SHIM && a->process == process &&
		    a->file == file && a->start_ns < end_ns && start_ns < a->end_ns)
			return true;
	return false;
}

static void take_populate(struct ingest *in, const struct ring_record *rec)
{
	const struct wire_map *w = &rec->map;
	int32_t file = file_of(in, rec->process, w->file);
	struct access *a;

	if (!w->file)
		return;
	if (file == NO_INDEX || !sane_times(w->start_ns, w->end_ns) || w->size_bytes > BYTES_MAX) {
		in->skipped++;
		return;
	}
	if (w->result || known_populate(in->t, process_of(in, rec), file, w->start_ns, w->end_ns))
		return;
	a = add_access(in, rec, file, IO_POPULATE, w->start_ns, w->end_ns);
	a->ops = 1;
	a->bytes = w->size_bytes;
	a->busy_ns = w->end_ns - w->start_ns;
	a->min_offset = w->offset;
	a->max_offset = w->offset + w->size_bytes;
}

static void take_map(struct ingest *in, const struct ring_record *rec)
{
	const struct wire_map *w = &rec->map;
	int32_t file = file_of(in, rec->process, w->file);
	struct mapping *m;

	if (w->result || file == NO_INDEX || !w->size_bytes || w->size_bytes > BYTES_MAX ||
	    w->offset > BYTES_MAX || w->address > UINT64_MAX - w->size_bytes ||
	    in->mappings.n >= MAPPINGS_MAX)
		return;
	m = vec_add(&in->mappings);
	*m = (struct mapping){process_of(in, rec), file,	  w->start_ns,
			      w->address,	   w->size_bytes, w->offset};
}

/* Where the kernel side told what threads did, it counted their yields too. */
static void take_yield(struct ingest *in, const struct ring_record *rec)
{
	const struct wire_yield *w = &rec->yield;
	struct yielded *y;

	if (in->t->saw & SAW_TIMES)
		return;
	if (!sane_times(w->start_ns, w->end_ns)) {
		in->skipped++;
		return;
	}
	y = vec_add(&in->yields);
	*y = (struct yielded){process_of(in, rec), thread_of(in, rec), w->start_ns, w->calls};
}

static int by_thread_time(const void *a, const void *b)
{
	const struct thread_time *x = *(struct thread_time *const *)a,
				 *y = *(struct thread_time *const *)b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Each count goes to what its thread did at that time. */
static void place_yields(struct ingest *in)
{
	VEC(struct thread_time *) order = {0};

	for (size_t i = 0; in->yields.n && i < in->t->times.n; i++)
		vec_push(&order, &in->t->times.v[i]);
	if (order.n)
		qsort(order.v, order.n, sizeof(order.v[0]), by_thread_time);
	vec_for_each (y, &in->yields) {
		struct thread_time want = {.process = y->process,
					   .tid = y->tid,
					   .start_ns = y->start_ns},
				   *key = &want;
		size_t low = 0, high = order.n;

		while (low < high) {
			size_t mid = low + (high - low) / 2;

			if (by_thread_time(&order.v[mid], &key) <= 0)
				low = mid + 1;
			else
				high = mid;
		}
		key = low ? order.v[low - 1] : NULL;
		if (key && key->process == y->process && key->tid == y->tid &&
		    key->end_ns >= y->start_ns)
			key->yields = (key->yields == UNKNOWN ? 0 : key->yields) + y->calls;
	}
	vec_free(&order);
	vec_free(&in->yields);
}

static void take(struct ingest *in, const struct ring_record *rec)
{
	switch (rec->kind) {
	case WIRE_CALL:
		take_call(in, rec);
		break;
	case WIRE_UNHOOKED:
		take_unhooked(in, rec);
		break;
	case WIRE_LOG:
		take_log(in, rec);
		break;
	case WIRE_READ:
		take_read(in, rec);
		break;
	case WIRE_MAP:
		take_map(in, rec);
		break;
	case WIRE_POPULATE:
		take_populate(in, rec);
		break;
	case WIRE_YIELD:
		take_yield(in, rec);
		break;
	default:
		break;
	}
}

static int by_thread(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	/* The outer call first. */
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

void memory_read(struct ingest *in)
{
	struct ring_record rec;

	if (!in->memory)
		return;
	/* Files and symbols first: chunks are in no order. */
	while (ring_next(&in->reader, &rec)) {
		if (process_of(in, &rec) == NO_INDEX) {
			in->skipped +=
				rec.process >= in->images.n || !in->images.v[rec.process].left_out;
			continue;
		}
		if (rec.kind == WIRE_FILE)
			take_file(in, &rec);
		else if (rec.kind == WIRE_COUNTER)
			take_counter(in, &rec);
	}
	ring_reader_rewind(&in->reader);
	while (ring_next(&in->reader, &rec))
		if (process_of(in, &rec) != NO_INDEX)
			take(in, &rec);
	join_written(in);
	place_yields(in);
	if (in->calls.n)
		qsort(in->calls.v, in->calls.n, sizeof(in->calls.v[0]), by_thread);
}
