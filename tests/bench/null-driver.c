/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that takes no time: what is left of a call is the wrapper. */
#include <stddef.h>
#include <stdint.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT __attribute__((visibility("default")))

EXPORT int cuMemAlloc_v2(uint64_t *dptr, size_t bytes)
{
	*dptr = bytes;
	return 0;
}

EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			  unsigned by, unsigned bz, unsigned shared, void *stream, void **args,
			  void **extra)
{
	(void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz;
	(void)shared, (void)stream, (void)args, (void)extra;
	return 0;
}

EXPORT int unknown_to_us(void)
{
	return 0;
}
