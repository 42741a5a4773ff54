/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind our own libc wrappers. */
#include "shim/shim.h"

void *libc_real[LIBC_COUNT];
void *shim_real_dlsym;

void *resolve_libc_one(enum libc_hook hook)
{
	void *fn = elf_next(libc_name(hook));

	if (fn)
		__atomic_store_n(&libc_real[hook], fn, __ATOMIC_RELEASE);
	if (hook == LIBC_dlsym)
		__atomic_store_n(&shim_real_dlsym, fn, __ATOMIC_RELEASE);
	return fn;
}

void resolve_libc(void)
{
	const char *wanted[LIBC_COUNT];

	for (unsigned i = 0; i < LIBC_COUNT; i++)
		wanted[i] = libc_name(i);
	elf_next_all(wanted, libc_real, LIBC_COUNT);
	shim_real_dlsym = libc_real[LIBC_dlsym];
}
