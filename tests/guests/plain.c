/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of another libc, for shim-exec.sh: what it does needs each of libc's functions that the
 * shim stands before. Prints what came of it, the same with and without the shim.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int count(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size;
	++*(int *)arg;
	return 0;
}

static void *work(void *arg)
{
	static _Thread_local char buf[65536];
	int fd = open(arg, O_RDONLY);
	ssize_t n = read(fd, buf, sizeof(buf)), m = pread(fd, buf, sizeof(buf), 0);

	close(fd);
	return (void *)(n == m && n > 0 ? n : -1);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int objects = 0, status = -1;
	void *got, *at;

	if (argc != 2)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	dl_iterate_phdr(count, &objects);
	printf("objects %d\n", objects > 0);
	printf("dlsym %d, of nothing %d\n", dlsym(RTLD_DEFAULT, "printf") == (void *)printf,
	       dlsym(RTLD_DEFAULT, "cuInit") == NULL);
	if (pthread_create(&thread, NULL, work, argv[1]))
		return 1;
	pthread_join(thread, &got);
	printf("read %ld\n", (long)got);
	errno = 0;
	printf("bad read %zd", read(-1, &thread, 1));
	printf(" %s\n", strerror(errno));
	at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("mmap %d, madvise %d, yield %d\n", at != MAP_FAILED, madvise(at, 4096, MADV_NORMAL),
	       sched_yield());
	if (fork() == 0)
		_exit(7);
	wait(&status);
	printf("child %d\n", WEXITSTATUS(status));
	return 42;
}
