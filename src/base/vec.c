/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *out_of_memory(void)
{
	static const char msg[] = "coldprof: out of memory\n";

	if (write(STDERR_FILENO, msg, sizeof(msg) - 1) < 0)
		_exit(125);
	_exit(125);
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	return p ? p : out_of_memory();
}

void *xrealloc(void *p, size_t size)
{
	void *q = realloc(p, size ? size : 1);

	return q ? q : out_of_memory();
}

char *xstrdup(const char *s)
{
	char *p = strdup(s);

	return p ? p : out_of_memory();
}

void *vec_grow(void *v, size_t *cap, size_t want, size_t size)
{
	size_t c = *cap ? *cap : 16;

	while (c < want)
		c *= 2;
	*cap = c;
	return xrealloc(v, c * size);
}

void *vec_room(void *v, size_t *cap, size_t n, size_t size)
{
	if (n == *cap)
		v = vec_grow(v, cap, n + 1, size);
	memset((char *)v + n * size, 0, size);
	return v;
}

void vec_release(void *v)
{
	free(v);
}
