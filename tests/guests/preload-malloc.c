/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's own preload: an allocator that finds libc's
 * through dlsym at its first use, as profilers do.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *(*real_malloc)(size_t);
static size_t calls;

EXPORT void *malloc(size_t n)
{
	if (!real_malloc)
		*(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	return real_malloc(n);
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("PRELOAD_MALLOC_TELL");

	if (path && calls > 0)
		symlink("counted", path);
}
