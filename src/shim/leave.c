/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process leaves the session. Without its memory no thread may be at a record when that goes;
 * hooks take no locks, so each other thread is watched until it was once seen asleep outside of our
 * code: what it does from then on begins with finding that we have left.
 */
#include "shim/shim.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define WAIT_NS	   UINT64_C(200000000) /* for all of them; then we stay */
#define LIST_BYTES 512		       /* some 16 threads a call; the stack is the guest's */

bool guest_closed;

struct entry {
	uint64_t ino;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

/* Where our code lies, by the linker. */
extern const char __ehdr_start[], etext[];

static uint64_t last_number(const char *line)
{
	uint64_t n = 0;

	for (; *line && *line != '\n'; line++) {
		char c = *line;

		if (c == ' ')
			n = 0;
		else if (c >= '0' && c <= '9')
			n = n << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (uint64_t)(c - 'a' + 10);
	}
	return n;
}

/* Asleep, and not in our code; or gone. /proc/PID/task/TID/syscall ends with where it will go on. */
static bool is_out(int tasks, const char *tid)
{
	char path[32], line[256];
	unsigned k = 0;
	uint64_t at;
	long fd, n;

	for (; k < 12 && tid[k]; k++)
		path[k] = tid[k];
	for (const char *s = "/syscall"; *s; s++)
		path[k++] = *s;
	path[k] = '\0';
	fd = sys4(SYS_openat, tasks, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd == -2; /* ENOENT */
	n = sys3(SYS_read, fd, line, sizeof(line) - 1);
	sys3(SYS_close, fd, 0, 0);
	if (n <= 0)
		return n == -3; /* ESRCH */
	line[n] = '\0';
	at = last_number(line);
	return line[0] != 'r' && /* running */
	       (at < (uintptr_t)__ehdr_start || at >= (uintptr_t)etext);
}

static bool is_number(const char *s, int32_t n)
{
	int32_t m = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		m = m * 10 + (*s - '0');
	return m == n;
}

static bool others_are_out(void)
{
	int tasks = (int)sys4(SYS_openat, AT_FDCWD, "/proc/self/task",
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	int32_t self = (int32_t)sys3(SYS_gettid, 0, 0, 0);
	uint64_t until_ns = sys_now_ns() + WAIT_NS;
	char list[LIST_BYTES] __attribute__((aligned(8)));
	bool out = tasks >= 0;
	long n = 0;

	while (out && (n = sys3(SYS_getdents64, tasks, list, sizeof(list))) > 0) {
		for (long at = 0; out && at < n;) {
			const struct entry *e = (const struct entry *)(list + at);

			at += e->size;
			if (e->name[0] == '.' || is_number(e->name, self))
				continue;
			while (!is_out(tasks, e->name) && (out = sys_now_ns() < until_ns))
				sys3(SYS_sched_yield, 0, 0, 0);
		}
	}
	if (tasks >= 0)
		sys3(SYS_close, tasks, 0, 0);
	return out && n == 0;
}

/* The links of /proc/PID/task are 2 and its threads. */
static bool single_threaded(void)
{
	struct stat st;

	return sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0) == 0 && st.st_nlink == 3;
}

/* Returns: our place, which is nobody's from now on; NULL when there was none. */
static struct local *withdraw(void)
{
	struct local *l = __atomic_load_n(&guest_local, __ATOMIC_ACQUIRE);

	if (!l || !__atomic_compare_exchange_n(&guest_local, &l, NULL, false, __ATOMIC_ACQ_REL,
					       __ATOMIC_RELAXED))
		return NULL;
	return l;
}

static void forget(struct local *l)
{
	__atomic_fetch_add(&guest_header->left, 1, __ATOMIC_RELAXED);
	sys3(SYS_munmap, guest_header, guest_layout.size_bytes, 0);
	sys3(SYS_munmap, l, sizeof(*l), 0);
}

void guest_close(void)
{
	guest_closed = true;
	if (withdraw())
		__atomic_fetch_add(&guest_header->left, 1, __ATOMIC_RELAXED);
}

bool guest_leave(bool wait)
{
	struct local *l;

	if (!wait && !single_threaded())
		return false;
	l = withdraw();
	if (!l)
		return false;
	if (wait && !others_are_out()) {
		__atomic_store_n(&guest_local, l, __ATOMIC_RELEASE);
		return false;
	}
	forget(l);
	return true;
}

void guest_unlock(void)
{
	struct local *l = __atomic_load_n(&guest_local, __ATOMIC_ACQUIRE);

	if (!l)
		return;
	sys3(SYS_munlock, guest_header, guest_layout.size_bytes, 0);
	sys3(SYS_munlock, l, sizeof(*l), 0);
}
