/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While a start runs: the present item and the elapsed seconds, on one line
 * that is overwritten. Only on a terminal that the guest does not write to:
 * where its standard output and its standard error both go elsewhere, on the
 * controlling terminal; and only while coldprof is in the foreground there.
 */
#pragma once
#include <stdint.h>

struct start;

/* Returns: the terminal, or -1 when there is to be no line. Owns: the caller closes it. */
int status_line_open(void);
/* Draw anew; cheap when called too often. `fd` -1: nothing. */
void status_line_draw(int fd, struct start *s, uint64_t now_ns);
/* Take the line away. */
void status_line_clear(int fd);
