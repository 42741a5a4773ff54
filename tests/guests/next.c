/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of three libraries that hand a question on to the
 * next: RTLD_NEXT must begin behind the one that asks.
 */
#include <dlfcn.h>

__attribute__((visibility("default"))) int next_sum(void);

int next_sum(void)
{
	int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "next_sum");

	return NUMBER + (next ? 10 * next() : 0);
}
