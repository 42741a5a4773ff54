/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that leave errno, the cancellation state and every hook of ours alone, and the
 * clock. Each returns what the kernel returned: a negative errno on failure.
 */
#pragma once
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "coldprof's shim is fit for x86-64 and aarch64"
#endif
}

#define sys3(n, a, b, c)    sys6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys4(n, a, b, c, d) sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

/* CLOCK_MONOTONIC in nanoseconds, through the vDSO. */
static inline uint64_t sys_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#define FD_PATH_MAX 32

/* /proc/self/fd/FD in `buf`, which is returned. */
static inline const char *fd_path(long fd, char buf[FD_PATH_MAX])
{
	static const char prefix[] = "/proc/self/fd/";
	unsigned long n = 0, left = fd < 0 ? 0 : (unsigned long)fd, digits = 1;

	for (; prefix[n]; n++)
		buf[n] = prefix[n];
	for (unsigned long rest = left; rest > 9; rest /= 10)
		digits++;
	buf[n + digits] = '\0';
	for (; digits; left /= 10)
		buf[n + --digits] = (char)('0' + left % 10);
	return buf;
}
