/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command costs, beside others, by turns: pair ROUNDS COMMAND...
 * Each COMMAND is a line for sh. One line each: medians over the rounds of
 *	wall ns, CPU ns, page faults, context switches, read and write calls
 * of all of its processes that were waited for.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WALL, CPU, FAULTS, SWITCHES, CALLS, FIGURES };

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t time_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

/* Of this process and of the children that it has waited for. */
static uint64_t calls(void)
{
	unsigned long long reads = 0, writes = 0;
	FILE *f = fopen("/proc/self/io", "re");

	if (!f || fscanf(f, "rchar: %*u wchar: %*u syscr: %llu syscw: %llu", &reads, &writes) != 2)
		fprintf(stderr, "pair: /proc/self/io tells nothing\n");
	if (f)
		fclose(f);
	return reads + writes;
}

static int run(const char *command, uint64_t *ret)
{
	uint64_t began_ns = now_ns(), before = calls();
	pid_t pid = fork();
	struct rusage used;
	int status, null;

	if (pid == 0) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(null, 0);
		dup2(null, 1);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) < 0 || status) {
		fprintf(stderr, "pair: did not end well: %s\n", command);
		return -1;
	}
	ret[WALL] = now_ns() - began_ns;
	ret[CPU] = time_ns(&used.ru_utime) + time_ns(&used.ru_stime);
	ret[FAULTS] = (uint64_t)(used.ru_minflt + used.ru_majflt);
	ret[SWITCHES] = (uint64_t)(used.ru_nvcsw + used.ru_nivcsw);
	ret[CALLS] = calls() - before;
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[1]) : 0, n = argc - 2;
	uint64_t *v, one[FIGURES];

	if (rounds < 1)
		return 2;
	v = calloc((size_t)n * FIGURES * (size_t)rounds, sizeof(*v));
	if (!v)
		return 1;
	for (int round = 0; round < rounds; round++)
		for (int k = 0; k < n; k++) {
			if (run(argv[2 + k], one) < 0)
				return 1;
			for (int i = 0; i < FIGURES; i++)
				v[(k * FIGURES + i) * rounds + round] = one[i];
		}
	for (int k = 0; k < n; k++)
		for (int i = 0; i < FIGURES; i++) {
			uint64_t *of = v + (size_t)(k * FIGURES + i) * (size_t)rounds;

			qsort(of, (size_t)rounds, sizeof(*of), by_size);
			printf("%lu%c", (unsigned long)of[rounds / 2],
			       i + 1 < FIGURES ? ' ' : '\n');
		}
	free(v);
	return 0;
}
