/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/str.h"
#include "model/model.h"

struct file_key {
	uint64_t dev, ino;
};

struct file_entry {
	struct file_key key;
	int32_t index;
	UT_hash_handle hh;
};

int32_t files_get(struct probe *p, uint64_t dev, uint64_t ino, const char *path)
{
	struct file_key key = {dev, ino};
	struct file_entry *e;
	struct file *f;

	HASH_FIND(hh, p->files, &key, sizeof(key), e);
	if (!e) {
		e = xcalloc(1, sizeof(*e));
		e->key = key;
		e->index = (int32_t)p->trace->files.n;
		HASH_ADD(hh, p->files, key, sizeof(e->key), e);
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
