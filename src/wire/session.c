/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/session.h"

#include <errno.h>
#include <stdbool.h>

static size_t put_hex(char *buf, uint64_t value)
{
	char digits[16];
	size_t n = 0, len = 0;

	do {
		digits[n++] = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
	while (n)
		buf[len++] = digits[--n];
	return len;
}

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '/';
}

int session_format(const struct session *s, char *buf, size_t size)
{
	uint64_t numbers[] = {SESSION_VERSION, (uint32_t)s->pid, (uint32_t)s->fd,
			      s->dev,	       s->ino,		 s->nonce};
	char text[SESSION_STRING_MAX];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		n += put_hex(text + n, numbers[i]);
		text[n++] = '.';
	}
	for (size_t i = 0; i < SESSION_NAME_MAX && s->name[i]; i++) {
		if (!name_char(s->name[i]) || i == SESSION_NAME_MAX - 1)
			return -EINVAL;
		text[n++] = s->name[i];
	}
	text[n] = '\0';
	if (n >= size)
		return -ENOSPC;
	for (size_t i = 0; i <= n; i++)
		buf[i] = text[i];
	return (int)n;
}

/* One number and the dot behind it. */
static const char *take_hex(const char *p, uint64_t *ret)
{
	uint64_t value = 0;
	int digits = 0;

	for (; *p && *p != '.'; p++, digits++) {
		int d = *p >= '0' && *p <= '9'	 ? *p - '0'
			: *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
						 : -1;

		if (d < 0 || digits == 16)
			return NULL;
		value = value << 4 | (uint64_t)d;
	}
	if (*p != '.' || digits == 0)
		return NULL;
	*ret = value;
	return p + 1;
}

int session_parse(const char *text, struct session *ret)
{
	uint64_t v[6];
	struct session s;
	size_t n;

	for (int i = 0; i < 6; i++) {
		text = text ? take_hex(text, &v[i]) : NULL;
		if (!text)
			return -EINVAL;
	}
	if (v[0] != SESSION_VERSION || v[1] > INT32_MAX || v[2] > INT32_MAX)
		return -EINVAL;
	s.pid = (int32_t)v[1];
	s.fd = (int32_t)v[2];
	s.dev = v[3];
	s.ino = v[4];
	s.nonce = v[5];
	for (n = 0; text[n]; n++) {
		if (n == SESSION_NAME_MAX - 1 || !name_char(text[n]))
			return -EINVAL;
		s.name[n] = text[n];
	}
	for (; n < SESSION_NAME_MAX; n++)
		s.name[n] = '\0';
	*ret = s;
	return 0;
}
