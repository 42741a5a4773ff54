/* SPDX-License-Identifier: Apache-2.0 */
/* The weights: from file to device, in one of five ways. Each piece is read and copied for real. */
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE_BYTES  (4ull << 20)
#define RANDOM_BYTES (64ull << 10)
#define DIRECT_ALIGN 4096ull
#define THREADS	     4
#define FINGERPRINT  65536

struct piece {
	const struct shard *shard;
	uint64_t offset, bytes;
	CUdeviceptr to;
};

static struct piece *pieces;
static size_t count, room;
static CUdeviceptr base;
static uint64_t total;
static void *staging[THREADS];
static atomic_size_t next;
static int *fds;
static char **maps;
static const struct model *the_model;

static void add_pieces(const struct shard *s, const struct tensor *t, uint64_t piece_bytes)
{
	for (uint64_t at = 0; at < t->bytes; at += piece_bytes) {
		uint64_t n = t->bytes - at < piece_bytes ? t->bytes - at : piece_bytes;

		if (count == room) {
			room = room ? 2 * room : 1024;
			pieces = realloc(pieces, room * sizeof(*pieces));
			if (!pieces)
				die("out of memory");
		}
		pieces[count++] = (struct piece){s, t->offset + at, n, total};
		total += n;
	}
}

/* The order of a reader that follows no file: every page is its own fault. */
static void shuffle(void)
{
	uint64_t x = 88172645463325252ull;

	for (size_t i = count; i > 1; i--) {
		struct piece p = pieces[i - 1];
		size_t k;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		k = x % i;
		pieces[i - 1] = pieces[k];
		pieces[k] = p;
	}
}

void loader_prepare(const struct model *m, int rank)
{
	bool mapped = opt.loader == LOAD_MMAP || opt.loader == LOAD_MMAP_RANDOM;
	size_t staged = opt.loader == LOAD_THREADS ? THREADS : mapped ? 0 : 1;
	size_t tensor = 0;

	the_model = m;
	for (size_t k = 0; k < m->n; k++)
		for (size_t i = 0; i < m->shards[k].n; i++)
			if ((int)(tensor++ % (size_t)opt.ranks) == rank)
				add_pieces(&m->shards[k], &m->shards[k].tensors[i],
					   opt.loader == LOAD_MMAP_RANDOM ? RANDOM_BYTES
									  : PIECE_BYTES);
	if (opt.loader == LOAD_MMAP_RANDOM)
		shuffle();
	if (!count)
		die("more ranks than tensors");
	base = device_alloc("weights", total);
	for (size_t i = 0; i < staged; i++)
		staging[i] = device_pinned(PIECE_BYTES + 2 * DIRECT_ALIGN);
	fds = calloc(m->n, sizeof(*fds));
	maps = calloc(m->n, sizeof(*maps));
}

/* Shards are opened when the first piece of them is wanted; by one thread or under the lock. */
static size_t shard_open(const struct shard *s)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	size_t k = (size_t)(s - the_model->shards);

	pthread_mutex_lock(&lock);
	if (!fds[k]) {
		fds[k] = open(s->path,
			      O_RDONLY | O_CLOEXEC | (opt.loader == LOAD_DIRECT ? O_DIRECT : 0));
		if (fds[k] < 0)
			die("cannot open %s: %s", s->path, strerror(errno));
		if (opt.loader == LOAD_MMAP || opt.loader == LOAD_MMAP_RANDOM) {
			maps[k] = mmap(NULL, s->bytes, PROT_READ, MAP_PRIVATE, fds[k], 0);
			if (maps[k] == MAP_FAILED)
				die("cannot map %s: %s", s->path, strerror(errno));
			madvise(maps[k], s->bytes,
				opt.loader == LOAD_MMAP ? MADV_SEQUENTIAL : MADV_RANDOM);
		}
	}
	pthread_mutex_unlock(&lock);
	return k;
}

static void copy(const struct piece *p, const void *from, CUstream stream)
{
	uint64_t start = now_ns(), end;

	if (stream)
		CU(cu.h2d_async(base + p->to, from, p->bytes, stream));
	else
		CU(cu.h2d(base + p->to, from, p->bytes));
	end = now_ns();
	truth_work("weights", "h2d", start, end, p->bytes);
	/*
	 * The copy call itself faults a mapping in, as a driver's staging of pageable memory does.
	 */
	if (!staging[0])
		truth_work("weights", "mapped", start, end, p->bytes);
}

static void load_mapped(const struct piece *p)
{
	copy(p, maps[shard_open(p->shard)] + p->offset, NULL);
}

static const char *read_piece(const struct piece *p, char *buf)
{
	int fd = fds[shard_open(p->shard)];
	uint64_t skip = 0, want = p->bytes, got = 0, start;
	ssize_t n;

	if (opt.loader == LOAD_DIRECT) {
		buf = (char *)(((uintptr_t)buf + DIRECT_ALIGN - 1) & ~(DIRECT_ALIGN - 1));
		skip = p->offset % DIRECT_ALIGN;
		want = (skip + p->bytes + DIRECT_ALIGN - 1) & ~(DIRECT_ALIGN - 1);
	}
	start = now_ns();
	while (got < skip + p->bytes) {
		n = pread(fd, buf + got, want - got, (off_t)(p->offset - skip + got));
		if (n <= 0)
			die("cannot read %s: %s", p->shard->path,
			    n ? strerror(errno) : "too short");
		got += (uint64_t)n;
	}
	truth_work("weights", "read", start, now_ns(), got);
	return buf + skip;
}

static void *load_thread(void *arg)
{
	char *buf = arg;
	CUstream stream;
	uint64_t at;
	size_t i;

	device_use_on_this_thread();
	CU(cu.stream_create(&stream, 0));
	while ((i = atomic_fetch_add(&next, 1)) < count) {
		copy(&pieces[i], read_piece(&pieces[i], buf), stream);
		CU(cu.stream_sync(stream)); /* the buffer is used again */
	}
	/* What this thread waited for a CPU behind its last piece. */
	at = now_ns();
	truth_work("weights", "end", at, at, 0);
	return NULL;
}

static void load_in_threads(void)
{
	pthread_t threads[THREADS];

	if (opt.crash == STEP_weights)
		count /= 2;
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, load_thread, staging[i]))
			die("cannot start a thread");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	crash_at(STEP_weights);
}

void loader_run(const struct model *m)
{
	(void)m;
	if (opt.loader == LOAD_THREADS) {
		load_in_threads();
		burn_ms(opt.slow_ms[STEP_weights]);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (i == count / 2) {
			crash_at(STEP_weights);
			burn_ms(opt.slow_ms[STEP_weights]);
		}
		if (staging[0])
			copy(&pieces[i], read_piece(&pieces[i], staging[0]), NULL);
		else
			load_mapped(&pieces[i]);
	}
}

uint64_t loader_fingerprint(void)
{
	static unsigned char buf[FINGERPRINT];
	size_t n = total < sizeof(buf) ? total : sizeof(buf);
	uint64_t hash = 14695981039346656037ull;

	device_use_on_this_thread();
	CU(cu.d2h(buf, base, n));
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ buf[i]) * 1099511628211ull;
	return hash;
}
