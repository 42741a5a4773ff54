/* SPDX-License-Identifier: Apache-2.0 */
/* Text for people: what a terminal may be shown, how wide it is, and numbers in units. */
#include <inttypes.h>
#include <string.h>
#include <wchar.h>

#include "base/str.h"
#include "render/table.h"

/* Length of the UTF-8 sequence at `s` and its code point; 0 when it is malformed. */
static size_t decode(const unsigned char *s, uint32_t *ret_point)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80	 ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;
	uint32_t c = n <= 1 ? s[0] : s[0] & (0xffu >> (n + 1));

	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (!n || c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret_point = c;
	return n;
}

/*
 * Columns of a code point; -1 for what must not reach a
 * terminal: controls, marks that turn the direction of text.
 */
static int columns_of(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || (c >= 0x200b && c <= 0x200f) ||
	    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff)
		return -1;
	return c < 0x7f ? 1 : wcwidth((wchar_t)c);
}

/* The signs beyond ASCII in our own words, for a locale that has none; NULL: another. */
static const char *plain(uint32_t c)
{
	return c == 0x2192 ? "->" : c == 0x2026 ? "..." : NULL;
}

void text_clean(struct str *b, const char *text, bool utf8)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		uint32_t c = 0;
		size_t n = decode(s, &c);

		if (n && (n == 1 || utf8) && columns_of(c) >= 0) {
			str_addn(b, (const char *)s, n);
			s += n;
			continue;
		}
		if (n && plain(c)) {
			str_add(b, plain(c));
			s += n;
			continue;
		}
		for (n = n ? n : 1; n; n--)
			str_addf(b, "\\x%02x", *s++);
	}
}

/* Columns of the first `bytes` bytes; they end with a character or at the text's end. */
static size_t head_width(const char *text, size_t bytes, bool utf8)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + bytes;
	size_t width = 0;

	while (s < end && *s) {
		uint32_t c = 0;
		size_t n = utf8 ? decode(s, &c) : 1;
		int w = utf8 && n ? columns_of(c) : 1;

		width += w > 0 ? (size_t)w : 0;
		s += n ? n : 1;
	}
	return width;
}

size_t text_width(const char *text, bool utf8)
{
	return head_width(text, strlen(text), utf8);
}

/* Bytes at the head of `s` that fit into `width` columns. */
static size_t head_bytes(const char *s, size_t width, bool utf8)
{
	size_t at = 0, used = 0;

	while (s[at]) {
		uint32_t c = 0;
		size_t n = utf8 ? decode((const unsigned char *)s + at, &c) : 1;
		int w = utf8 && n ? columns_of(c) : 1;

		used += w > 0 ? (size_t)w : 0;
		if (used > width)
			break;
		at += n ? n : 1;
	}
	return at;
}

static size_t next_bytes(const char *s, bool utf8)
{
	uint32_t c;
	size_t n = utf8 ? decode((const unsigned char *)s, &c) : 1;

	return n ? n : 1;
}

void text_shorten(struct str *b, const char *s, size_t width, bool utf8)
{
	const char *dots = utf8 ? "…" : "...";
	size_t n_dots = utf8 ? 1 : 3, have, head, tail, from, n;
	struct str clean = {0};

	text_clean(&clean, s, utf8);
	have = text_width(str_get(&clean), utf8);
	if (have <= width || width <= n_dots) {
		str_addn(b, str_get(&clean),
			 have <= width ? clean.n : head_bytes(str_get(&clean), width, utf8));
		str_free(&clean);
		return;
	}
	/* The middle goes. A path tells more at its end, other text at its beginning. */
	head = (width - n_dots) / 3;
	tail = strchr(clean.s, '/') ? width - n_dots - head : head;
	head = head_bytes(clean.s, width - n_dots - tail, utf8);
	have -= head_width(clean.s, head, utf8);
	for (from = head; have > tail; from += n) {
		n = next_bytes(clean.s + from, utf8);
		have -= head_width(clean.s + from, n, utf8);
	}
	str_addn(b, clean.s, head);
	str_add(b, dots);
	str_add(b, clean.s + from);
	str_free(&clean);
}

void text_ns(struct str *b, uint64_t ns)
{
	if (ns < 1000)
		str_addf(b, "%" PRIu64 " ns", ns);
	else if (ns < 1000000)
		str_addf(b, "%.1f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		str_addf(b, "%.1f ms", (double)ns / 1e6);
	else
		str_addf(b, "%.3f s", (double)ns / 1e9);
}

static void scaled(struct str *b, double v, const char *behind)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
	size_t i = 0;

	while (v >= 999.95 && i + 1 < sizeof(units) / sizeof(units[0])) {
		v /= 1000;
		i++;
	}
	str_addf(b, "%.*f %s%s", i ? v < 9.995 ? 2 : 1 : 0, v, units[i], behind);
}

void text_bytes(struct str *b, uint64_t bytes)
{
	scaled(b, (double)bytes, "");
}

void text_rate(struct str *b, uint64_t bytes, uint64_t ns)
{
	if (ns)
		scaled(b, (double)bytes * 1e9 / (double)ns, "/s");
}
