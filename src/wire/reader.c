/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what guests wrote. Nothing in the memory is trusted: every offset is checked against the
 * size that was given, every record is copied out before it is looked at, every string is cut and
 * ended here.
 */
#include "wire/ring.h"

#include <errno.h>
#include <string.h>

static const struct wire_header *header(const struct ring_reader *r)
{
	return (const struct wire_header *)r->map;
}

static bool inside(size_t size, uint64_t offset, uint64_t count, uint64_t each)
{
	return offset <= size && offset % 64 == 0 && count <= (size - offset) / each;
}

int ring_reader_init(struct ring_reader *r, const void *map, size_t size)
{
	const struct wire_header *h = map;
	struct ring_reader n = {.map = map, .size_bytes = size, .slot = 1};

	if (!map || size < WIRE_HEADER_SIZE ||
	    __atomic_load_n(&h->magic, __ATOMIC_ACQUIRE) != WIRE_MAGIC)
		return -EINVAL;
	if (h->version != WIRE_VERSION || h->process_size != sizeof(struct wire_process) ||
	    h->chunk_size != WIRE_CHUNK_SIZE)
		return -EPROTO;
	n.process_offset = h->process_offset;
	n.process_max = h->process_max;
	n.chunk_offset = h->chunk_offset;
	n.chunk_max = h->chunk_max;
	if (!inside(size, n.process_offset, n.process_max, sizeof(struct wire_process)) ||
	    !inside(size, n.chunk_offset, n.chunk_max, WIRE_CHUNK_SIZE))
		return -EINVAL;
	*r = n;
	return 0;
}

static uint32_t taken(const uint32_t *next, uint32_t max)
{
	uint32_t n = __atomic_load_n(next, __ATOMIC_ACQUIRE);

	return n < max ? n : max;
}

uint32_t ring_process_count(const struct ring_reader *r)
{
	return taken(&header(r)->next_process, r->process_max);
}

bool ring_process(const struct ring_reader *r, uint32_t index, struct wire_process *ret)
{
	const struct wire_process *p;

	if (index >= ring_process_count(r))
		return false;
	p = (const struct wire_process *)(r->map + r->process_offset) + index;
	if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != 1)
		return false;
	memcpy(ret, p, sizeof(*ret));
	ret->comm[sizeof(ret->comm) - 1] = '\0';
	ret->exe[sizeof(ret->exe) - 1] = '\0';
	ret->argv[sizeof(ret->argv) - 1] = '\0';
	if (ret->argv_bytes > sizeof(ret->argv) - 1)
		ret->argv_bytes = sizeof(ret->argv) - 1;
	return true;
}

/* How many bytes of text the first slot of `kind` declares and holds. */
static void first_text(const struct ring_record *rec, const char **text, size_t *held,
		       size_t *declared)
{
	if (rec->kind == WIRE_FILE) {
		*text = rec->file.text;
		*held = sizeof(rec->file.text);
		*declared = rec->file.bytes;
	} else {
		*text = rec->text.text;
		*held = sizeof(rec->text.text);
		*declared = rec->text.bytes;
	}
}

/*
 * Gather the text of a record of `slots` slots that begins
 * at `at`. Returns: false when it does not hold together.
 */
static bool gather(const unsigned char *at, uint32_t slots, struct ring_record *rec)
{
	size_t held, declared, n;
	const char *text;

	first_text(rec, &text, &held, &declared);
	if (declared > WIRE_TEXT_MAX ||
	    declared > held + (slots - 1) * sizeof(((struct wire_more *)0)->text))
		return false;
	n = declared < held ? declared : held;
	memcpy(rec->words, text, n);
	for (uint32_t i = 1; i < slots && n < declared; i++) {
		struct wire_more more;
		size_t part = declared - n;

		memcpy(&more, at + (size_t)i * WIRE_SLOT_SIZE, sizeof(more));
		if (WIRE_TAG_KIND(more.head.tag) != WIRE_MORE)
			return false;
		if (part > sizeof(more.text))
			part = sizeof(more.text);
		memcpy(rec->words + n, more.text, part);
		n += part;
	}
	rec->words_bytes = n;
	return true;
}

/* Copy the record at `at`, of which `left` slots remain in its chunk. */
static bool take(const unsigned char *at, uint32_t tag, uint32_t left, struct ring_record *rec)
{
	uint32_t slots = WIRE_TAG_SLOTS(tag);

	rec->kind = (uint16_t)WIRE_TAG_KIND(tag);
	rec->flags = (uint16_t)WIRE_TAG_FLAGS(tag);
	rec->words_bytes = 0;
	rec->words[0] = '\0';
	if (slots == 0 || slots > left || rec->kind >= WIRE_KIND_COUNT)
		return false;
	memcpy(&rec->counter, at, slots > 1 ? sizeof(rec->counter) : WIRE_SLOT_SIZE);
	switch (rec->kind) {
	case WIRE_COUNTER:
		if (slots != 2 || rec->counter.cls >= WIRE_CLASS_COUNT)
			return false;
		rec->words_bytes = strnlen(rec->counter.name, sizeof(rec->counter.name) - 1);
		memcpy(rec->words, rec->counter.name, rec->words_bytes);
		break;
	case WIRE_CALL:
		if (rec->call.cls >= WIRE_CLASS_COUNT)
			return false;
		break;
	case WIRE_LOG:
	case WIRE_UNHOOKED:
	case WIRE_FILE:
		if (!gather(at, slots, rec))
			return false;
		break;
	default:
		break;
	}
	rec->words[rec->words_bytes] = '\0';
	return true;
}

static bool next_chunk(struct ring_reader *r)
{
	r->chunk++;
	r->slot = 1;
	return true;
}

bool ring_next(struct ring_reader *r, struct ring_record *ret)
{
	uint32_t chunks = taken(&header(r)->next_chunk, r->chunk_max);

	while (r->chunk < chunks) {
		const unsigned char *base =
			r->map + r->chunk_offset + (size_t)r->chunk * WIRE_CHUNK_SIZE;
		const struct wire_chunk *c = (const struct wire_chunk *)base;
		uint32_t owner = __atomic_load_n(&c->process, __ATOMIC_ACQUIRE);

		if (owner == 0 || owner > r->process_max || r->slot >= WIRE_CHUNK_SLOTS) {
			next_chunk(r);
			continue;
		}
		while (r->slot < WIRE_CHUNK_SLOTS) {
			const unsigned char *at = base + (size_t)r->slot * WIRE_SLOT_SIZE;
			uint32_t tag = __atomic_load_n(&((const struct wire_head *)at)->tag,
						       __ATOMIC_ACQUIRE);
			uint32_t left = WIRE_CHUNK_SLOTS - r->slot;

			/*
			 * A hole, or the rest of a text whose writer was killed before it counted.
			 */
			if (tag == 0 || WIRE_TAG_KIND(tag) == WIRE_MORE) {
				r->slot++;
				continue;
			}
			if (!take(at, tag, left, ret)) {
				r->damaged++;
				r->slot++;
				continue;
			}
			ret->process = owner - 1;
			r->slot += WIRE_TAG_SLOTS(tag);
			return true;
		}
	}
	return false;
}

void ring_reader_rewind(struct ring_reader *r)
{
	r->chunk = 0;
	r->slot = 1;
	r->damaged = 0;
}

void ring_loss(const struct ring_reader *r, struct ring_loss *ret)
{
	const struct wire_header *h = header(r);

	*ret = (struct ring_loss){
		.processes = __atomic_load_n(&h->lost_processes, __ATOMIC_RELAXED),
		.records = __atomic_load_n(&h->lost_records, __ATOMIC_RELAXED),
		.bulk = __atomic_load_n(&h->lost_bulk, __ATOMIC_RELAXED),
		.damaged = r->damaged,
		.chunks_used = taken(&h->next_chunk, r->chunk_max),
		.chunks_max = r->chunk_max,
		.attached_proc = __atomic_load_n(&h->attached_proc, __ATOMIC_RELAXED),
		.attached_socket = __atomic_load_n(&h->attached_socket, __ATOMIC_RELAXED),
		.left = __atomic_load_n(&h->left, __ATOMIC_RELAXED),
	};
}

const char *wire_class_word(enum wire_class cls)
{
	static const char *const words[] = {
#define X(id, word, how) word,
		WIRE_CLASSES(X)
#undef X
	};

	return (unsigned)cls < WIRE_CLASS_COUNT ? words[cls] : "?";
}

const char *wire_kind_word(enum wire_kind kind)
{
	static const char *const words[] = {"empty", "more", "call", "counter",	 "unhooked", "log",
					    "file",  "read", "map",  "populate", "yield"};

	_Static_assert(sizeof(words) / sizeof(*words) == WIRE_KIND_COUNT, "a word for every kind");
	return (unsigned)kind < WIRE_KIND_COUNT ? words[kind] : "?";
}
