/* SPDX-License-Identifier: Apache-2.0 */
/* What processes that are not the start's do with its disks and files. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

/* What a block device moved since the machine came up. */
struct disk {
	uint64_t dev; /* MAJOR << 20 | MINOR */
	uint64_t read_bytes, written_bytes;
};

typedef VEC(struct disk) disk_list;

/* All block devices. Returns: 0 or -errno with an empty list. The caller frees it. */
int disks_look(disk_list *ret);

/* A file, as stat(2) gives it, and its path; borrowed. */
struct file_id {
	dev_t dev;
	ino_t ino;
	const char *path;
};

struct file_user {
	pid_t pid;
	char name[64]; /* its short name */
	bool mapped;   /* else it has it open */
};

typedef VEC(struct file_user) file_user_list;

/*
 * The processes that have one of the files open or mapped, as far as we may look, but those of
 * `not_these` (0-terminated). One entry a process. Returns: 0 or -errno. The caller frees the list.
 */
int files_users(const struct file_id *files, size_t n, const pid_t *not_these, file_user_list *ret);
