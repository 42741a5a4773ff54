/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's memory from coldprof's side: made,
 * turned off, read. The guests' side is in src/shim.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/event.h"

struct ring {
	int fd; /* sealed memfd, close-on-exec */
	void *map;
	size_t size_bytes;
	uint64_t nonce;
};

struct ring_options {
	size_t size_bytes;		 /* 0: WIRE_SIZE_MAX; at most that */
	uint32_t process_max;		 /* 0: 4096 */
	uint64_t log_dev[2], log_ino[2]; /* see wire_header; ino 0: none */
};

/*
 * Make the memory and map it. `opt` may be NULL. Returns: 0, or -errno (-EINVAL: the sizes do not
 * leave one chunk). Owns: ring_close() unmaps and closes.
 */
int ring_create(const struct ring_options *opt, struct ring *ret);
void ring_close(struct ring *r);
/* The process that the session string names is of session `sid` (getsid(2)). */
void ring_held(struct ring *r, int32_t sid);
/* The run is over: every hook of every guest becomes a pass-through. */
void ring_off(struct ring *r);

/* A record copied out of the memory: it does not change any more. */
struct ring_record {
	uint32_t process; /* index for ring_process() */
	uint16_t kind;	  /* enum wire_kind */
	uint16_t flags;	  /* enum wire_record_flag */
	union {
		struct wire_head head;
		struct wire_call call;
		struct wire_counter counter;
		struct wire_text text; /* LOG, UNHOOKED: what it says stands in `words` */
		struct wire_file file;
		struct wire_read read;
		struct wire_map map;
		struct wire_yield yield;
	};
	size_t words_bytes;
	char words[WIRE_TEXT_MAX +
		   1]; /* text, path or symbol, NUL-terminated; bytes as the guest had them */
};

struct ring_loss {
	uint64_t processes; /* images without an entry */
	uint64_t records;   /* no room: all kinds */
	uint64_t bulk;	    /* of them reads, mappings and yields */
	uint64_t damaged;   /* slots that made no sense, skipped */
	uint32_t chunks_used, chunks_max;
	uint64_t attached_proc, attached_socket;
	uint64_t left; /* images that were whole until they shut us out */
};

struct ring_reader {
	const unsigned char *map;
	size_t size_bytes;
	uint32_t process_offset, process_max, chunk_offset, chunk_max; /* checked once */
	uint32_t chunk, slot;					       /* the next to be read */
	uint64_t damaged;
};

/*
 * Begin to read `size` bytes of session memory, which guests may still be writing, or may have
 * scribbled over. Returns: 0, or -EINVAL when the header is not one of ours (another version:
 * -EPROTO).
 */
int ring_reader_init(struct ring_reader *r, const void *map, size_t size);
/* Entries of the process table that were taken (some may not be whole: ring_process tells). */
uint32_t ring_process_count(const struct ring_reader *r);
/* Copy entry `index`; its strings end with NUL. Returns: false when it is not whole. */
bool ring_process(const struct ring_reader *r, uint32_t index, struct wire_process *ret);
/*
 * The next whole record, in no order of time. Returns:
 * false at the end; ring_reader_rewind starts over.
 */
bool ring_next(struct ring_reader *r, struct ring_record *ret);
void ring_reader_rewind(struct ring_reader *r);
void ring_loss(const struct ring_reader *r, struct ring_loss *ret);

const char *wire_class_word(enum wire_class cls);
const char *wire_kind_word(enum wire_kind kind);
