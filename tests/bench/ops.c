/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel does for a start, one at a time: ops FILE; one line each, NAME NS, the least of some rounds, in CPU
 * time. Run bare and under coldprof; the difference is what the probes add. FILE has at least 16 MiB.
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
static int file;
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

static unsigned memory_faults(void)
{
	unsigned char *m =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(m, BYTES, MADV_NOHUGEPAGE);
	for (unsigned at = 0; at < BYTES; at += PAGE)
		m[at] = 1;
	munmap(m, BYTES);
	return BYTES / PAGE;
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
	file = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, file, 0);
	if (map == MAP_FAILED || pthread_create(&th, NULL, answer, NULL))
		return 1;
	measure("file_fault", file_faults);
	measure("memory_fault", memory_faults);
	measure("read", reads);
	measure("other_call", other_calls);
	measure("switch", switches);
	pass_on(2);
	pthread_join(th, NULL);
	return 0;
}
