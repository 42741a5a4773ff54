/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What guests do that a preloaded library must survive, each a word on the command line with a
 * number and a file:
 *
 *	forks N FILE	fork N children one after the other; every 10th reads FILE
 *	bare N FILE	the same by clone(2) itself, which runs no handlers
 *	threads N FILE	N threads at once, each reads FILE whole, in 64 KiB pieces, by pread
 *	read N FILE	read FILE N times from its beginning
 *	endless N FILE	read FILE again and again until killed; N is not used
 *	lines N FILE	write N numbered lines to standard output, each by one write, then a writev of
 *			three parts
 *	map N FILE	map FILE N times; once more with MAP_POPULATE, mlock, MADV_POPULATE_READ
 *	yield N FILE	sched_yield N times
 *	vfork N FILE	vfork and exec true, N times
 *	closed N FILE	close every descriptor, then write "alive" to FILE
 *	errno N FILE	tell what failing and succeeding calls return and leave in errno
 *	cancel N FILE	cancel N threads that wait in read
 *	strict N FILE	enter strict seccomp, write, read FILE, exit with 7
 *	filter N FILE	the same under a filter that kills at any call but read, write and exit; N 1: by syscall(2)
 *	handed N FILE	under a filter that kills at calls of the shim that the loader does not make, exec echo;
 *			N 1: by syscall(2)
 *	lock N FILE	lock N MiB of address space at most, all of it
 *	locked N FILE	the same with 3 threads that wait in read, and as this user
 *	jump N FILE	leave read by a signal handler's longjmp, N times, then read FILE
 *
 * Prints what it did, the same with and without the shim.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

#define PIECE 65536

static const char *path;
static int number;

static size_t read_all(void)
{
	static __thread char buf[PIECE];
	int fd = open(path, O_RDONLY);
	size_t sum = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		sum += (size_t)n;
	close(fd);
	return sum;
}

static void child_work(int i)
{
	if (i % 10 == 0)
		_exit(read_all() > 0 ? 7 : 1);
	_exit(7);
}

static void fork_children(int bare)
{
	int good = 0, status;

	for (int i = 0; i < number; i++) {
		pid_t pid = bare ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();

		if (pid == 0)
			child_work(i);
		if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		    WEXITSTATUS(status) == 7)
			good++;
	}
	printf("%d children, %d well\n", number, good);
}

static void *thread_work(void *arg)
{
	static __thread char buf[PIECE];
	int fd = open(path, O_RDONLY);
	size_t *sum = arg;
	ssize_t n;

	for (off_t at = 0; (n = pread(fd, buf, sizeof(buf), at)) > 0; at += n)
		*sum += (size_t)n;
	close(fd);
	return NULL;
}

static void threads(void)
{
	pthread_t *id = calloc((size_t)number, sizeof(*id));
	size_t *sum = calloc((size_t)number, sizeof(*sum)), total = 0;

	for (int i = 0; i < number; i++)
		if (pthread_create(&id[i], NULL, thread_work, &sum[i]))
			abort();
	for (int i = 0; i < number; i++) {
		pthread_join(id[i], NULL);
		total += sum[i];
	}
	printf("%d threads, %zu bytes\n", number, total);
}

static void lines(void)
{
	char one[] = "one\nt", two[] = "w", three[] = "o\rthree";
	struct iovec parts[3] = {{one, 5}, {two, 1}, {three, 7}};
	char text[64];

	for (int i = 0; i < number; i++) {
		int n = snprintf(text, sizeof(text), "line %d\n", i);

		if (write(1, text, (size_t)n) != n)
			abort();
	}
	if (writev(1, parts, 3) != 13)
		abort();
}

static void maps(void)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	size_t size;
	char *p;

	fstat(fd, &st);
	size = (size_t)st.st_size;
	for (int i = 0; i < number; i++)
		munmap(mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0), size);
	munmap(mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0), size);
	p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	printf("mlock %d\n", mlock(p, 8192));
	printf("madvise %d\n", madvise(p, size, MADV_POPULATE_READ));
	printf("willneed %d\n", madvise(p, size, MADV_WILLNEED));
}

static void vforks(void)
{
	volatile int good = 0;
	int status;

	for (volatile int i = 0; i < number; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		if (waitpid(pid, &status, 0) == pid && status == 0)
			good++;
	}
	printf("%d children, %d well\n", number, good);
}

static void closed(void)
{
	int fd;

	for (int i = 0; i < 1024; i++)
		close(i);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd != 0 || write(fd, "alive\n", 6) != 6)
		_exit(9);
}

#define TELL(call)                                                                                 \
	do {                                                                                       \
		errno = 77;                                                                        \
		long got = (long)(call);                                                           \
		int left = errno;                                                                  \
		printf("%s: %ld, errno %d\n", #call, got, left);                                   \
	} while (0)

static void errnos(void)
{
	volatile int minus = -1;
	static char buf[PIECE];
	struct iovec part = {buf, sizeof(buf)};
	int fd = open(path, O_RDONLY), dir = open("/", O_RDONLY | O_DIRECTORY);

	TELL(read(fd, buf, sizeof(buf)));
	TELL(read(-1, buf, sizeof(buf)));
	TELL(read(dir, buf, sizeof(buf)));
	TELL(pread(fd, buf, sizeof(buf), 0));
	TELL(pread(fd, buf, sizeof(buf), -5));
	TELL(readv(fd, &part, 1));
	TELL(readv(fd, &part, minus));
	TELL(preadv(fd, &part, 1, 0));
	TELL(preadv2(fd, &part, 1, 0, 0));
	TELL(preadv2(fd, &part, 1, 0, 0x4000));
	TELL(write(-1, buf, 1));
	TELL(write(fd, buf, 1));
	TELL(writev(-1, &part, 1));
	TELL(mmap(NULL, 1 << 21, PROT_READ, MAP_PRIVATE, -1, 0));
	TELL(mmap(NULL, 1 << 21, PROT_READ, MAP_PRIVATE, dir, 0));
	TELL(mmap(NULL, 0, PROT_READ, MAP_PRIVATE, fd, 0));
	TELL(mlock((void *)4096, 4096));
	TELL(madvise((void *)4096, 4096, MADV_POPULATE_READ));
	TELL(madvise((void *)4096, 4096, 12345));
	TELL(sched_yield());
	TELL(munmap(mmap(NULL, 1 << 21, PROT_READ, MAP_PRIVATE, fd, 0), 1 << 21));
	TELL(lseek(fd, 0, SEEK_CUR));
}

static int pipe_fds[2];
static int gone, waiting;

static void note_gone(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&gone, 1, __ATOMIC_RELAXED);
}

static void *wait_in_read(void *arg)
{
	static __thread char buf[PIECE];

	(void)arg;
	pthread_cleanup_push(note_gone, NULL);
	__atomic_store_n(&waiting, 1, __ATOMIC_RELAXED);
	while (read(pipe_fds[0], buf, sizeof(buf)) > 0)
		;
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancels(void)
{
	pthread_t id;
	void *ret;

	if (pipe(pipe_fds))
		abort();
	for (int i = 0; i < number; i++) {
		pthread_create(&id, NULL, wait_in_read, NULL);
		while (!__atomic_load_n(&waiting, __ATOMIC_RELAXED))
			sched_yield();
		waiting = 0;
		pthread_cancel(id);
		pthread_join(id, &ret);
		if (ret != PTHREAD_CANCELED)
			abort();
	}
	printf("%d cancelled, %d cleaned up\n", number, gone);
}

static void closed_in(int fd)
{
	static char buf[PIECE];

	if (write(1, "inside\n", 7) != 7)
		_exit(1);
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	syscall(SYS_exit, 7);
}

static void strict(void)
{
	int fd = open(path, O_RDONLY);

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0))
		_exit(1);
	closed_in(fd);
}

static void shut(const struct sock_fprog *program)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(1);
	if (number ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program)
		   : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program))
		_exit(1);
}

static void handed(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	shut(&program);
	execl("/bin/echo", "echo", "handed", NULL);
	_exit(1);
}

static void filtered(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	int fd = open(path, O_RDONLY);

	shut(&program);
	closed_in(fd);
}

/* All memory counts against the limit, unless the user may lock what he likes; root of a user namespace may not. */
static void locks(void)
{
	struct rlimit most = {(rlim_t)number << 20, (rlim_t)number << 20};

	if (setrlimit(RLIMIT_MEMLOCK, &most) ||
	    (geteuid() == 0 && setuid(65534) && errno != EINVAL))
		_exit(1);
	printf("%d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
}

static void *wait_for_end(void *arg)
{
	static char nothing[PIECE];

	read_all();
	__atomic_fetch_add(&waiting, 1, __ATOMIC_RELAXED);
	return read(pipe_fds[0], nothing, sizeof(nothing)) ? NULL : arg;
}

static void locks_by_threads(void)
{
	struct rlimit most = {(rlim_t)number << 20, (rlim_t)number << 20};
	pthread_attr_t small;
	pthread_t id[3];
	void *at;

	if (pipe(pipe_fds) || setrlimit(RLIMIT_MEMLOCK, &most) || pthread_attr_init(&small) ||
	    pthread_attr_setstacksize(&small, 512 << 10))
		_exit(1);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&id[i], &small, wait_for_end, NULL))
			_exit(1);
	while (__atomic_load_n(&waiting, __ATOMIC_RELAXED) < 3)
		sched_yield();
	printf("%d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
	at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("%d\n", at != MAP_FAILED);
	close(pipe_fds[1]);
	for (int i = 0; i < 3; i++)
		pthread_join(id[i], NULL);
	printf("%zu bytes\n", read_all());
}

static sigjmp_buf out;

static void jump_out(int signal)
{
	(void)signal;
	siglongjmp(out, 1);
}

static void jumps(void)
{
	static char buf[PIECE];
	volatile int jumped = 0;

	if (pipe(pipe_fds))
		abort();
	signal(SIGALRM, jump_out);
	while (jumped < number) {
		struct itimerval soon = {.it_value = {.tv_usec = 1000}};

		if (sigsetjmp(out, 1)) {
			jumped++;
			continue;
		}
		setitimer(ITIMER_REAL, &soon, NULL);
		if (read(pipe_fds[0], buf, sizeof(buf)) != 0)
			abort();
	}
	printf("%d jumps, %zu bytes\n", jumped, read_all());
}

static void reads(void)
{
	size_t sum = 0;

	for (int i = 0; i < number; i++)
		sum += read_all();
	printf("%zu bytes\n", sum);
}

static void endless(void)
{
	read_all(); /* something is told by then */
	if (write(1, "going\n", 6) != 6)
		abort();
	for (;;)
		read_all();
}

static void yields(void)
{
	for (int i = 0; i < number; i++)
		sched_yield();
}

static void forks(void)
{
	fork_children(0);
}

static void bare_forks(void)
{
	fork_children(1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *word;
		void (*fn)(void);
	} stunts[] = {
		{"forks", forks},   {"bare", bare_forks}, {"threads", threads},
		{"read", reads},    {"endless", endless}, {"lines", lines},
		{"map", maps},	    {"yield", yields},	  {"vfork", vforks},
		{"closed", closed}, {"errno", errnos},	  {"cancel", cancels},
		{"jump", jumps},    {"strict", strict},	  {"filter", filtered},
		{"lock", locks},    {"handed", handed},	  {"locked", locks_by_threads},
	};

	if (argc != 4)
		return 2;
	number = atoi(argv[2]);
	path = argv[3];
	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0; i < sizeof(stunts) / sizeof(*stunts); i++)
		if (!strcmp(argv[1], stunts[i].word)) {
			stunts[i].fn();
			return 0;
		}
	return 2;
}
