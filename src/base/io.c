/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"

static ssize_t read_some(int fd, char *buf, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buf, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t io_read_file(const char *path, size_t max, char **ret_data)
{
	size_t n = 0, cap = 4096;
	ssize_t got;
	char *buf;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	buf = xcalloc(1, cap);
	while ((got = read_some(fd, buf + n, cap - n - 1)) > 0) {
		n += (size_t)got;
		if (n > max) {
			got = -EFBIG;
			break;
		}
		if (n + 1 == cap)
			buf = xrealloc(buf, cap *= 2);
	}
	close(fd);
	if (got < 0) {
		free(buf);
		return got;
	}
	buf[n] = '\0';
	*ret_data = buf;
	return (ssize_t)n;
}

ssize_t io_read_small(const char *path, char *buf, size_t size)
{
	ssize_t n = 0, got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while ((size_t)n + 1 < size && (got = read_some(fd, buf + n, size - 1 - (size_t)n)) != 0) {
		if (got < 0) {
			close(fd);
			return got;
		}
		n += got;
	}
	close(fd);
	buf[n] = '\0';
	return n;
}

int io_write_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}
