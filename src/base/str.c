/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static void room(struct str *b, size_t more)
{
	if (b->n + more + 1 <= b->cap)
		return;
	if (!b->cap)
		b->cap = 64;
	while (b->cap < b->n + more + 1)
		b->cap *= 2;
	b->s = xrealloc(b->s, b->cap);
}

void str_addn(struct str *b, const char *s, size_t n)
{
	room(b, n);
	memcpy(b->s + b->n, s, n);
	b->n += n;
	b->s[b->n] = '\0';
}

void str_add(struct str *b, const char *s)
{
	str_addn(b, s, strlen(s));
}

void str_vaddf(struct str *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n > 0) {
		room(b, (size_t)n);
		vsnprintf(b->s + b->n, (size_t)n + 1, fmt, again);
		b->n += (size_t)n;
	}
	va_end(again);
}

void str_addf(struct str *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(b, fmt, ap);
	va_end(ap);
}

/* Length of the well-formed UTF-8 sequence at `s`, 0 when there is none. */
static size_t utf8_len(const unsigned char *s)
{
	size_t n = s[0] < 0x80			 ? 1
		   : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		   : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
		   : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
						 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

void str_add_json(struct str *b, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	str_add(b, "\"");
	while (*s) {
		size_t n = utf8_len(s);

		if (*s == '"' || *s == '\\')
			str_addf(b, "\\%c", *s);
		else if (*s == '\n')
			str_add(b, "\\n");
		else if (*s == '\t')
			str_add(b, "\\t");
		else if (*s < 0x20)
			str_addf(b, "\\u%04x", *s);
		else if (!n)
			str_add(b, "\xef\xbf\xbd");
		else
			str_addn(b, (const char *)s, n);
		s += n ? n : 1;
	}
	str_add(b, "\"");
}

void str_clear(struct str *b)
{
	b->n = 0;
	if (b->s)
		b->s[0] = '\0';
}

void str_free(struct str *b)
{
	free(b->s);
	*b = (struct str){0};
}

const char *str_get(const struct str *b)
{
	return b->s ? b->s : "";
}

const char *str_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && strcmp(s + n - m, suffix) == 0;
}
