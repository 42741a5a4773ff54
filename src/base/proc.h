/* SPDX-License-Identifier: Apache-2.0 */
/* Paths under /proc, which may be that of another pid namespace than ours. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Does /proc number processes as we do? False too where it is not mounted. Asked once. */
bool proc_is_ours(void);

/*
 * "/proc/PID/" and what `fmt` makes into `buf`. Where /proc is of another pid namespace the number
 * is somebody else's there: the path is then empty, and everything done with it fails with ENOENT.
 */
void proc_path(char *buf, size_t size, int pid, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
