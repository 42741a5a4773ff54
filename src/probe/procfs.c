/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/inside.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mask.h"
#include "base/proc.h"
#include "base/str.h"

int procfs_exe(int32_t pid, char *buf, size_t size)
{
	static const char deleted[] = " (deleted)";
	char path[64];
	ssize_t n;

	proc_path(path, sizeof(path), pid, "exe");
	n = readlink(path, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	if ((size_t)n > sizeof(deleted) && !strcmp(buf + n - sizeof(deleted) + 1, deleted))
		buf[n - (ssize_t)sizeof(deleted) + 1] = '\0';
	return 0;
}

static int task_children(int32_t pid, long tid, void (*fn)(void *arg, int32_t child), void *arg)
{
	char path[96], *text, *at, *end;
	ssize_t n;

	proc_path(path, sizeof(path), pid, "task/%ld/children", tid);
	n = io_read_file(path, 1 << 20, &text);
	if (n < 0)
		return (int)n;
	for (at = text;; at = end) {
		long child = strtol(at, &end, 10);

		if (end == at)
			break;
		fn(arg, (int32_t)child);
	}
	free(text);
	return 0;
}

int procfs_children(int32_t pid, void (*fn)(void *arg, int32_t child), void *arg)
{
	char path[64];
	struct dirent *d;
	DIR *dir;

	proc_path(path, sizeof(path), pid, "task");
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.')
			task_children(pid, strtol(d->d_name, NULL, 10), fn, arg);
	closedir(dir);
	return 0;
}

char *procfs_command(int32_t pid)
{
	char path[64], *words, *text;
	ssize_t n;

	proc_path(path, sizeof(path), pid, "cmdline");
	n = io_read_file(path, 1 << 20, &words);
	if (n < 0)
		return NULL;
	text = mask_words(words, n > 4096 ? 4096 : (size_t)n);
	free(words);
	return text;
}

int procfs_pid_ns(int32_t pid, uint32_t *ret_inode)
{
	struct stat st;
	char path[64];

	proc_path(path, sizeof(path), pid, "ns/pid");
	if (stat(path, &st) < 0)
		return -errno;
	*ret_inode = (uint32_t)st.st_ino;
	return 0;
}

int procfs_number(int32_t pid, int32_t tid, int32_t *ret_number)
{
	char path[64], text[4096], *line;
	ssize_t n;

	proc_path(path, sizeof(path), pid, "task/%d/status", tid);
	n = io_read_small(path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	/* From the namespace of /proc inwards: the last is its own. */
	line = strstr(text, "\nNSpid:");
	if (!line)
		return -ENOENT;
	line[1 + strcspn(line + 1, "\n")] = '\0';
	*ret_number = (int32_t)strtol(strrchr(line, '\t') + 1, NULL, 10);
	return 0;
}

int procfs_mapped(int32_t pid, uint64_t dev, uint64_t ino, char *buf, size_t size)
{
	char path[64], *text, *line, *save = NULL;
	ssize_t n;

	proc_path(path, sizeof(path), pid, "maps");
	n = io_read_file(path, 16 << 20, &text);
	if (n < 0)
		return (int)n;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned maj, min;
		unsigned long long number;
		int at = 0;

		if (sscanf(line, "%*x-%*x %*s %*x %x:%x %llu %n", &maj, &min, &number, &at) != 3 ||
		    number != ino || ((uint64_t)maj << 20 | min) != dev || line[at] != '/')
			continue;
		snprintf(buf, size, "%s", line + at);
		free(text);
		return 0;
	}
	free(text);
	return -ENOENT;
}

char *procfs_title(int32_t pid)
{
	char path[64], *text, *end;
	ssize_t n;

	proc_path(path, sizeof(path), pid, "cmdline");
	n = io_read_file(path, 1 << 16, &text);
	if (n <= 0) {
		if (n == 0)
			free(text);
		return NULL;
	}
	/* A title overwrites the whole argv: one string, then nothing or only NULs. */
	for (end = text + strlen(text); end < text + n; end++)
		if (*end) {
			free(text);
			return NULL;
		}
	return text;
}
