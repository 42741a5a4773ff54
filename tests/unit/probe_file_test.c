/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults, reads, writes and populated mappings of one file, against a guest that knows what it did.
 */
#include <libgen.h>
#include <sched.h>
#include <sys/mount.h>

#include "tests/unit/probe_run.h"

/* A guest of this program that is built with the address sanitizer: its mlock does nothing, its walks touch more. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

#define FILE_BYTES ((size_t)64 << 20)
#define PAGES	   (FILE_BYTES / 4096)
#define READ_BYTES ((size_t)13 << 20)
#define READ_SIZE  ((size_t)4096 * 13)
#define NEARLY	   (FILE_BYTES / 100)
/* Of eight that tier 0 sees some go back where there is no order. */
#define LEAST_FAULTS (FAULTS_SAMPLED * 8)

enum how { IN_ORDER, AT_RANDOM, HUGE_PAGES, PLAIN, DIRECT, POPULATE, LOCKED, ADVISED, WRITTEN };

struct truth {
	char path[4096];
	enum how how;
	uint64_t start_ns, end_ns;
	uint64_t minor, major, bytes, ops;
	uint64_t huge;	     /* pages that the machine mapped meanwhile */
	uint64_t delay_ns;   /* ready to run, without a processor */
	uint64_t read_bytes; /* from storage, by the kernel's count; or UNKNOWN */
	int error;
	volatile uint64_t sum;
};

static void walk(struct truth *truth, const char *at)
{
	uint64_t page = 1;

	for (size_t i = 0; i < PAGES; i++) {
		/* 12289 is prime: every page once, far from the one before. */
		size_t n = truth->how == AT_RANDOM ? page : i;

		truth->sum += (unsigned char)at[n * 4096];
		page = (page + 12289) % PAGES;
	}
	truth->ops = PAGES;
}

static void map_guest(struct truth *truth, int fd)
{
	int flags = MAP_PRIVATE | (truth->how == POPULATE ? MAP_POPULATE : 0);
	char *at = mmap(NULL, FILE_BYTES, PROT_READ, flags, fd, 0);

	if (at == MAP_FAILED) {
		truth->error = errno;
		return;
	}
	if (truth->how == AT_RANDOM)
		madvise(at, FILE_BYTES, MADV_RANDOM);
	if (truth->how == IN_ORDER || truth->how == AT_RANDOM || truth->how == HUGE_PAGES)
		walk(truth, at);
	if (truth->how == LOCKED && syscall(SYS_mlock, at, FILE_BYTES) < 0)
		truth->error = errno;
	if (truth->how == ADVISED && madvise(at, FILE_BYTES, 22 /* MADV_POPULATE_READ */) < 0)
		truth->error = errno;
}

static void read_guest(struct truth *truth, int fd)
{
	char *buffer = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	size_t size = truth->how == DIRECT ? 1 << 20 : READ_SIZE;

	while (truth->bytes + size <= READ_BYTES) {
		ssize_t n;

		if (truth->how == WRITTEN)
			n = write(fd, buffer, size);
		else if (truth->ops % 2)
			n = pread(fd, buffer, size, (off_t)truth->bytes);
		else
			n = lseek(fd, (off_t)truth->bytes, SEEK_SET) < 0 ? -1
									 : read(fd, buffer, size);
		if (n <= 0) {
			truth->error = errno;
			return;
		}
		truth->bytes += (uint64_t)n;
		truth->ops++;
	}
}

static uint64_t delay_ns(void)
{
	unsigned long long delay = 0;
	char line[128];
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);

	if (n > 0) {
		line[n] = '\0';
		sscanf(line, "%*u %llu", &delay);
	}
	if (fd >= 0)
		close(fd);
	return delay;
}

/* What storage gave this thread, by the kernel's count; UNKNOWN where it does not tell. */
static uint64_t read_bytes(void)
{
	FILE *f = fopen("/proc/thread-self/io", "re");
	unsigned long long n = UNKNOWN;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "read_bytes: %llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

/* Huge pages of files that the machine ever mapped. */
static uint64_t huge_pages(void)
{
	FILE *f = fopen("/proc/vmstat", "re");
	unsigned long long n = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "thp_file_mapped %llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static void guest(void *arg)
{
	struct truth *truth = arg;
	int flags = truth->how == WRITTEN  ? O_RDWR
		    : truth->how == DIRECT ? O_RDONLY | O_DIRECT
					   : O_RDONLY;
	int fd = open(truth->path, flags | O_CLOEXEC);
	struct rusage before, after;
	uint64_t read_before;

	truth->huge = huge_pages();
	read_before = read_bytes();
	getrusage(RUSAGE_SELF, &before);
	truth->delay_ns = delay_ns();
	truth->start_ns = clock_now_ns();
	if (fd < 0)
		truth->error = errno;
	else if (truth->how == PLAIN || truth->how == DIRECT || truth->how == WRITTEN)
		read_guest(truth, fd);
	else
		map_guest(truth, fd);
	truth->end_ns = clock_now_ns();
	truth->delay_ns = delay_ns() - truth->delay_ns;
	getrusage(RUSAGE_SELF, &after);
	truth->huge = huge_pages() - truth->huge;
	truth->read_bytes = read_before == UNKNOWN ? UNKNOWN : read_bytes() - read_before;
	truth->minor = (uint64_t)(after.ru_minflt - before.ru_minflt);
	truth->major = (uint64_t)(after.ru_majflt - before.ru_majflt);
}

static struct truth *truth;
static bool by_address; /* faults as kernels before 6.12 tell them */

static void run(struct observed *o, int tier, enum how how)
{
	char path[sizeof(truth->path)];

	memcpy(path, truth->path, sizeof(path));
	memset(truth, 0, sizeof(*truth));
	memcpy(truth->path, path, sizeof(path));
	truth->how = how;
	observe(o, &(struct probe_options){.max_tier = tier, .faults_by_address = by_address},
		guest, truth);
}

static void show(const struct sums *s)
{
	diag("truth: wall %.3f ms, %llu ops, %llu bytes, %llu+%llu faults; seen: %llu ops, %llu "
	     "bytes, "
	     "%llu from storage, %.3f ms busy, %llu pieces, longest %.3f ms, modes %u",
	     (double)(truth->end_ns - truth->start_ns) / 1e6, (unsigned long long)truth->ops,
	     (unsigned long long)truth->bytes, (unsigned long long)truth->minor,
	     (unsigned long long)truth->major, (unsigned long long)s->ops,
	     (unsigned long long)s->bytes, (unsigned long long)s->storage_bytes,
	     (double)s->busy_ns / 1e6, (unsigned long long)s->pieces, (double)s->longest_ns / 1e6,
	     s->modes);
}

static void cold(void)
{
	int fd = open(truth->path, O_RDONLY | O_CLOEXEC);

	fdatasync(fd); /* what is to be written yet stays */
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

static void cached(void)
{
	static char block[1 << 16];
	int fd = open(truth->path, O_RDONLY | O_CLOEXEC);

	while (read(fd, block, sizeof(block)) > 0)
		;
	close(fd);
}

static void test_walk(int tier, enum how how, void (*prepare)(void))
{
	uint64_t before, faults, wall;
	struct observed o;
	struct sums s;

	prepare();
	before = resident(truth->path);
	run(&o, tier, how);
	s = sum_file(&o.t, truth->path, IO_MAPPED | IO_MAPPED_RANDOM);
	show(&s);
	faults = truth->minor + truth->major;
	wall = truth->end_ns - truth->start_ns;
	if (!(o.t.saw & SAW_FAULTS)) {
		skip(4, "faults are not seen at tier %d here", tier);
		goto out;
	}
	/*
	 * All that a guest between two getrusage calls may fault besides: its stack, its libraries.
	 */
	if (SANITIZED)
		skip(1, "a sanitizer's shadow memory faults beside the file");
	else
		ok(s.ops <= faults + 16 && s.ops + 64 >= faults,
		   "faults of a %s walk, %s (tier %d)", how == AT_RANDOM ? "random" : "forward",
		   prepare == cold ? "cold" : "cached", tier);
	if (how == AT_RANDOM && !(o.t.saw & SAW_WAITS) && faults < LEAST_FAULTS)
		skip(1, "of %llu faults too few are seen to tell an order",
		     (unsigned long long)faults);
	else if (SANITIZED && by_address && how == AT_RANDOM && prepare == cached)
		skip(1, "a sanitizer's shadow memory faults beside the file: by address both are "
			"one region");
	else
		ok(how == AT_RANDOM ? s.modes & IO_MAPPED_RANDOM : s.modes == IO_MAPPED,
		   "its order");
	/* All that was not there; and what was taken meanwhile, which the kernel tells. */
	if (o.t.saw & SAW_FILLS)
		ok(s.storage_bytes + before + NEARLY >= FILE_BYTES &&
			   s.storage_bytes <= (truth->read_bytes == UNKNOWN ? FILE_BYTES - before
									    : truth->read_bytes) +
						      NEARLY,
		   "bytes from storage are the file's");
	else
		skip(1, "page-cache fills are not seen");
	if (!(o.t.saw & SAW_WAITS))
		skip(1, "fault waits are not seen");
	else if (how == AT_RANDOM && before < FILE_BYTES / 100 && truth->major > PAGES / 2)
		/* On a busy machine part of the walk is neither: it waits for a processor. */
		ok(s.busy_ns >= (wall - truth->delay_ns) / 10 * 9 && s.busy_ns <= wall,
		   "nine tenths of the walk are fault wait");
	else
		ok((s.busy_ns > 0 || prepare != cold) && s.busy_ns <= wall,
		   "fault wait lies within the walk");
out:
	trace_done(&o.t);
}

/* Every so many bytes of the file were asked for, by those that have an offset. */
static bool covered(const struct trace *t, const char *path, uint64_t step)
{
	bool seen[FILE_BYTES >> 20] = {false};
	uint64_t n = FILE_BYTES / step, hits = 0;

	vec_for_each (a, &t->accesses) {
		if (a->file < 0 || !t->files.v[a->file].path || a->min_offset == UNKNOWN ||
		    strcmp(t->files.v[a->file].path, path) != 0)
			continue;
		for (uint64_t i = a->min_offset / step; i <= a->max_offset / step && i < n; i++)
			seen[i] = true;
	}
	for (uint64_t i = 0; i < n; i++)
		hits += seen[i];
	return hits == n;
}

/* A file that lies in the page cache in pieces of 2 MiB, which are mapped by one fault each. */
static void test_huge(void)
{
	size_t size = (size_t)4 << 20;
	char *block = calloc(1, size);
	int fd = open(truth->path, O_RDWR | O_TRUNC | O_CLOEXEC);
	uint64_t faults;
	struct observed o;
	struct sums s;

	for (size_t done = 0; done < FILE_BYTES; done += size)
		if (write(fd, block, size) != (ssize_t)size)
			bail("cannot write %s: %s", truth->path, strerror(errno));
	close(fd);
	free(block);
	run(&o, 1, HUGE_PAGES);
	s = sum_file(&o.t, truth->path, IO_MAPPED | IO_MAPPED_RANDOM);
	show(&s);
	diag("%llu huge pages", (unsigned long long)truth->huge);
	faults = truth->minor + truth->major;
	if (!(o.t.saw & SAW_FAULTS) || !truth->huge || SANITIZED) {
		skip(2, "no huge pages of files here, or no faults are seen");
	} else {
		ok(s.ops <= faults + 16 && s.ops + 64 >= faults && s.ops + 16 >= truth->huge,
		   "faults that map huge pages");
		if (o.tier)
			ok(covered(&o.t, truth->path, (uint64_t)4 << 20), "where they are");
		else
			skip(1, "tier 0 sees one of some faults");
	}
	trace_done(&o.t);
}

/* A mount of an overlay over two folders below `dir`; the file moves into the first. */
static int overlay(const char *dir, const char *over)
{
	char lower[2048], empty[2048], file[4096], options[8192];

	snprintf(lower, sizeof(lower), "%s/lower", dir);
	snprintf(empty, sizeof(empty), "%s/empty", dir);
	snprintf(file, sizeof(file), "%s/file", lower);
	snprintf(options, sizeof(options), "lowerdir=%s:%s", lower, empty);
	if (mkdir(lower, 0755) < 0 || mkdir(empty, 0755) < 0 || mkdir(over, 0755) < 0 ||
	    rename(truth->path, file) < 0)
		bail("no folders for an overlay: %s", strerror(errno));
	return unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
		       ? -1
		       : mount("overlay", over, "overlay", 0, options);
}

/* Faults are of the file below; the name is that of the file above. */
static void test_overlay(const char *dir)
{
	char over[2048];
	uint64_t faults;
	struct observed o;
	struct sums s;

	snprintf(over, sizeof(over), "%s/over", dir);
	if (overlay(dir, over) < 0) {
		skip(1, "no overlay can be mounted: %s", strerror(errno));
		return;
	}
	snprintf(truth->path, sizeof(truth->path), "%s/file", over);
	run(&o, 1, IN_ORDER);
	s = sum_file(&o.t, truth->path, IO_MAPPED | IO_MAPPED_RANDOM);
	show(&s);
	faults = truth->minor + truth->major;
	if (!(o.t.saw & SAW_FAULTS) || SANITIZED)
		skip(1, "faults are not seen");
	else
		ok(s.ops <= faults + 16 && s.ops + 64 >= faults, "faults of a file on an overlay");
	trace_done(&o.t);
	umount2(over, MNT_DETACH);
}

static void test_read(enum how how, const char *name)
{
	unsigned mode = how == DIRECT ? IO_DIRECT : how == WRITTEN ? IO_WRITE : IO_READ;
	uint64_t before;
	struct observed o;
	struct sums s;

	cold();
	before = resident(truth->path);
	run(&o, 1, how);
	s = sum_file(&o.t, truth->path, mode);
	show(&s);
	if (truth->error || !(o.t.saw & SAW_READS)) {
		skip(4,
		     truth->error ? "%s: the file system refuses" : "%s: reads are not seen here",
		     name);
		goto out;
	}
	is_int((int64_t)s.ops, (int64_t)truth->ops, "%s: calls", name);
	is_int((int64_t)s.bytes, (int64_t)truth->bytes, "%s: bytes", name);
	if (how == DIRECT)
		is_int((int64_t)s.storage_bytes, (int64_t)truth->bytes, "%s: all from storage",
		       name);
	else if (how == WRITTEN)
		is_int((int64_t)s.storage_bytes, 0, "%s: nothing from storage", name);
	else
		ok(s.storage_bytes + 2 * (1 << 20) + before >= truth->bytes &&
			   s.storage_bytes <= FILE_BYTES,
		   "%s: from storage (with read-ahead)", name);
	ok(s.busy_ns && s.busy_ns <= truth->end_ns - truth->start_ns, "%s: time lies within", name);
out:
	trace_done(&o.t);
}

static void test_populate(enum how how, const char *name)
{
	uint64_t before, busy;
	struct observed o;
	struct sums s;

	cold();
	before = resident(truth->path);
	run(&o, 1, how);
	s = sum_file(&o.t, truth->path, IO_POPULATE);
	show(&s);
	busy = truth->end_ns - truth->start_ns;
	if (truth->error || !(o.t.saw & SAW_READS)) {
		skip(3, "%s: not to be had here", name);
	} else {
		is_int((int64_t)s.ops, 1, "%s is one operation", name);
		ok(s.busy_ns <= busy && s.busy_ns > busy / 2, "%s: its interval", name);
		ok(within(s.storage_bytes + before, FILE_BYTES, 0.02) && s.bytes == FILE_BYTES,
		   "%s: its bytes", name);
	}
	trace_done(&o.t);
}

int main(void)
{
	char dir[] = "probe-file-XXXXXX", here[2048], command[2100];

	truth = shared(sizeof(*truth));
	/* In the build folder: /tmp may be a tmpfs, which has no storage. */
	if (!mkdtemp(dir) || !getcwd(here, sizeof(here)))
		bail("mkdtemp: %s", strerror(errno));
	snprintf(truth->path, sizeof(truth->path), "%s/%s/file", here, dir);
	make_file(truth->path, FILE_BYTES);
	for (int way = 0; way < 2; way++) {
		by_address = way;
		diag(by_address ? "faults by address"
				: "faults by file, where the kernel tells it");
		test_walk(1, IN_ORDER, cold);
		test_walk(1, AT_RANDOM, cold);
		test_walk(1, IN_ORDER, cached);
		test_walk(1, AT_RANDOM, cached);
		test_huge();
		test_populate(POPULATE, "MAP_POPULATE");
		test_populate(LOCKED, "mlock");
		test_populate(ADVISED, "MADV_POPULATE_READ");
	}
	by_address = false;
	test_walk(0, IN_ORDER, cold);
	test_walk(0, AT_RANDOM, cold);
	test_walk(0, IN_ORDER, cached);
	test_walk(0, AT_RANDOM, cached);
	test_read(PLAIN, "read");
	test_read(DIRECT, "direct read");
	test_read(WRITTEN, "write");
	snprintf(here + strlen(here), sizeof(here) - strlen(here), "/%s", dir);
	test_overlay(here);
	snprintf(command, sizeof(command), "rm -rf '%s'", here);
	if (system(command) != 0)
		diag("cannot remove %s", here);
	return done_testing();
}
