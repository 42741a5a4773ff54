/* SPDX-License-Identifier: Apache-2.0 */
/* Whole-file reads and full writes. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/*
 * Read `path` (also under /proc, where the size is not known) into *ret_data, NUL-terminated.
 * Owns: the caller frees *ret_data. Returns: the length, or -errno with *ret_data untouched;
 * -EFBIG when the file holds more than `max` bytes.
 */
ssize_t io_read_file(const char *path, size_t max, char **ret_data);

/*
 * Read a small file such as /proc/PID/comm into `buf`,
 * NUL-terminated, without allocating. Returns: length or -errno.
 */
ssize_t io_read_small(const char *path, char *buf, size_t size);

/* Write all of `data`, going on after short writes and EINTR. Returns: 0 or -errno. */
int io_write_all(int fd, const void *data, size_t n);
