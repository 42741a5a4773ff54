/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The starting state in words, from what was measured: what of the weights, and of the other files,
 * was in the page cache before, held against what came from storage; and whether the compile caches
 * held anything.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "ingest/inside.h"

/*
 * Of the bytes: at most COLD resident is cold, at least
 * WARM is warm (a machine drops a few pages by itself).
 */
#define COLD_PERCENT 1
#define WARM_PERCENT 90
#define SCAN_MAX     20000
#define SCAN_DEPTH   8

struct amounts {
	uint64_t size, resident, unknown_size; /* resident: of files that are known */
	uint64_t touched, storage; /* what the start used; storage UNKNOWN where not seen */
};

static void add_amount(const struct trace *t, struct amounts *a, int32_t file, uint64_t touched,
		       uint64_t storage)
{
	const struct file *f = &t->files.v[file];

	a->size += f->size_bytes;
	if (f->resident_before_bytes == UNKNOWN)
		a->unknown_size += f->size_bytes;
	else
		a->resident += f->resident_before_bytes;
	a->touched += touched < f->size_bytes ? touched : f->size_bytes;
	a->storage += storage;
}

static const char *word_of(const struct amounts *a, bool saw_fills)
{
	uint64_t known = a->size - a->unknown_size;

	if (!a->size)
		return "unknown";
	/*
	 * Residency counts where it is known for nearly all; what was then read must agree with it.
	 */
	if (a->unknown_size <= a->size / 10) {
		if (a->resident <= known / 100 * COLD_PERCENT)
			return saw_fills && a->storage < a->touched / 100 * WARM_PERCENT ? "mixed"
											 : "cold";
		if (a->resident >= known / 100 * WARM_PERCENT)
			return saw_fills && a->storage > a->size / 100 * (100 - WARM_PERCENT)
				       ? "mixed"
				       : "warm";
		return "mixed";
	}
	if (!saw_fills || !a->touched)
		return "unknown";
	if (a->storage <= a->touched / 100 * COLD_PERCENT)
		return "warm";
	return a->storage >= a->touched / 100 * (100 - COLD_PERCENT) ? "cold" : "mixed";
}

struct per_file {
	uint64_t touched, storage;
	bool used;
};

static void derive_files(struct trace *t)
{
	struct per_file *per = xcalloc(t->files.n, sizeof(*per));
	struct amounts weights = {0}, others = {0};
	bool saw_fills = t->saw & SAW_FILLS;

	vec_for_each (io, &t->io) {
		struct per_file *p = &per[io->file];

		p->used |= io->mode != IO_WRITE;
		if (io->mode & ~IO_WRITE)
			p->touched += io->asked_bytes +
				      (io->mapped_bytes == UNKNOWN ? 0 : io->mapped_bytes);
		if (io->storage_bytes != UNKNOWN)
			p->storage += io->storage_bytes;
		/* What was filled was touched, if nothing more is known. */
		if (!io->mode && io->storage_bytes != UNKNOWN)
			p->touched += io->storage_bytes;
	}
	for (size_t i = 0; i < t->files.n; i++) {
		const struct file *f = &t->files.v[i];

		if (!per[i].used || f->cls == FILE_COMPILE_CACHE)
			continue;
		add_amount(t, f->cls == FILE_WEIGHTS ? &weights : &others, (int32_t)i,
			   per[i].touched, per[i].storage);
	}
	t->run.state = trace_str(t, word_of(&weights, saw_fills));
	t->run.state_files = trace_str(t, word_of(&others, saw_fills));
	if (weights.size && !weights.unknown_size && !strcmp(t->run.state, "mixed") &&
	    weights.resident <= weights.size / 100 * COLD_PERCENT &&
	    weights.touched > weights.storage)
		trace_note(t, "ingest", "warning", weights.touched - weights.storage,
			   "bytes of weights that did not come from storage, although nothing of "
			   "them was "
			   "resident before");
	free(per);
}

struct scan {
	uint64_t start_wall_ns;
	int left;
	bool old, fresh; /* a file from before the start; one made or changed in it */
	bool failed;
};

static void scan_folder(int at, const char *name, int depth, struct scan *s)
{
	int fd = openat(at, name,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | (at == AT_FDCWD ? 0 : O_NOFOLLOW));
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!dir) {
		struct stat st;

		s->failed |= fstatat(at, name, &st, 0) == 0;
		return;
	}
	while ((e = readdir(dir)) && s->left-- > 0) {
		struct stat st;
		uint64_t changed;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth > 0)
			scan_folder(fd, e->d_name, depth - 1, s);
		if (!S_ISREG(st.st_mode) || !st.st_size)
			continue;
		changed = (uint64_t)st.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)st.st_mtim.tv_nsec;
		if (changed >= s->start_wall_ns)
			s->fresh = true;
		else
			s->old = true;
	}
	closedir(dir);
}

static bool accessed(const struct ingest *in, const char *folder)
{
	size_t n = strlen(folder);

	vec_for_each (io, &in->t->io) {
		const struct file *f = &in->t->files.v[io->file];

		if (f->cls == FILE_COMPILE_CACHE && f->path && strncmp(f->path, folder, n) == 0 &&
		    f->path[n] == '/')
			return true;
	}
	return false;
}

/* What one folder held before; without a look from then its files' ages tell. */
static int held_before(const struct ingest *in, size_t folder, const struct scan *s)
{
	if (in->opt->cache_held)
		return in->opt->cache_held[folder];
	return s->old ? 1 : s->failed ? -1 : 0;
}

/*
 * Folders that this start used decide; where it used none, all do, but only if the program is known
 * to have no others. Only whether they held something: whether it could be used shows in the compile
 * that did or did not follow.
 */
static void derive_caches(struct ingest *in)
{
	struct trace *t = in->t;
	uint64_t start = t->run.wall_anchor_ns + t->run.start_ns - t->run.mono_anchor_ns;
	bool used = false, known = true, filled = false;

	t->run.state_caches = trace_str(t, "unknown");
	if (!in->opt->cache_folders || !in->opt->cache_folders[0] || !t->run.wall_anchor_ns)
		return;
	for (size_t i = 0; in->opt->cache_folders[i]; i++) {
		const char *folder = in->opt->cache_folders[i];
		struct scan s = {.start_wall_ns = start, .left = SCAN_MAX};
		bool uses;
		int held;

		scan_folder(AT_FDCWD, folder, SCAN_DEPTH, &s);
		uses = s.fresh || accessed(in, folder);
		held = held_before(in, i, &s);
		if (uses && !used) { /* from now on these alone */
			used = known = true;
			filled = false;
		}
		if (uses != used)
			continue;
		filled |= held > 0;
		known &= held >= 0;
	}
	if (!used && !in->opt->caches_all)
		return;
	if (filled)
		t->run.state_caches = trace_str(t, "filled");
	else if (known)
		t->run.state_caches = trace_str(t, "empty");
}

void state_derive(struct ingest *in)
{
	derive_files(in->t);
	derive_caches(in);
}
