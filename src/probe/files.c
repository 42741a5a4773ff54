/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/inside.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/str.h"
#include "model/model.h"

/* Processes that are asked for the name of a file that they have mapped. */
#define LOOKS 8

struct file_key {
	uint64_t dev, ino;
};

/* dev 0: an inode of an overlay, whose number is that of the file below it. */
struct file_entry {
	struct file_key key;
	int32_t looked; /* so many times for a name */
	int32_t index;
	UT_hash_handle hh;
};

static struct file_entry *find(struct probe *p, uint64_t dev, uint64_t ino)
{
	struct file_key key = {dev, ino};
	struct file_entry *e;

	HASH_FIND(hh, p->files, &key, sizeof(key), e);
	return e;
}

static struct file_entry *add(struct probe *p, uint64_t dev, uint64_t ino, int32_t index)
{
	struct file_entry *e = xcalloc(1, sizeof(*e));

	e->key = (struct file_key){dev, ino};
	e->index = index;
	HASH_ADD(hh, p->files, key, sizeof(e->key), e);
	return e;
}

void files_alias(struct probe *p, uint64_t ino, int32_t file)
{
	if (!find(p, 0, ino))
		add(p, 0, ino, file);
}

int32_t files_known(struct probe *p, uint64_t dev, uint64_t ino)
{
	const struct file_entry *e = find(p, dev, ino);

	if (!e)
		e = find(p, 0, ino);
	return e ? e->index : NO_INDEX;
}

int32_t files_get(struct probe *p, uint64_t dev, uint64_t ino, const char *path)
{
	struct file_entry *e = find(p, dev, ino), *over;
	struct file *f;

	if (!e && !path && (over = find(p, 0, ino)))
		e = add(p, dev, ino, over->index);
	if (!e) {
		e = add(p, dev, ino, (int32_t)p->trace->files.n);
		f = vec_add(&p->trace->files);
		f->dev = dev;
		f->ino = ino;
		f->size_bytes = UNKNOWN;
		f->resident_before_bytes = UNKNOWN;
	}
	f = &p->trace->files.v[e->index];
	if (!f->path && path && path[0] == '/')
		f->path = trace_str(p->trace, path);
	return e->index;
}

void files_name(struct probe *p, int32_t file, int32_t pid)
{
	struct file *f = &p->trace->files.v[file];
	struct file_entry *e = find(p, f->dev, f->ino);
	char path[PATH_MAX];

	if (!e || e->looked++ >= LOOKS ||
	    procfs_mapped(pid, f->dev, f->ino, path, sizeof(path)) < 0)
		return;
	f->path = trace_str(p->trace, path);
}

void files_free(struct probe *p)
{
	struct file_entry *e, *next;

	HASH_ITER (hh, p->files, e, next) {
		HASH_DEL(p->files, e);
		free(e);
	}
}

/* The size now, where the name still leads to the same file. */
static void measure(struct file *f)
{
	struct stat st;

	if (f->size_bytes == UNKNOWN && stat(f->path, &st) == 0 && st.st_ino == f->ino)
		f->size_bytes = (uint64_t)st.st_size;
}

/* The file-system type of each device that is mounted here. */
static void name_file_systems(struct probe *p)
{
	char *text, *line, *save = NULL;

	if (io_read_file("/proc/self/mountinfo", 16 << 20, &text) < 0)
		return;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *dash = strstr(line, " - "), fs[64];
		unsigned maj, min;

		if (!dash || sscanf(line, "%*d %*d %u:%u", &maj, &min) != 2 ||
		    sscanf(dash, " - %63s", fs) != 1)
			continue;
		vec_for_each (f, &p->trace->files)
			if (!f->fs && f->dev == ((uint64_t)maj << 20 | min))
				f->fs = trace_str(p->trace, fs);
	}
	free(text);
}

void files_end(struct probe *p)
{
	uint64_t n = 0;

	vec_for_each (f, &p->trace->files) {
		if (f->path) {
			measure(f);
			continue;
		}
		f->path = trace_strf(
			p->trace, "[%llu:%llu inode %llu]", (unsigned long long)(f->dev >> 20),
			(unsigned long long)(f->dev & 0xfffff), (unsigned long long)f->ino);
		n++;
	}
	name_file_systems(p);
	if (n)
		trace_note(p->trace, "probe", "info", n, "files whose path was never seen");
}
