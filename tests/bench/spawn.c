/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The median CPU time of N starts of a program, kernel and user, by turns bare, with an empty
 * library preloaded, and in the environment as it is, in nanoseconds: spawn N LIBRARY COMMAND...
 * CPU time, because a start waits for other programs on a busy machine.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t spent_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

static uint64_t start(char **argv, char **envp)
{
	pid_t pid = vfork();
	struct rusage used;

	if (pid == 0) {
		execve(argv[0], argv, envp);
		_exit(127);
	}
	wait4(pid, NULL, 0, &used);
	return spent_ns(&used.ru_utime) + spent_ns(&used.ru_stime);
}

static uint64_t median(uint64_t *ns, int n)
{
	qsort(ns, (size_t)n, sizeof(*ns), by_size);
	return ns[n / 2];
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[1]) : 0;
	char preload[4096];
	char *nothing[] = {NULL}, *empty[] = {preload, NULL};
	char **const envs[] = {nothing, empty, environ};
	static const char *const names[] = {"bare", "empty", "shim"};
	uint64_t *ns[3];

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", n ? argv[2] : "");
	for (int k = 0; k < 3; k++)
		ns[k] = calloc((size_t)n + 1, sizeof(**ns));
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 3; k++)
			ns[k][i] = start(argv + 3, envs[k]);
	for (int k = 0; k < 3; k++)
		printf("%s spawn %lu\n", names[k], (unsigned long)median(ns[k], n));
	return 0;
}
