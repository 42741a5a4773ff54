/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session memories made by hand: what a guest's shim would have written, for tests of the readers.
 */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "wire/ring.h"

struct wire_writer {
	struct ring ring;
	uint32_t process, chunk, slot; /* of the last process */
};

static inline struct wire_header *writer_header(struct wire_writer *w)
{
	return w->ring.map;
}

static inline void writer_open(struct wire_writer *w)
{
	struct ring_options opt = {.size_bytes = 1 << 20, .process_max = 64};

	memset(w, 0, sizeof(*w));
	if (ring_create(&opt, &w->ring) != 0)
		bail("no memory for a session");
}

static inline void writer_close(struct wire_writer *w)
{
	ring_close(&w->ring);
}

/*
 * A program that began at `start_ns`; `argv` has NULs between its words. Later records are its own.
 */
static inline void writer_process(struct wire_writer *w, int32_t pid, int32_t ppid,
				  uint64_t start_ns, uint32_t flags, const char *exe,
				  const char *argv, uint32_t argv_bytes)
{
	struct wire_header *h = writer_header(w);
	struct wire_process *p;
	struct wire_chunk *c;

	if (h->next_process >= h->process_max || h->next_chunk >= h->chunk_max)
		bail("the hand-made memory is full");
	w->process = h->next_process++;
	w->chunk = h->next_chunk++;
	w->slot = 1;
	p = (struct wire_process *)((char *)w->ring.map + h->process_offset) + w->process;
	p->pid = pid;
	p->ppid = ppid;
	p->start_ns = start_ns;
	p->flags = flags;
	snprintf(p->exe, sizeof(p->exe), "%s", exe);
	snprintf(p->comm, sizeof(p->comm), "%s", strrchr(exe, '/') ? strrchr(exe, '/') + 1 : exe);
	memcpy(p->argv, argv, argv_bytes);
	p->argv_bytes = argv_bytes;
	p->state = 1;
	c = (struct wire_chunk *)((char *)w->ring.map + h->chunk_offset +
				  (size_t)w->chunk * WIRE_CHUNK_SIZE);
	c->process = w->process + 1;
}

static inline void *writer_slots(struct wire_writer *w, uint32_t n)
{
	struct wire_header *h = writer_header(w);
	char *at;

	if (w->slot + n > WIRE_CHUNK_SLOTS) {
		struct wire_chunk *c;

		if (h->next_chunk >= h->chunk_max)
			bail("the hand-made memory is full");
		w->chunk = h->next_chunk++;
		w->slot = 1;
		c = (struct wire_chunk *)((char *)w->ring.map + h->chunk_offset +
					  (size_t)w->chunk * WIRE_CHUNK_SIZE);
		c->process = w->process + 1;
	}
	at = (char *)w->ring.map + h->chunk_offset + (size_t)w->chunk * WIRE_CHUNK_SIZE +
	     (size_t)w->slot * WIRE_SLOT_SIZE;
	w->slot += n;
	return at;
}

static inline void writer_symbol(struct wire_writer *w, uint16_t number, enum wire_class cls,
				 const char *name, uint64_t calls, uint64_t total_ns,
				 uint64_t bytes, uint32_t routes)
{
	struct wire_counter *c = writer_slots(w, 2);

	c->calls = c->timed = calls;
	c->total_ns = total_ns;
	c->bytes = bytes;
	c->symbol = number;
	c->cls = (uint8_t)cls;
	c->routes = routes;
	c->hooked = 1;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->more.tag = WIRE_TAG(WIRE_MORE, 1, 0);
	c->head.tag = WIRE_TAG(WIRE_COUNTER, 2, 0);
}

static inline struct wire_call *writer_call(struct wire_writer *w, int32_t tid, enum wire_class cls,
					    uint64_t start_ns, uint64_t end_ns, uint64_t bytes)
{
	struct wire_call *c = writer_slots(w, 1);

	c->head.tid = tid;
	c->start_ns = start_ns;
	c->end_ns = end_ns;
	c->bytes = bytes;
	c->cls = (uint8_t)cls;
	c->symbol = UINT16_MAX;
	c->head.tag = WIRE_TAG(WIRE_CALL, 1, 0);
	return c;
}

static inline void writer_text(struct wire_writer *w, void *first, char *text, size_t held,
			       const char *words, enum wire_kind kind, uint32_t flags)
{
	struct wire_head *head = first;
	size_t n = strlen(words), more = n > held ? (n - held + 55) / 56 : 0;

	memcpy(text, words, n < held ? n : held);
	for (size_t i = 0; i < more; i++) {
		struct wire_more *m = writer_slots(w, 1);
		size_t left = n - held - i * 56;

		memcpy(m->text, words + held + i * 56, left < 56 ? left : 56);
		m->head.tag = WIRE_TAG(WIRE_MORE, 1, 0);
	}
	head->tag = WIRE_TAG(kind, 1 + more, flags);
}

/* Texts of up to some hundred bytes; the caller's chunk must hold the whole record. */
static inline void writer_log(struct wire_writer *w, uint64_t at_ns, uint32_t flags,
			      const char *words)
{
	struct wire_text *t = writer_slots(w, 1);

	t->at_ns = at_ns;
	t->code = 2;
	t->bytes = (uint32_t)strlen(words);
	writer_text(w, t, t->text, sizeof(t->text), words, WIRE_LOG, flags);
}

static inline void writer_file(struct wire_writer *w, uint32_t number, uint64_t dev, uint64_t ino,
			       uint64_t size_bytes, const char *path)
{
	struct wire_file *f = writer_slots(w, 1);

	f->file = number;
	f->dev = dev;
	f->ino = ino;
	f->size_bytes = size_bytes;
	f->fs_magic = 0xef53;
	f->bytes = (uint32_t)strlen(path);
	writer_text(w, f, f->text, sizeof(f->text), path, WIRE_FILE, 0);
}

static inline struct wire_read *writer_read(struct wire_writer *w, int32_t tid, uint32_t file,
					    uint64_t start_ns, uint64_t end_ns, uint64_t bytes,
					    uint64_t from, uint64_t to)
{
	struct wire_read *r = writer_slots(w, 1);

	r->head.tid = tid;
	r->file = file;
	r->ops = 1;
	r->start_ns = start_ns;
	r->end_ns = end_ns;
	r->busy_ns = end_ns - start_ns;
	r->bytes = bytes;
	r->min_offset = from;
	r->max_offset = to;
	r->head.tag = WIRE_TAG(WIRE_READ, 1, 0);
	return r;
}

static inline void writer_map(struct wire_writer *w, int32_t tid, uint32_t file, uint64_t at_ns,
			      uint64_t address, uint64_t size_bytes, uint64_t offset)
{
	struct wire_map *m = writer_slots(w, 1);

	m->head.tid = tid;
	m->file = file;
	m->start_ns = m->end_ns = at_ns;
	m->address = address;
	m->size_bytes = size_bytes;
	m->offset = offset;
	m->head.tag = WIRE_TAG(WIRE_MAP, 1, 0);
}

static inline void writer_yield(struct wire_writer *w, int32_t tid, uint64_t start_ns,
				uint64_t end_ns, uint64_t calls)
{
	struct wire_yield *y = writer_slots(w, 1);

	y->head.tid = tid;
	y->start_ns = start_ns;
	y->end_ns = end_ns;
	y->calls = calls;
	y->head.tag = WIRE_TAG(WIRE_YIELD, 1, 0);
}
