/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. Nothing outside src/ingest includes it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include <uthash.h>

#include "base/vec.h"
#include "ingest/ingest.h"
#include "model/model.h"
#include "wire/ring.h"

/* The length of a bin of file_io; an access is never longer. */
#define BIN_NS	   UINT64_C(10000000)
#define PAGE_BYTES UINT64_C(4096)

/* A wire_process that was matched with the trace's processes. */
struct image {
	int32_t process; /* NO_INDEX: its entry was not whole, or it is left out */
	uint64_t start_ns;
	bool left_out;		   /* its process is not known; said once */
	bool foreign;		   /* its numbers are those of another pid namespace */
	VEC(const char *) symbols; /* by the number that calls carry; NULL unknown */
};

/* (dev, ino), (path, ino), or (image, number of the file in it) → index in trace.files. */
struct file_ref {
	uint64_t key[2];
	int32_t file;
	UT_hash_handle hh;
};

/* A driver or compiler call, in the order of (process, tid, start). */
struct call {
	int32_t process, tid;
	uint64_t start_ns, end_ns, bytes, handle, aux, extra;
	const char *symbol;
	int32_t result;
	uint8_t cls, direction;
};

/* A file mapped by a guest. */
struct mapping {
	int32_t process, file;
	uint64_t start_ns, address, size_bytes, offset;
};

/*
 * A range of a mapped file that a copy to the device read. In the order of (process, file, start).
 */
struct touch {
	int32_t process, tid, file;
	uint64_t start_ns, end_ns, from, to;
};

/* sched_yield calls of one thread within 100 ms. */
struct yielded {
	int32_t process, tid;
	uint64_t start_ns, calls;
};

/* A piece of log as the shim saw it written. */
struct written {
	struct log_line line;
	bool open; /* no end of line yet */
};

struct file_info {
	uint64_t header_bytes; /* what belongs to the header of a weight file; 0 none */
};

struct ingest {
	const struct ingest_options *opt;
	struct trace *t;
	bool memory; /* reader is usable */
	struct ring_reader reader;
	VEC(struct image) images;
	struct file_ref *by_inode, *by_name, *by_number;
	VEC(struct file_info) files; /* beside trace.files */
	VEC(int32_t) unsized;	     /* files whose size is not known; 0 while ingest works */
	VEC(struct call) calls;
	VEC(struct written) written;
	VEC(struct yielded) yields;
	VEC(struct mapping) mappings;
	VEC(struct touch) touches;
	uint64_t skipped; /* records that made no sense */
};

struct range {
	uint64_t from, to;
};

typedef VEC(struct range) ranges;

/* The accesses of one process to one file: [from, to) of the sorted list. */
struct use {
	struct ingest *in;
	struct access **v;
	size_t n;
	uint64_t asked_bytes, storage_bytes; /* of reads */
	bool header_only;
	bool filled_only; /* pages were brought in, and nobody was seen to use them */
};

static inline bool is_fault(const struct access *a)
{
	return a->mode & (IO_MAPPED | IO_MAPPED_RANDOM);
}

/* Faults whose waits nobody saw were sampled: that none of a file was seen tells nothing. */
static inline bool faults_sampled(const struct trace *t)
{
	return (t->saw & (SAW_FAULTS | SAW_WAITS)) == SAW_FAULTS;
}

/* An unknown number adds nothing. */
static inline uint64_t known(uint64_t n)
{
	return n == UNKNOWN ? 0 : n;
}

/* guests.c: the shim's process table → processes, execs; matches each image. */
void guests_read(struct ingest *in);
void guests_done(struct ingest *in);
/* Why processes without a shim are not covered. */
void guests_uncovered(struct ingest *in);

/*
 * match.c: the process that an image is, by its number, or by all else that is known of both.
 * NO_INDEX: none; MATCH_MANY: it could be several.
 */
#define MATCH_MANY (-2)
int32_t match_number(const struct ingest *in, const struct wire_process *w);
int32_t match_circumstance(const struct ingest *in, const struct wire_process *w);
/* A thread as the image numbers it, in coldprof's numbers; where nobody knows that, negative. */
int32_t match_thread(const struct ingest *in, const struct image *image, int32_t tid);

/* memory.c: the shim's records → files, accesses, calls, counters, coverage, log, yields. */
void memory_read(struct ingest *in);

/* files.c */
int32_t files_add(struct ingest *in, uint64_t dev, uint64_t ino, const char *path,
		  uint64_t size_bytes);
void files_index(struct ingest *in);
void files_classify(struct ingest *in);
void files_done(struct ingest *in);

/* header.c: what a file is by its first bytes. `ret_header_bytes`: where its header ends. */
enum file_class header_class(const unsigned char *bytes, size_t n, uint64_t *ret_header_bytes);

/* touch.c: calls and mappings → touches. */
void touch_derive(struct ingest *in);

/* access.c: accesses → evidence and file_io. */
void access_derive(struct ingest *in);

/* mapped.c: ret_mapped[i]: what access i brought into the mapping. */
void mapped_bytes(const struct use *u, uint64_t *ret_mapped);
/* Did each fault bring in hardly more than the page that was touched? */
bool mapped_page_by_page(const struct use *u);

/* cuda.c: calls → evidence and graphs. */
void cuda_derive(struct ingest *in);

/* roles.c: compilers and version probes by name and command line; their evidence. */
void roles_derive(struct ingest *in);

/* lines.c: progress bars split, order; afterwards repeats folded. */
void lines_split(struct ingest *in);
void lines_fold(struct ingest *in);
/* Where no lines can be seen, the trace says so. */
void lines_unseen(struct ingest *in);

/* coalesce.c: evidence sorted, adjacent pieces joined. */
void evidence_coalesce(struct trace *t);

/* state.c: run.state, state_files, state_caches. */
void state_derive(struct ingest *in);

/* Add evidence; pieces that end before they begin are dropped. Borrowed until the next call. */
struct evidence *evidence_add(struct trace *t, int32_t process, int32_t tid, enum kind kind,
			      enum source source, uint64_t start_ns, uint64_t end_ns);
