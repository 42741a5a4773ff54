/* SPDX-License-Identifier: Apache-2.0 */
/* Safetensors: 8 bytes of header length, JSON, then the tensors without holes. */
#include "engine.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TENSORS_A_SHARD 9
#define SHARD_BYTES	(512ull << 20)
#define MIN_SHARDS	3

static void write_all(int fd, const void *data, size_t n, const char *path)
{
	for (const char *p = data; n;) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno != EINTR)
			die("cannot write %s: %s", path, strerror(errno));
		if (w > 0) {
			p += w;
			n -= (size_t)w;
		}
	}
}

static int create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		die("cannot write %s: %s", path, strerror(errno));
	return fd;
}

/* Dirty pages cannot be evicted: a model is only fit for a cold start when it is on the disk. */
static void finish(int fd, const char *path)
{
	if (fsync(fd) || close(fd))
		die("cannot write %s: %s", path, strerror(errno));
}

static void write_data(int fd, uint64_t bytes, uint64_t seed, const char *path)
{
	static uint64_t block[1 << 17];
	uint64_t x = seed * 0x9e3779b97f4a7c15ull + 1;

	while (bytes) {
		size_t n = bytes < sizeof(block) ? (size_t)bytes : sizeof(block);

		for (size_t i = 0; i < sizeof(block) / sizeof(*block); i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			block[i] = x;
		}
		write_all(fd, block, n, path);
		bytes -= n;
	}
}

/* Sizes differ, as a norm's from an MLP's: the i-th tensor has i+1 parts of the whole. */
static uint64_t tensor_bytes(uint64_t shard_bytes, int i)
{
	uint64_t parts = TENSORS_A_SHARD * (TENSORS_A_SHARD + 1) / 2, before = 0;

	if (i < TENSORS_A_SHARD - 1)
		return shard_bytes * (uint64_t)(i + 1) / parts & ~63ull;
	for (int k = 0; k < i; k++)
		before += tensor_bytes(shard_bytes, k);
	return shard_bytes - before;
}

static void make_shard(const char *dir, unsigned k, unsigned n, uint64_t bytes, FILE *index)
{
	char path[4096], header[8192];
	uint64_t at = 0, length_le;
	size_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/model-%05u-of-%05u.safetensors", dir, k + 1, n);
	len = (size_t)snprintf(header, sizeof(header), "{\"__metadata__\":{\"format\":\"pt\"}");
	for (int i = 0; i < TENSORS_A_SHARD; i++) {
		uint64_t size = tensor_bytes(bytes, i);

		len += (size_t)snprintf(
			header + len, sizeof(header) - len,
			",\"model.layers.%u.w%d.weight\":{\"dtype\":\"U8\",\"shape\":[%llu],"
			"\"data_offsets\":[%llu,%llu]}",
			k, i, (unsigned long long)size, (unsigned long long)at,
			(unsigned long long)(at + size));
		at += size;
		fprintf(index,
			"%s\"model.layers.%u.w%d.weight\":\"model-%05u-of-%05u.safetensors\"",
			k || i ? "," : "", k, i, k + 1, n);
	}
	header[len++] = '}';
	while ((8 + len) % 8)
		header[len++] = ' ';
	length_le = htole64(len);
	fd = create(path);
	write_all(fd, &length_le, 8, path);
	write_all(fd, header, len, path);
	write_data(fd, bytes, k + 1, path);
	finish(fd, path);
}

void model_make(uint64_t bytes, const char *dir)
{
	unsigned n = (unsigned)((bytes + SHARD_BYTES - 1) / SHARD_BYTES);
	uint64_t left = bytes;
	char path[4096];
	FILE *f;

	if (bytes < 1 << 20)
		die("--make-model: at least 1048576 bytes");
	if (n < MIN_SHARDS)
		n = MIN_SHARDS;
	if (mkdir(dir, 0755) && errno != EEXIST)
		die("cannot make %s: %s", dir, strerror(errno));
	snprintf(path, sizeof(path), "%s/model.safetensors.index.json", dir);
	f = fopen(path, "w");
	if (!f)
		die("cannot write %s: %s", path, strerror(errno));
	fprintf(f, "{\"metadata\":{\"total_size\":%llu},\"weight_map\":{",
		(unsigned long long)bytes);
	for (unsigned k = 0; k < n; k++) {
		uint64_t size = k + 1 < n ? bytes / n & ~63ull : left;

		make_shard(dir, k, n, size, f);
		left -= size;
	}
	fputs("}}\n", f);
	if (fclose(f))
		die("cannot write %s: %s", path, strerror(errno));
	snprintf(path, sizeof(path), "%s/config.json", dir);
	f = fopen(path, "w");
	if (!f ||
	    fprintf(f, "{\"architectures\":[\"TruthForCausalLM\"],\"num_hidden_layers\":%u}\n", n) <
		    0 ||
	    fclose(f))
		die("cannot write %s: %s", path, strerror(errno));
}

static void read_at(int fd, void *to, size_t n, off_t at, const char *path)
{
	if (pread(fd, to, n, at) != (ssize_t)n)
		die("%s is shorter than its header says", path);
}

static void read_header(struct shard *s)
{
	static const char word[] = "\"data_offsets\":[";
	unsigned long long from, to;
	uint64_t length;
	struct stat st;
	char *json;
	int fd = open(s->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		die("cannot read %s: %s", s->path, strerror(errno));
	s->bytes = (uint64_t)st.st_size;
	read_at(fd, &length, 8, 0, s->path);
	length = le64toh(length);
	if (length > 100000000)
		die("%s is not a safetensors file", s->path);
	json = calloc(1, length + 1);
	if (!json)
		die("out of memory");
	read_at(fd, json, length, 8, s->path);
	for (const char *p = json; (p = strstr(p, word)); p++) {
		if (sscanf(p + sizeof(word) - 1, "%llu,%llu]", &from, &to) != 2 || to < from)
			die("%s: bad data_offsets", s->path);
		s->tensors = realloc(s->tensors, (s->n + 1) * sizeof(*s->tensors));
		s->tensors[s->n++] = (struct tensor){8 + length + from, to - from};
	}
	free(json);
	close(fd);
}

void model_read_headers(const char *dir, struct model *m)
{
	char path[4096];
	unsigned n;

	memset(m, 0, sizeof(*m));
	/* The shard count stands in every shard's name. */
	for (n = 1; n < 100000; n++) {
		snprintf(path, sizeof(path), "%s/model-%05u-of-%05u.safetensors", dir, 1, n);
		if (!access(path, R_OK))
			break;
	}
	if (n == 100000)
		die("no model-00001-of-*.safetensors in %s: make one with --make-model", dir);
	m->n = n;
	m->shards = calloc(n, sizeof(*m->shards));
	for (unsigned k = 0; k < n; k++) {
		struct shard *s = &m->shards[k];

		snprintf(s->path, sizeof(s->path), "%s/model-%05u-of-%05u.safetensors", dir, k + 1,
			 n);
		read_header(s);
		for (size_t i = 0; i < s->n; i++)
			m->bytes += s->tensors[i].bytes;
	}
}
