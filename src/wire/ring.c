/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PROCESS_MAX 4096u

/*
 * What nearly every start fills is made before it begins: the first touch of a page is dearer than
 * the records that go into it.
 */
#define PROCESSES_MADE (256 * sizeof(struct wire_process))
#define CHUNKS_MADE    (UINT64_C(2) << 20)

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Lay out `size` bytes in `h`. Returns: 0, or -EINVAL when no chunk is left. */
static int lay_out(struct wire_header *h, size_t size, uint32_t process_max)
{
	size_t used = WIRE_HEADER_SIZE + (size_t)process_max * sizeof(struct wire_process);

	used = (used + WIRE_CHUNK_SIZE - 1) / WIRE_CHUNK_SIZE * WIRE_CHUNK_SIZE;
	if (size > WIRE_SIZE_MAX || size < used + WIRE_CHUNK_SIZE)
		return -EINVAL;
	h->version = WIRE_VERSION;
	h->header_size = WIRE_HEADER_SIZE;
	h->size_bytes = size;
	h->process_offset = WIRE_HEADER_SIZE;
	h->process_size = sizeof(struct wire_process);
	h->process_max = process_max;
	h->chunk_offset = (uint32_t)used;
	h->chunk_size = WIRE_CHUNK_SIZE;
	h->chunk_max = (uint32_t)((size - used) / WIRE_CHUNK_SIZE);
	h->chunk_reserve = h->chunk_max - h->chunk_max / 4;
	h->created_ns = now_ns();
	return 0;
}

static int make_memory(size_t size)
{
	int fd = memfd_create("coldprof", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	int err;

	if (fd < 0 && errno == EINVAL) /* before 6.3 */
		fd = memfd_create("coldprof", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	/* A guest of another user opens it by its own path: the mode decides, not the owner. */
	if (fchmod(fd, 0666) < 0 || ftruncate(fd, (off_t)size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* Older kernels refuse, and so may a limit: the guests then make the pages. */
static void make_pages(unsigned char *map, const struct wire_header *h)
{
	size_t processes = h->process_offset + PROCESSES_MADE, chunks = CHUNKS_MADE;

	if (processes > h->chunk_offset)
		processes = h->chunk_offset;
	if (chunks > h->size_bytes - h->chunk_offset)
		chunks = h->size_bytes - h->chunk_offset;
	madvise(map, processes, MADV_POPULATE_WRITE);
	madvise(map + h->chunk_offset, chunks, MADV_POPULATE_WRITE);
}

int ring_create(const struct ring_options *opt, struct ring *ret)
{
	static const struct ring_options none;
	struct wire_header h = {0};
	struct stat st;
	size_t size;
	void *map;
	int err, fd;

	if (!opt)
		opt = &none;
	size = opt->size_bytes ? opt->size_bytes : WIRE_SIZE_MAX;
	err = lay_out(&h, size, opt->process_max ? opt->process_max : PROCESS_MAX);
	if (err)
		return err;
	if (getrandom(&h.nonce, sizeof(h.nonce), 0) != (ssize_t)sizeof(h.nonce))
		return -EIO;
	h.pid_ns = stat("/proc/self/ns/pid", &st) ? 0 : (uint32_t)st.st_ino;
	memcpy(h.log_dev, opt->log_dev, sizeof(h.log_dev));
	memcpy(h.log_ino, opt->log_ino, sizeof(h.log_ino));
	fd = make_memory(size);
	if (fd < 0)
		return fd;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		err = -errno;
		close(fd);
		return err;
	}
	make_pages(map, &h);
	memcpy(map, &h, sizeof(h));
	__atomic_store_n(&((struct wire_header *)map)->magic, WIRE_MAGIC, __ATOMIC_RELEASE);
	*ret = (struct ring){.fd = fd, .map = map, .size_bytes = size, .nonce = h.nonce};
	return 0;
}

void ring_close(struct ring *r)
{
	if (r->map)
		munmap(r->map, r->size_bytes);
	if (r->fd >= 0)
		close(r->fd);
	*r = (struct ring){.fd = -1};
}

void ring_held(struct ring *r, int32_t sid)
{
	__atomic_store_n(&((struct wire_header *)r->map)->holder_sid, sid, __ATOMIC_RELEASE);
}

void ring_off(struct ring *r)
{
	__atomic_fetch_or(&((struct wire_header *)r->map)->flags, WIRE_OFF, __ATOMIC_RELEASE);
}
