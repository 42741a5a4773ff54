/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"

#define LISTENING 0x0a /* TCP_LISTEN */

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

int proc_stat(int pid, struct proc_stat *ret)
{
	char path[64], buf[1024], *open, *close, *field, *save = NULL;
	struct proc_stat st = {.exit_code = -1};
	ssize_t n;
	int i;

	proc_path(path, sizeof(path), pid, "stat");
	n = io_read_small(path, buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	/* The name may hold blanks and brackets: it ends at the last one. */
	open = strchr(buf, '(');
	close = strrchr(buf, ')');
	if (!open || !close || close < open)
		return -EPROTO;
	snprintf(st.comm, sizeof(st.comm), "%.*s", (int)(close - open - 1), open + 1);
	field = strtok_r(close + 1, " \n", &save);
	for (i = 3; field; field = strtok_r(NULL, " \n", &save), i++) {
		if (i == 3)
			st.state = *field;
		else if (i == 4)
			st.ppid = (int32_t)strtol(field, NULL, 10);
		else if (i == 22)
			st.start_ticks = strtoull(field, NULL, 10);
		else if (i == 52)
			st.exit_code = (int32_t)strtol(field, NULL, 10);
	}
	*ret = st;
	return 0;
}

int proc_name(int pid, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	proc_path(path, sizeof(path), pid, "comm");
	n = io_read_small(path, buf, size);
	if (n < 0)
		buf[0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return n < 0 ? (int)n : 0;
}

char proc_thread_state(int pid, int tid)
{
	char path[64], buf[256], *close;

	proc_path(path, sizeof(path), pid, "task/%d/stat", tid);
	if (io_read_small(path, buf, sizeof(buf)) <= 0)
		return '?';
	close = strrchr(buf, ')');
	return close && close[1] == ' ' ? close[2] : '?';
}

uint64_t proc_start_ns(const struct proc_stat *st)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t boot_ns =
		st->start_ticks / hz * NS_PER_SEC + st->start_ticks % hz * (NS_PER_SEC / hz);
	/* What the machine slept; a little below 0 where it never did, as the two are read in turn. */
	int64_t slept_ns = (int64_t)(clock_boot_ns() - clock_now_ns());

	return (int64_t)boot_ns > slept_ns ? boot_ns - (uint64_t)slept_ns : 0;
}

bool proc_has_socket(int pid, unsigned long inode)
{
	char path[64], want[40], link[64];
	const struct dirent *d;
	bool found = false;
	DIR *dir;

	proc_path(path, sizeof(path), pid, "fd");
	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	dir = opendir(path);
	while (dir && !found && (d = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), d->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = '\0';
		found = !strcmp(link, want);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool proc_next_listener(char **at, struct proc_listener *ret)
{
	for (char *line = strsep(at, "\n"); line; line = strsep(at, "\n")) {
		struct proc_listener l = {.family = AF_INET6};
		unsigned port, state;
		char hex[40];

		if (sscanf(line, " %*d: %39[0-9A-F]:%x %*s %x %*s %*s %*s %*d %*d %lu", hex, &port,
			   &state, &l.inode) != 4 ||
		    state != LISTENING)
			continue;
		l.port = (uint16_t)port;
		if (strlen(hex) == 8)
			l.family = AF_INET;
		for (int i = 0; i < 4 && sscanf(hex + 8 * i, "%8x", &l.address[i]) == 1; i++)
			;
		*ret = l;
		return true;
	}
	return false;
}
