/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc: log lines, reads and mappings of regular files, yields. The real function does the call, so
 * that cancellation, errno and another preloaded library stay as they were. No headers that declare
 * these functions: a fortified or large-file libc renames them.
 */
#undef _FORTIFY_SOURCE
#include "shim/shim.h"

#include <errno.h>
#include <linux/mman.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

struct iovec {
	void *iov_base;
	size_t iov_len;
};

/* NULL in a program whose libc lacks it: the bare system call. */
static void *real_of(enum libc_hook hook)
{
	return resolve_libc_get(hook);
}

static long failed(long ret)
{
	if (ret >= 0 || ret < -4095)
		return ret;
	errno = (int)-ret;
	return -1;
}

static bool wants_log(int fd)
{
	return (fd == 1 || fd == 2) && guest_live() && record_is_log(fd);
}

EXPORT ssize_t write(int fd, const void *buf, size_t n)
{
	ssize_t (*fn)(int, const void *, size_t) =
		(ssize_t(*)(int, const void *, size_t))real_of(LIBC_write);
	uint64_t start_ns;
	ssize_t done;
	bool log;

	if (__builtin_expect(!fn, 0))
		return failed(sys3(SYS_write, fd, buf, n));
	log = wants_log(fd);
	if (!log)
		return fn(fd, buf, n);
	start_ns = sys_now_ns();
	done = fn(fd, buf, n);
	if (done > 0)
		record_log(fd, buf, (size_t)done, start_ns);
	return done;
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	ssize_t (*fn)(int, const struct iovec *, int) =
		(ssize_t(*)(int, const struct iovec *, int))real_of(LIBC_writev);
	uint64_t start_ns;
	ssize_t done;
	bool log;

	if (__builtin_expect(!fn, 0))
		return failed(sys3(SYS_writev, fd, parts, count));
	log = wants_log(fd);
	if (!log)
		return fn(fd, parts, count);
	start_ns = sys_now_ns();
	done = fn(fd, parts, count);
	for (ssize_t i = 0, left = done; i < count && left > 0; i++) {
		size_t part = parts[i].iov_len < (size_t)left ? parts[i].iov_len : (size_t)left;

		if (part)
			record_log(fd, parts[i].iov_base, part, start_ns);
		left -= (ssize_t)part;
	}
	return done;
}

/* The shape of every read: `size` decides whether we look at all. */
#define READ(size, call, at)                                                                       \
	do {                                                                                       \
		uint64_t start_ns;                                                                 \
		ssize_t done;                                                                      \
                                                                                                   \
		if ((size) < READ_MIN || !guest_live())                                            \
			return call;                                                               \
		start_ns = sys_now_ns();                                                           \
		done = call;                                                                       \
		if (done >= READ_MIN)                                                              \
			record_read(fd, at, (uint64_t)done, start_ns);                             \
		return done;                                                                       \
	} while (0)

EXPORT ssize_t read(int fd, void *buf, size_t n)
{
	ssize_t (*fn)(int, void *, size_t) = (ssize_t(*)(int, void *, size_t))real_of(LIBC_read);

	if (__builtin_expect(!fn, 0))
		return failed(sys3(SYS_read, fd, buf, n));
	READ(n, fn(fd, buf, n), NO_OFFSET);
}

#define PREAD(symbol)                                                                              \
	EXPORT ssize_t symbol(int fd, void *buf, size_t n, long offset)                            \
	{                                                                                          \
		ssize_t (*fn)(int, void *, size_t, long) =                                         \
			(ssize_t(*)(int, void *, size_t, long))real_of(LIBC_##symbol);             \
                                                                                                   \
		if (__builtin_expect(!fn, 0))                                                      \
			return failed(sys4(SYS_pread64, fd, buf, n, offset));                      \
		READ(n, fn(fd, buf, n, offset), offset);                                           \
	}
PREAD(pread)
PREAD(pread64)

/* Vectors are few and large: all are looked at. */
EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	ssize_t (*fn)(int, const struct iovec *, int) =
		(ssize_t(*)(int, const struct iovec *, int))real_of(LIBC_readv);

	if (__builtin_expect(!fn, 0))
		return failed(sys3(SYS_readv, fd, parts, count));
	READ(READ_MIN, fn(fd, parts, count), NO_OFFSET);
}

#define PREADV(symbol)                                                                             \
	EXPORT ssize_t symbol(int fd, const struct iovec *parts, int count, long offset)           \
	{                                                                                          \
		ssize_t (*fn)(int, const struct iovec *, int, long) =                              \
			(ssize_t(*)(int, const struct iovec *, int, long))real_of(LIBC_##symbol);  \
                                                                                                   \
		if (__builtin_expect(!fn, 0))                                                      \
			return failed(sys6(SYS_preadv, fd, (long)parts, count, offset, 0, 0));     \
		READ(READ_MIN, fn(fd, parts, count, offset), offset);                              \
	}
PREADV(preadv)
PREADV(preadv64)

#define PREADV2(symbol)                                                                            \
	EXPORT ssize_t symbol(int fd, const struct iovec *parts, int count, long offset,           \
			      int flags)                                                           \
	{                                                                                          \
		ssize_t (*fn)(int, const struct iovec *, int, long, int) = (ssize_t(*)(            \
			int, const struct iovec *, int, long, int))real_of(LIBC_##symbol);         \
                                                                                                   \
		if (__builtin_expect(!fn, 0))                                                      \
			return failed(                                                             \
				sys6(SYS_preadv2, fd, (long)parts, count, offset, 0, flags));      \
		READ(READ_MIN, fn(fd, parts, count, offset, flags), offset);                       \
	}
PREADV2(preadv2)
PREADV2(preadv64v2)

static void *mapped(enum libc_hook hook, void *at, size_t size, int prot, int flags, int fd,
		    long offset)
{
	void *(*fn)(void *, size_t, int, int, int, long) =
		(void *(*)(void *, size_t, int, int, int, long))real_of(hook);
	bool file = fd >= 0 && !(flags & MAP_ANONYMOUS), populate = (flags & MAP_POPULATE) != 0;
	uint64_t start_ns;
	void *p;

	if (__builtin_expect(!fn, 0))
		return (void *)failed(
			sys6(SYS_mmap, (long)at, (long)size, prot, flags, fd, offset));
	if (!file || (size < MAP_MIN && !populate) || !guest_live())
		return fn(at, size, prot, flags, fd, offset);
	start_ns = sys_now_ns();
	p = fn(at, size, prot, flags, fd, offset);
	if (p == (void *)-1)
		return p;
	if (populate)
		record_populate(WIRE_POPULATE_MMAP, fd, offset, (uint64_t)(uintptr_t)p, size, 0,
				start_ns);
	record_map(fd, prot, flags, offset, (uint64_t)(uintptr_t)p, size, start_ns);
	return p;
}

EXPORT void *mmap(void *at, size_t size, int prot, int flags, int fd, long offset)
{
	return mapped(LIBC_mmap, at, size, prot, flags, fd, offset);
}

EXPORT void *mmap64(void *at, size_t size, int prot, int flags, int fd, long offset)
{
	return mapped(LIBC_mmap64, at, size, prot, flags, fd, offset);
}

EXPORT int mlock(const void *at, size_t size)
{
	int (*fn)(const void *, size_t) = (int (*)(const void *, size_t))real_of(LIBC_mlock);
	uint64_t start_ns;
	int ret;

	if (__builtin_expect(!fn, 0))
		return (int)failed(sys3(SYS_mlock, at, size, 0));
	if (!guest_live())
		return fn(at, size);
	start_ns = sys_now_ns();
	ret = fn(at, size);
	record_populate(WIRE_POPULATE_MLOCK, -1, 0, (uint64_t)(uintptr_t)at, size,
			ret < 0 ? errno : 0, start_ns);
	return ret;
}

EXPORT int madvise(void *at, size_t size, int advice)
{
	int (*fn)(void *, size_t, int) = (int (*)(void *, size_t, int))real_of(LIBC_madvise);
	uint64_t start_ns;
	int ret;

	if (__builtin_expect(!fn, 0))
		return (int)failed(sys3(SYS_madvise, at, size, advice));
	if ((advice != MADV_POPULATE_READ && advice != MADV_POPULATE_WRITE) || !guest_live())
		return fn(at, size, advice);
	start_ns = sys_now_ns();
	ret = fn(at, size, advice);
	record_populate(WIRE_POPULATE_MADVISE, -1, 0, (uint64_t)(uintptr_t)at, size,
			ret < 0 ? errno : 0, start_ns);
	return ret;
}

EXPORT int sched_yield(void)
{
	int (*fn)(void) = (int (*)(void))real_of(LIBC_sched_yield);

	if (guest_live())
		record_yield();
	return fn ? fn() : (int)failed(sys3(SYS_sched_yield, 0, 0, 0));
}

static void leave(enum libc_hook hook, int status)
{
	void (*fn)(int) = (void (*)(int))real_of(hook);

	guest_end();
	if (fn)
		fn(status);
	for (;;)
		sys3(SYS_exit_group, status, 0, 0);
}

EXPORT void _exit(int status)
{
	leave(LIBC__exit, status);
	__builtin_unreachable();
}

EXPORT void _Exit(int status)
{
	leave(LIBC__Exit, status);
	__builtin_unreachable();
}
