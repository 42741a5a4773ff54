/* SPDX-License-Identifier: Apache-2.0 */
/* Starts written by hand: tests/golden/attribution/README tells the format. */
#pragma once
#include "model/model.h"

/* A line behind `expect`. */
struct expected {
	enum { EXPECT_SEGMENT, EXPECT_WORK, EXPECT_NOTE, EXPECT_CAUSE, EXPECT_ROW } what;
	int line;
	uint64_t start_ns, end_ns;
	int item, process, grade; /* -1: not said */
	char sub[128], rule[8];	  /* "" not said */
	uint64_t union_ns, sum_ns;
};

struct start {
	struct trace trace;
	uint64_t end_ns;
	char title[128];
	VEC(struct expected) expected;
};

/* Times of the text are seconds after this; it is where the run starts. */
#define START_NS UINT64_C(5000000000000)

/* Returns 0; or -1 with the reason in `why`. */
int start_read(const char *path, struct start *ret, char *why, size_t size);
void start_done(struct start *s);
