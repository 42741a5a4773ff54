/* SPDX-License-Identifier: Apache-2.0 */
/* When a stored run reached a mark, told from what it kept: marks, listeners, log lines, exits. */
#pragma once
#include <stdint.h>

struct err;
struct trace;

/*
 * `text` is a MARK as of --until. *ret_mark is interned in `t`: the mark as it was reached, e.g.
 * "http:8000/health". Returns: 0; -EINVAL for a text that is no mark; -ENOENT with the marks that
 * the run has.
 */
int until_find(struct trace *t, const char *text, uint64_t *ret_at_ns, const char **ret_mark,
	       struct err *err);
