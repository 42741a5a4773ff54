/* SPDX-License-Identifier: Apache-2.0 */
/* What of a file is in the page cache, and getting it out of there. Reads no data, writes none. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define RESIDENT_UNKNOWN UINT64_MAX

struct residency {
	uint64_t dev, ino; /* st_dev and st_ino as stat(2) gives them */
	uint64_t size_bytes;
	uint64_t resident_bytes; /* RESIDENT_UNKNOWN: the kernel would not tell */
	uint64_t dirty_bytes;	 /* of them not yet written; RESIDENT_UNKNOWN */
	bool sampled;		 /* resident_bytes is an estimate */
	const char *fs;		 /* static: "ext4", "overlay", "tmpfs", ...; NULL unknown */
	const char *how;	 /* static: "cachestat", "mincore", "samples"; NULL unknown */
};

/* Look at a regular file. Returns: 0, or -errno (-EISDIR and the like: no regular file). */
int residency_look(const char *path, struct residency *ret);

/*
 * Ask the kernel to drop the pages of a file; begins with writing out what is dirty
 * (sync_file_range: data alone, and only where the kernel says that some is). What is mapped or in
 * use elsewhere stays. Returns: 0 or -errno.
 */
int residency_evict(const char *path);

/* True where nothing can be evicted since memory is all there is. */
bool residency_in_memory(const struct residency *r);
