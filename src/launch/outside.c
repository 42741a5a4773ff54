/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/outside.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/io.h"
#include "base/proc.h"
#include "base/str.h"

#define SECTOR_BYTES 512
#define TABLE_MAX    ((size_t)16 << 20)

int disks_look(disk_list *ret)
{
	char *text, *line, *save = NULL;
	ssize_t n = io_read_file("/proc/diskstats", TABLE_MAX, &text);

	memset(ret, 0, sizeof(*ret));
	if (n < 0)
		return (int)n;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		uint64_t read, written;
		unsigned maj, min;

		if (sscanf(line, " %u %u %*s %*u %*u %" SCNu64 " %*u %*u %*u %" SCNu64, &maj, &min,
			   &read, &written) != 4)
			continue;
		vec_push(ret, ((struct disk){(uint64_t)maj << 20 | min, read * SECTOR_BYTES,
					     written * SECTOR_BYTES}));
	}
	free(text);
	return 0;
}

static bool is_one(const struct file_id *files, size_t n, dev_t dev, ino_t ino)
{
	for (size_t i = 0; i < n; i++)
		if (files[i].dev == dev && files[i].ino == ino)
			return true;
	return false;
}

/* On overlayfs and btrfs a mapping's device is not the one of stat(2): there its name must fit. */
static bool is_mapping(const struct file_id *files, size_t n, dev_t dev, ino_t ino,
		       const char *line)
{
	for (size_t i = 0; i < n; i++)
		if (files[i].ino == ino &&
		    (files[i].dev == dev || str_ends(line, str_base_name(files[i].path))))
			return true;
	return false;
}

static bool has_open(pid_t pid, const struct file_id *files, size_t n)
{
	const struct dirent *d;
	char path[320];
	struct stat st;
	bool found = false;
	DIR *dir;

	proc_path(path, sizeof(path), pid, "fd");
	dir = opendir(path);
	while (dir && !found && (d = readdir(dir))) {
		proc_path(path, sizeof(path), pid, "fd/%s", d->d_name);
		found = d->d_name[0] != '.' && stat(path, &st) == 0 &&
			is_one(files, n, st.st_dev, st.st_ino);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool has_mapped(pid_t pid, const struct file_id *files, size_t n)
{
	char path[64], *text, *line, *save = NULL;
	bool found = false;

	proc_path(path, sizeof(path), pid, "maps");
	if (io_read_file(path, TABLE_MAX, &text) < 0)
		return false;
	for (line = strtok_r(text, "\n", &save); line && !found;
	     line = strtok_r(NULL, "\n", &save)) {
		unsigned long long ino;
		unsigned maj, min;

		found = sscanf(line, "%*s %*s %*s %x:%x %llu", &maj, &min, &ino) == 3 && ino &&
			is_mapping(files, n, makedev(maj, min), (ino_t)ino, line);
	}
	free(text);
	return found;
}

static bool listed(const pid_t *list, pid_t pid)
{
	while (*list && *list != pid)
		list++;
	return *list != 0;
}

int files_users(const struct file_id *files, size_t n, const pid_t *not_these, file_user_list *ret)
{
	const struct dirent *d;
	DIR *dir = proc_is_ours() ? opendir("/proc") : NULL;

	memset(ret, 0, sizeof(*ret));
	if (!dir)
		return proc_is_ours() ? -errno : -ENOENT;
	while ((d = readdir(dir))) {
		struct file_user u = {.pid = (pid_t)atoi(d->d_name)};

		if (u.pid <= 0 || listed(not_these, u.pid))
			continue;
		u.mapped = has_mapped(u.pid, files, n);
		if (!u.mapped && !has_open(u.pid, files, n))
			continue;
		if (proc_name(u.pid, u.name, sizeof(u.name)) == 0)
			vec_push(ret, u);
	}
	closedir(dir);
	return 0;
}
