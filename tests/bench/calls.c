/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What single calls cost, in nanoseconds, one line each: NAME NS. Run bare and under the shim; the
 * difference is the shim's. The driver is one that does nothing (null-driver.c). Each figure is the
 * least of several rounds, in CPU time.
 *
 *	calls DRIVER
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 9

static uint64_t spent_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Time `n` times `call`, ROUNDS times. */
#define MEASURE(name, n, call)                                                                     \
	do {                                                                                       \
		double least = 1e18;                                                               \
                                                                                                   \
		for (int round = 0; round < ROUNDS; round++) {                                     \
			uint64_t start = spent_ns();                                               \
			double each;                                                               \
                                                                                                   \
			for (int i = 0; i < (n); i++)                                              \
				call;                                                              \
			each = (double)(spent_ns() - start) / (n);                                 \
			if (each < least)                                                          \
				least = each;                                                      \
		}                                                                                  \
		printf("%s %.2f\n", name, least);                                                  \
	} while (0)

int main(int argc, char **argv)
{
	int (*alloc)(uint64_t *, size_t),
		(*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			  unsigned, void *, void **, void **);
	void *driver = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
	static char buf[16];
	struct timespec ts;
	uint64_t at;

	if (!driver)
		return 2;
	*(void **)&alloc = dlsym(driver, "cuMemAlloc_v2");
	*(void **)&launch = dlsym(driver, "cuLaunchKernel");
	MEASURE("clock", 1000000, clock_gettime(CLOCK_MONOTONIC, &ts));
	/* ROUNDS times this many records fit the memory. */
	MEASURE("record", 10000, alloc(&at, 4096));
	MEASURE("launch", 1000000, launch(&zero, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	MEASURE("dlsym", 200000, dlsym(driver, "unknown_to_us"));
	MEASURE("read", 300000, (void)!read(zero, buf, 1));
	MEASURE("write", 300000, (void)!write(null, buf, 1));
	return 0;
}
