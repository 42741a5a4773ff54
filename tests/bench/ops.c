/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel does for a start, one at a time: ops FILE HOLE; one line each, NAME NS, the least of some rounds, in
 * CPU time. Run bare and under coldprof; the difference is what the probes add. Both have at least 16 MiB, HOLE no blocks.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	 15
#define BYTES	 (16u << 20)
#define PAGE	 4096u
#define STEP	 (16 * PAGE) /* one fault maps so much of a file */
#define SWITCHES 4000

static volatile unsigned char sink;
static int file, hole;
static unsigned char *map;
static atomic_int turn; /* whose it is: 0 or 1; 2 the end */

static uint64_t spent_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static unsigned file_faults(void)
{
	madvise(map, BYTES, MADV_DONTNEED);
	for (unsigned at = 0; at < BYTES; at += STEP)
		sink = map[at];
	return BYTES / STEP;
}

/* Of the page of zeros: to clear one of its own takes longer than all else, and never the same time. */
static unsigned memory_faults(void)
{
	unsigned char *m = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(m, BYTES, MADV_NOHUGEPAGE);
	for (unsigned at = 0; at < BYTES; at += PAGE)
		sink = m[at];
	munmap(m, BYTES);
	return BYTES / PAGE;
}

/* Far from all others, so that it becomes part of none. */
static unsigned maps(int flags, int fd)
{
	void *far = (void *)(uintptr_t)0x100000000000;

	for (int i = 0; i < 4000; i++) {
		if (mmap(far, 64 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED | flags, fd, 0) != far)
			return 1;
		munmap(far, 64 * PAGE);
	}
	return 4000;
}

static unsigned memory_maps(void)
{
	return maps(MAP_ANONYMOUS, -1);
}

static unsigned file_maps(void)
{
	return maps(0, file);
}

/* Pages that are not in the page cache, of a file without blocks: nothing is fetched for them. */
static unsigned fills(void)
{
	char c;

	posix_fadvise(hole, 0, 0, POSIX_FADV_DONTNEED);
	for (unsigned at = 0; at < BYTES; at += STEP)
		if (pread(hole, &c, 1, at) != 1)
			return 1;
	return BYTES / STEP;
}

static unsigned reads(void)
{
	char c;

	for (int i = 0; i < 20000; i++)
		if (pread(file, &c, 1, i) != 1)
			return 1;
	return 20000;
}

static unsigned other_calls(void)
{
	for (int i = 0; i < 50000; i++)
		syscall(SYS_getppid);
	return 50000;
}

static void pass_on(int to)
{
	atomic_store(&turn, to);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void await(int while_it_is)
{
	while (atomic_load(&turn) == while_it_is)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, while_it_is, NULL, NULL, 0);
}

static void *answer(void *arg)
{
	for (;;) {
		await(0);
		if (atomic_load(&turn) == 2)
			return arg;
		pass_on(0);
	}
}

/* Two threads on one processor that wake each other; a turn is two switches. */
static unsigned switches(void)
{
	for (int i = 0; i < SWITCHES / 2; i++) {
		pass_on(1);
		await(1);
	}
	return SWITCHES;
}

static void measure(const char *name, unsigned (*op)(void))
{
	double least = 1e18;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t began = spent_ns();
		unsigned n = op();
		double each = (double)(spent_ns() - began) / n;

		if (each < least)
			least = each;
	}
	printf("%s %.1f\n", name, least);
}

int main(int argc, char **argv)
{
	cpu_set_t one;
	pthread_t th;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	file = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	hole = argc == 3 ? open(argv[2], O_RDONLY) : -1;
	posix_fadvise(hole, 0, 0, POSIX_FADV_RANDOM);
	map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, file, 0);
	if (hole < 0 || map == MAP_FAILED || pthread_create(&th, NULL, answer, NULL))
		return 1;
	measure("file_fault", file_faults);
	measure("memory_fault", memory_faults);
	measure("memory_map", memory_maps);
	measure("file_map", file_maps);
	measure("fill", fills);
	measure("read", reads);
	measure("other_call", other_calls);
	measure("switch", switches);
	pass_on(2);
	pthread_join(th, NULL);
	return 0;
}
