/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder says of the last call that reached it. */
#pragma once
#include <stdint.h>

#define RECORDER_RESULT 1000

struct recorded {
	uint64_t calls;
	const char *symbol;
	unsigned count;
	uint64_t arg[16];
};
