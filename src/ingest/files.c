/* SPDX-License-Identifier: Apache-2.0 */
/* What each file is to a model server, and the name that a person knows it by. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/str.h"
#include "ingest/inside.h"

#define HEAD_BYTES 512
/* Below this a .bin or .pt is more likely settings than weights. */
#define SMALL_BYTES (UINT64_C(1) << 20)

static void remember(struct file_ref **set, uint64_t a, uint64_t b, int32_t file)
{
	struct file_ref *ref = xcalloc(1, sizeof(*ref));

	ref->key[0] = a;
	ref->key[1] = b;
	ref->file = file;
	HASH_ADD(hh, *set, key, sizeof(ref->key), ref);
}

/* NO_INDEX: not there. */
static int32_t find_in(struct file_ref *set, uint64_t a, uint64_t b)
{
	uint64_t key[2] = {a, b};
	struct file_ref *ref;

	HASH_FIND(hh, set, key, sizeof(key), ref);
	return ref ? ref->file : NO_INDEX;
}

static bool has_name(const struct file *f)
{
	return f->ino && f->path && f->path[0] == '/';
}

/*
 * The same inode of the same device. On overlayfs and btrfs stat(2) tells another
 * device than the kernel has: there an absolute path and the inode make a file.
 */
static int32_t find(struct ingest *in, const struct file *f)
{
	int32_t index = f->ino ? find_in(in->by_inode, f->dev, f->ino) : NO_INDEX;

	if (index == NO_INDEX && has_name(f))
		index = find_in(in->by_name, (uintptr_t)f->path, f->ino);
	return index;
}

static void remember_file(struct ingest *in, const struct file *f, int32_t index)
{
	if (f->ino && find_in(in->by_inode, f->dev, f->ino) == NO_INDEX)
		remember(&in->by_inode, f->dev, f->ino, index);
	if (has_name(f) && find_in(in->by_name, (uintptr_t)f->path, f->ino) == NO_INDEX)
		remember(&in->by_name, (uintptr_t)f->path, f->ino, index);
}

int32_t files_add(struct ingest *in, uint64_t dev, uint64_t ino, const char *path,
		  uint64_t size_bytes)
{
	struct file f = {.path = trace_str(in->t, path),
			 .dev = dev,
			 .ino = ino,
			 .size_bytes = size_bytes,
			 .resident_before_bytes = UNKNOWN};
	int32_t index = find(in, &f);

	if (index == NO_INDEX) {
		vec_push(&in->t->files, f);
		index = (int32_t)in->t->files.n - 1;
	}
	remember_file(in, &f, index);
	return index;
}

/* What two entries of one file know, in the first. */
static void take_over(struct file *to, const struct file *from)
{
	if (!to->path || (to->path[0] != '/' && from->path && from->path[0] == '/'))
		to->path = from->path;
	to->target = to->target ? to->target : from->target;
	to->fs = to->fs ? to->fs : from->fs;
	if (!to->size_bytes || to->size_bytes == UNKNOWN)
		to->size_bytes = from->size_bytes;
	if (to->resident_before_bytes == UNKNOWN)
		to->resident_before_bytes = from->resident_before_bytes;
	to->cls = to->cls ? to->cls : from->cls;
}

/* Each file of the probes once: launch names weights before the start, a probe meets them again. */
void files_index(struct ingest *in)
{
	struct trace *t = in->t;
	int32_t *now = xcalloc(t->files.n, sizeof(*now));
	size_t n = 0;

	for (size_t i = 0; i < t->files.n; i++) {
		struct file f = t->files.v[i];
		int32_t known = find(in, &f);

		if (f.size_bytes == UNKNOWN) {
			f.size_bytes = 0;
			vec_push(&in->unsized, known == NO_INDEX ? (int32_t)n : known);
		}
		now[i] = known;
		if (known != NO_INDEX) {
			take_over(&t->files.v[known], &f);
		} else {
			now[i] = (int32_t)n;
			t->files.v[n++] = f;
		}
		remember_file(in, &f, now[i]);
	}
	vec_for_each (a, &t->accesses)
		if (a->file >= 0 && (size_t)a->file < t->files.n)
			a->file = now[a->file];
	vec_for_each (e, &t->evidence)
		if (e->file >= 0 && (size_t)e->file < t->files.n)
			e->file = now[e->file];
	vec_for_each (io, &t->io)
		if (io->file >= 0 && (size_t)io->file < t->files.n)
			io->file = now[io->file];
	t->files.n = n;
	free(now);
}

static void forget(struct file_ref **set)
{
	struct file_ref *ref, *next;

	HASH_ITER (hh, *set, ref, next) {
		HASH_DEL(*set, ref);
		free(ref);
	}
}

void files_done(struct ingest *in)
{
	vec_for_each (i, &in->unsized)
		if (!in->t->files.v[*i].size_bytes)
			in->t->files.v[*i].size_bytes = UNKNOWN;
	vec_free(&in->unsized);
	forget(&in->by_inode);
	forget(&in->by_name);
	forget(&in->by_number);
	vec_free(&in->files);
}

static bool inside_folder(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	while (n > 1 && folder[n - 1] == '/')
		n--;
	return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* The folders as they were given, and as they resolve. */
static bool in_cache(const struct ingest *in, char *const *resolved, const char *path)
{
	char *const *given = in->opt->cache_folders;

	for (size_t i = 0; given && given[i]; i++)
		if (inside_folder(path, given[i]) ||
		    (resolved[i] && inside_folder(path, resolved[i])))
			return true;
	return false;
}

static bool is_library(const char *path)
{
	const char *so = strstr(path, ".so");

	for (; so; so = strstr(so + 1, ".so"))
		if (so[3] == '\0' || so[3] == '.')
			return true;
	return false;
}

static bool ends_in_one_of(const char *path, const char *const *ends)
{
	for (; *ends; ends++)
		if (str_ends(path, *ends))
			return true;
	return false;
}

/* By name alone, for a file that cannot be read any more. */
static enum file_class class_by_name(const struct file *f)
{
	static const char *const sure[] = {".safetensors", ".gguf", ".tensors", NULL};
	static const char *const maybe[] = {".bin", ".pt", ".pth", NULL};
	static const char *const python[] = {".py", ".pyc", ".pyi", NULL};

	if (is_library(f->path))
		return FILE_LIBRARY;
	if (ends_in_one_of(f->path, python))
		return FILE_PYTHON;
	if (ends_in_one_of(f->path, sure) ||
	    (ends_in_one_of(f->path, maybe) && f->size_bytes >= SMALL_BYTES))
		return FILE_WEIGHTS;
	return FILE_OTHER;
}

/*
 * The first bytes, leaving the page cache as it was: what is resident is read without waiting; what
 * is not is read without readahead and let go again.
 */
static ssize_t read_head(int fd, unsigned char *buf, size_t size)
{
	struct iovec io = {buf, size};
	ssize_t n = preadv2(fd, &io, 1, 0, RWF_NOWAIT);

	if (n > 0)
		return n;
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	n = pread(fd, buf, size, 0);
	posix_fadvise(fd, 0, PAGE_BYTES, POSIX_FADV_DONTNEED);
	return n;
}

/* Only if the path still leads to the file that the guest used. */
static enum file_class class_by_content(const struct file *f, uint64_t *ret_header_bytes)
{
	enum file_class cls = FILE_OTHER;
	unsigned char head[HEAD_BYTES];
	struct stat st;
	ssize_t n;
	int fd;

	if (f->path[0] != '/' || stat(f->path, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_ino != f->ino)
		return class_by_name(f);
	fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOATIME);
	if (fd < 0)
		fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return class_by_name(f);
	n = read_head(fd, head, sizeof(head));
	if (n > 0)
		cls = header_class(head, (size_t)n, ret_header_bytes);
	close(fd);
	return cls;
}

static void classify(struct ingest *in, char *const *resolved, size_t index)
{
	struct file *f = &in->t->files.v[index];
	struct file_info *info = &in->files.v[index];
	enum file_class by_name;

	if (!f->path)
		return;
	if (in_cache(in, resolved, f->path) || (f->target && in_cache(in, resolved, f->target))) {
		f->cls = FILE_COMPILE_CACHE;
		return;
	}
	if (str_starts(f->path, "/proc/") || str_starts(f->path, "/sys/") ||
	    str_starts(f->path, "/dev/"))
		return;
	by_name = class_by_name(f);
	if (f->cls == FILE_WEIGHTS || (f->cls == FILE_OTHER && by_name == FILE_WEIGHTS) ||
	    (f->cls == FILE_OTHER && by_name == FILE_OTHER && f->size_bytes >= PAGE_BYTES)) {
		enum file_class cls = class_by_content(f, &info->header_bytes);

		/* What the command named stays weights, whatever its format. */
		if (f->cls == FILE_OTHER)
			f->cls = cls == FILE_OTHER && by_name == FILE_WEIGHTS &&
						 f->size_bytes >= SMALL_BYTES
					 ? by_name
					 : cls;
	} else if (f->cls == FILE_OTHER) {
		f->cls = by_name;
	}
}

/* Depth first through a hub's snapshots for the link that leads to `blob`. */
static bool find_link(struct str *folder, dev_t dev, ino_t ino, int depth)
{
	DIR *dir = opendir(folder->s);
	size_t n = folder->n;
	bool found = false;
	const struct dirent *e;

	while (dir && !found && (e = readdir(dir))) {
		struct stat link, st;

		if (e->d_name[0] == '.')
			continue;
		folder->n = n;
		str_addf(folder, "/%s", e->d_name);
		if (lstat(folder->s, &link) != 0)
			continue;
		if (S_ISDIR(link.st_mode))
			found = depth > 0 && find_link(folder, dev, ino, depth - 1);
		else
			found = stat(folder->s, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
	}
	if (dir)
		closedir(dir);
	if (!found) {
		folder->n = n;
		folder->s[n] = '\0';
	}
	return found;
}

/* A hub keeps hash-named blobs and links with names. */
static void name_blob(struct trace *t, struct file *f)
{
	const char *blobs = f->path ? strstr(f->path, "/blobs/") : NULL;
	struct str folder = {0};
	struct stat st;

	if (!blobs || stat(f->path, &st) != 0 || st.st_ino != f->ino)
		return;
	str_addn(&folder, f->path, (size_t)(blobs - f->path));
	str_add(&folder, "/snapshots");
	if (find_link(&folder, st.st_dev, st.st_ino, 4)) {
		f->target = f->path;
		f->path = trace_str(t, folder.s);
	}
	str_free(&folder);
}

/* Weights that the command named: their class, and the name that the user gave. */
static void mark_named(struct ingest *in)
{
	struct trace *t = in->t;
	char *const *first = in->opt->weight_files, *const *w = first;

	if (!first)
		return;
	while (*w)
		w++;
	/* From the last on: of several names of one file the first stays. */
	while (w > first) {
		char absolute[PATH_MAX];
		struct stat st;
		int32_t index;
		struct file *f;

		w--;
		if (stat(*w, &st) != 0)
			continue;
		index = find_in(in->by_inode, wire_dev(st.st_dev), st.st_ino);
		for (size_t i = 0; index == NO_INDEX && i < t->files.n; i++)
			if (t->files.v[i].ino == st.st_ino && t->files.v[i].path &&
			    realpath(*w, absolute) && strcmp(t->files.v[i].path, absolute) == 0)
				index = (int32_t)i;
		if (index == NO_INDEX)
			continue;
		f = &t->files.v[index];
		f->cls = FILE_WEIGHTS;
		if ((*w)[0] == '/' && f->path && strcmp(f->path, *w) != 0) {
			f->target = f->target ? f->target : f->path;
			f->path = trace_str(t, *w);
		}
	}
}

void files_classify(struct ingest *in)
{
	char *const *given = in->opt->cache_folders;
	VEC(char *) resolved = {0};

	for (size_t i = 0; given && given[i]; i++)
		vec_push(&resolved, realpath(given[i], NULL));
	while (in->files.n < in->t->files.n)
		vec_add(&in->files);
	mark_named(in);
	for (size_t i = 0; i < in->t->files.n; i++) {
		classify(in, resolved.v, i);
		if (in->t->files.v[i].cls == FILE_WEIGHTS)
			name_blob(in->t, &in->t->files.v[i]);
	}
	for (size_t i = 0; i < resolved.n; i++)
		free(resolved.v[i]);
	vec_free(&resolved);
}
