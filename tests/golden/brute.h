/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of src/attribute/README once more, evaluated afresh at every instant: no sweep, no
 * index, no cache. It exists to disagree with src/attribute when that is wrong.
 */
#pragma once
#include "model/model.h"

typedef VEC(struct segment) segment_list;

/*
 * The partition of [t->run.start_ns, end_ns), without
 * causes; equal neighbours merged. Strings go into `t`.
 */
void brute_partition(struct trace *t, uint64_t end_ns, segment_list *ret_segments);
/*
 * Union and sum over threads of the time in an item, of one
 * process (NO_INDEX: all), counted by elementary intervals.
 */
void brute_work(struct trace *t, uint64_t end_ns, int32_t process, enum item item,
		uint64_t *ret_union_ns, uint64_t *ret_sum_ns);
