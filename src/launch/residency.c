/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/residency.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/vec.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

#define SAMPLES	    256
#define MINCORE_MAX ((uint64_t)1 << 30) /* mapped at a time */

struct range {
	uint64_t offset, length;
};

struct counts {
	uint64_t cache, dirty, writeback, evicted, recently_evicted;
};

/* Only an owner or a writer is told the truth about a file. */
static bool told_the_truth(int fd, const struct stat *st)
{
	char path[40];

	if (geteuid() == 0 || st->st_uid == geteuid())
		return true;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return !access(path, W_OK);
}

static bool by_cachestat(int fd, struct residency *r)
{
	struct range all = {0};
	struct counts c;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	/* overlay has no pages of its own: its count would be an honest-looking 0. */
	if ((r->fs && !strcmp(r->fs, "overlay")) || syscall(SYS_cachestat, fd, &all, &c, 0))
		return false;
	r->resident_bytes = c.cache * page;
	r->dirty_bytes = (c.dirty + c.writeback) * page;
	r->how = "cachestat";
	return true;
}

static bool by_mincore(int fd, struct residency *r)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), pages = 0;
	unsigned char *vec = xcalloc(MINCORE_MAX / page, 1);
	bool ok = true;

	for (uint64_t at = 0; at < r->size_bytes && ok; at += MINCORE_MAX) {
		uint64_t n = r->size_bytes - at < MINCORE_MAX ? r->size_bytes - at : MINCORE_MAX;
		void *map = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, (off_t)at);

		ok = map != MAP_FAILED && !mincore(map, n, vec);
		for (uint64_t i = 0; ok && i < (n + page - 1) / page; i++)
			pages += vec[i] & 1;
		if (map != MAP_FAILED)
			munmap(map, n);
	}
	free(vec);
	if (!ok)
		return false;
	r->resident_bytes = pages * page;
	r->how = "mincore";
	return true;
}

/*
 * A read that may not wait succeeds only from the page
 * cache; FADV_RANDOM keeps it from bringing pages in.
 */
static bool by_samples(int fd, struct residency *r)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), pages = (r->size_bytes + page - 1) / page;
	uint64_t n = pages < SAMPLES ? pages : SAMPLES, hits = 0;
	char byte;

	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (uint64_t i = 0; i < n; i++) {
		struct iovec part = {.iov_base = &byte, .iov_len = 1};
		ssize_t got = preadv2(fd, &part, 1, (off_t)(i * pages / n * page), RWF_NOWAIT);

		if (got == 1)
			hits++;
		else if (got < 0 && errno != EAGAIN)
			return false;
	}
	r->resident_bytes = n ? r->size_bytes * hits / n : 0;
	r->sampled = true;
	r->how = "samples";
	return true;
}

int residency_look(const char *path, struct residency *ret)
{
	struct residency r = {.resident_bytes = RESIDENT_UNKNOWN, .dirty_bytes = RESIDENT_UNKNOWN};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct statfs fs;
	struct stat st;
	bool truth;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EISDIR;
	}
	r.dev = st.st_dev;
	r.ino = st.st_ino;
	r.size_bytes = (uint64_t)st.st_size;
	if (!fstatfs(fd, &fs))
		r.fs = fs_name((uint32_t)fs.f_type);
	truth = told_the_truth(fd, &st);
	if (!(truth && (by_cachestat(fd, &r) || by_mincore(fd, &r))))
		by_samples(fd, &r);
	if (r.resident_bytes != RESIDENT_UNKNOWN && r.resident_bytes > r.size_bytes)
		r.resident_bytes = r.size_bytes; /* its last page is whole */
	close(fd);
	*ret = r;
	return 0;
}

int residency_evict(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;
	struct residency r;

	if (fd < 0)
		return -errno;
	if (!residency_look(path, &r) && r.dirty_bytes)
		sync_file_range(fd, 0, 0,
				SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					SYNC_FILE_RANGE_WAIT_AFTER);
	rc = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return -rc;
}

bool residency_in_memory(const struct residency *r)
{
	return r->fs && (!strcmp(r->fs, "tmpfs") || !strcmp(r->fs, "ramfs"));
}
