/* SPDX-License-Identifier: Apache-2.0 */
/* Random and hand-made traces for tests of what keeps or shows them. */
#pragma once
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

/* Names that break careless writers: commas, quotes, tabs, newlines, escapes, bytes that are not
 * UTF-8. */
static const char *const hostile_strings[] = {
	"plain",
	"",
	"a,b;c=d",
	"say \"hi\"",
	"it's",
	"tab\there",
	"line\nbreak\r\nmore",
	"\033[31mred\033[0m\a",
	"\xff\xfe not utf-8 \xc3(",
	"caf\xc3\xa9 \xe6\xa8\xa1\xe5\x9e\x8b",
	"\\back\\slash\\",
	"{\"json\": [1, 2]}",
	"%s%n%d",
	"'); DROP TABLE run; --",
	" leading and trailing ",
	"=1+1",
};
#define N_HOSTILE (sizeof(hostile_strings) / sizeof(hostile_strings[0]))

static uint64_t random_state = 1;

/* splitmix64: the same on every machine. */
static inline uint64_t random_u64(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t n)
{
	return random_u64() % n;
}
