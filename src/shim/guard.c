/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a guest may do that our presence would spoil: close itself in by seccomp, where a system
 * call of ours would end it; lock all of its memory, of which ours would be the larger part; insist
 * on being the first library. For the first two it leaves the session, for the last it does not see
 * us.
 */
#include "shim/shim.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#ifndef PR_SET_SECCOMP
#define PR_SET_SECCOMP 22
#endif

static long failed(long ret)
{
	if (ret >= 0 || ret < -4095)
		return ret;
	errno = (int)-ret;
	return -1;
}

EXPORT int prctl(int op, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	int (*fn)(int, unsigned long, unsigned long, unsigned long, unsigned long) =
		(int (*)(int, unsigned long, unsigned long, unsigned long,
			 unsigned long))resolve_libc_get(LIBC_prctl);

	if (op == PR_SET_SECCOMP)
		guest_close();
	if (__builtin_expect(!fn, 0))
		return (int)failed(sys6(SYS_prctl, op, (long)a, (long)b, (long)c, (long)d, 0));
	return fn(op, a, b, c, d);
}

/* libc's own takes six arguments too, whatever the caller gave. */
EXPORT long syscall(long n, long a, long b, long c, long d, long e, long f)
{
	long (*fn)(long, long, long, long, long, long, long) =
		(long (*)(long, long, long, long, long, long, long))resolve_libc_get(LIBC_syscall);

	if (__builtin_expect(n == SYS_seccomp, 0)) {
		if (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)
			guest_close();
	} else if (__builtin_expect(n == SYS_prctl && a == PR_SET_SECCOMP, 0)) {
		guest_close();
	}
	if (__builtin_expect(!fn, 0))
		return failed(sys6(n, a, b, c, d, e, f));
	return fn(n, a, b, c, d, e, f);
}

EXPORT int mlockall(int flags)
{
	int (*fn)(int) = (int (*)(int))resolve_libc_get(LIBC_mlockall);
	int before = errno, ret;

	guest_leave(false);
	ret = fn ? fn(flags) : (int)failed(sys3(SYS_mlockall, flags, 0, 0));
	if (ret == 0) {
		guest_unlock();
	} else if ((errno == ENOMEM || errno == EAGAIN) && guest_leave(true)) {
		errno = before;
		ret = fn ? fn(flags) : (int)failed(sys3(SYS_mlockall, flags, 0, 0));
	}
	return ret;
}

/*
 * The runtime of an address sanitizer walks the libraries once at its start and ends a program in
 * which it is not the first. To it alone we are not there; anybody else may have to unwind through
 * us.
 */
enum { SANITIZER_UNKNOWN, SANITIZER_NONE, SANITIZER_HERE };
static uint32_t sanitizer;
static uintptr_t sanitizer_from, sanitizer_to;

typedef int (*visitor)(struct dl_phdr_info *, size_t, void *);

struct seen {
	visitor visit;
	void *arg;
};

static bool contains(const char *text, const char *word)
{
	for (; text && *text; text++) {
		size_t i = 0;

		while (word[i] && text[i] == word[i])
			i++;
		if (!word[i])
			return true;
	}
	return false;
}

static void span(const struct dl_phdr_info *info, uintptr_t *ret_from, uintptr_t *ret_to)
{
	*ret_from = UINTPTR_MAX;
	*ret_to = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		if (at < *ret_from)
			*ret_from = at;
		if (at + p->p_memsz > *ret_to)
			*ret_to = at + p->p_memsz;
	}
}

static int find_sanitizer(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (!contains(info->dlpi_name, "libasan.so") &&
	    !contains(info->dlpi_name, "libclang_rt.asan"))
		return 0;
	span(info, &sanitizer_from, &sanitizer_to);
	return 1;
}

static int all_but_us(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct seen *s = arg;
	uintptr_t from, to;

	span(info, &from, &to);
	if ((uintptr_t)all_but_us - from < to - from)
		return 0;
	return s->visit(info, size, s->arg);
}

EXPORT int dl_iterate_phdr(visitor visit, void *arg)
{
	int (*fn)(visitor, void *) =
		(int (*)(visitor, void *))resolve_libc_get(LIBC_dl_iterate_phdr);
	uint32_t state = __atomic_load_n(&sanitizer, __ATOMIC_ACQUIRE);
	struct seen s = {visit, arg};

	if (!fn)
		return 0;
	/* It is never loaded later: its own check would refuse that. */
	if (state == SANITIZER_UNKNOWN) {
		state = fn(find_sanitizer, NULL) ? SANITIZER_HERE : SANITIZER_NONE;
		__atomic_store_n(&sanitizer, state, __ATOMIC_RELEASE);
	}
	if (state == SANITIZER_HERE &&
	    (uintptr_t)__builtin_return_address(0) - sanitizer_from < sanitizer_to - sanitizer_from)
		return fn(all_but_us, &s);
	return fn(visit, arg);
}
