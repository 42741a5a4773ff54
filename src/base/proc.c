/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool proc_is_ours(void)
{
	static int known;
	char number[24] = "";

	if (!known) {
		ssize_t n = readlink("/proc/self", number, sizeof(number) - 1);

		known = n > 0 && strtol(number, NULL, 10) == getpid() ? 1 : -1;
	}
	return known > 0;
}

void proc_path(char *buf, size_t size, int pid, const char *fmt, ...)
{
	va_list ap;
	int n;

	buf[0] = '\0';
	if (!proc_is_ours())
		return;
	n = snprintf(buf, size, "/proc/%d/", pid);
	if (n < 0 || (size_t)n >= size)
		return;
	va_start(ap, fmt);
	vsnprintf(buf + n, size - (size_t)n, fmt, ap);
	va_end(ap);
}
