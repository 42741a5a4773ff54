/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How deep hooked calls go into the stack of their thread: depth FILE OUT. Each call is made by a
 * thread of its own whose stack was painted; OUT gets a line each: its word and the bytes used.
 * FILE exists and may not be executed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

#define STACK_BYTES ((size_t)256 << 10)
#define PAINT	    0xa5

static char *path;
static char one[] = "one", missing[] = "no-such-program-anywhere", empty[] = "";
static char *argv_of[] = {one, NULL}, *env_of[3];
static char bulk[65536];

static void do_nothing(void)
{
}

static void do_read(void)
{
	int fd = open(path, O_RDONLY);

	if (read(fd, bulk, sizeof(bulk)) < 0 || pread(fd, bulk, sizeof(bulk), 0) < 0)
		abort();
	close(fd);
}

static void do_write(void)
{
	static const char text[] = "a line\nand another\n";

	if (write(1, text, sizeof(text) - 1) < 0)
		abort();
}

static void do_map(void)
{
	int fd = open(path, O_RDONLY);
	void *p = mmap(NULL, (size_t)4 << 20, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);

	madvise(p, 4096, MADV_POPULATE_READ);
	munmap(p, (size_t)4 << 20);
	close(fd);
}

static void do_execve(void)
{
	execve(path, argv_of, env_of);
}

static void do_execvpe(void)
{
	execvpe(missing, argv_of, env_of);
}

static void do_execl(void)
{
	execl(path, one, one, one, NULL);
}

static void do_spawn(void)
{
	pid_t pid;

	if (!posix_spawnp(&pid, missing, NULL, NULL, argv_of, env_of) ||
	    !posix_spawn(&pid, path, NULL, NULL, argv_of, env_of))
		abort();
}

/* It cannot: the limit is that of a user, which this thread alone becomes. */
static void do_lock(void)
{
	struct rlimit few = {65536, 65536};

	setrlimit(RLIMIT_MEMLOCK, &few);
	syscall(SYS_setresuid, 65534, 65534, 65534);
	mlockall(MCL_CURRENT);
}

static const struct call {
	const char *word;
	void (*fn)(void);
} calls[] = {
	{"nothing", do_nothing}, {"read", do_read},	{"write", do_write},
	{"map", do_map},	 {"execve", do_execve}, {"execvpe", do_execvpe},
	{"execl", do_execl},	 {"spawn", do_spawn},	{"lock", do_lock},
};

static void *run(void *arg)
{
	((const struct call *)arg)->fn();
	return NULL;
}

static size_t depth(const struct call *c)
{
	unsigned char *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	size_t clean = 0;
	pthread_t id;

	memset(stack, PAINT, STACK_BYTES);
	if (pthread_attr_init(&attr) || pthread_attr_setstack(&attr, stack, STACK_BYTES) ||
	    pthread_create(&id, &attr, run, (void *)(uintptr_t)c) || pthread_join(id, NULL))
		abort();
	while (stack[clean] == PAINT)
		clean++;
	munmap(stack, STACK_BYTES);
	return STACK_BYTES - clean;
}

int main(int argc, char **argv)
{
	static char preload[8192];
	const char *had = getenv("LD_PRELOAD");
	FILE *out = argc == 3 ? fopen(argv[2], "w") : NULL;

	if (!out)
		return 2;
	path = argv[1];
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", had ? had : "");
	env_of[0] = had ? preload : empty;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		fprintf(out, "%s %zu\n", calls[i].word, depth(&calls[i]));
	return fclose(out) != 0;
}
