/* SPDX-License-Identifier: Apache-2.0 */
/* The one clock: CLOCK_MONOTONIC, unsigned 64-bit nanoseconds. */
#pragma once
#include <stdint.h>
#include <time.h>

#define NS_PER_SEC UINT64_C(1000000000)
#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_US  UINT64_C(1000)

/* Nanoseconds of CLOCK_MONOTONIC now; the clock of bpf_ktime_get_ns. */
static inline uint64_t clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Nanoseconds since boot, sleep of the machine included; the clock of starts in /proc. */
static inline uint64_t clock_boot_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Nanoseconds since the epoch; only for the one anchor of a run. */
static inline uint64_t clock_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}
