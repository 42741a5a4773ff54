/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mask.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define MASKED "***"

/* What one word of a command says of the next. Zero before the first word. */
struct mask {
	bool next_is_secret;
};

static bool secret_part(const char *s, size_t n)
{
	static const char *const parts[] = {"key",	  "apikey",	 "token",     "secret",
					    "secrets",	  "pass",	 "password",  "passwd",
					    "passphrase", "auth",	 "authtoken", "authkey",
					    "credential", "credentials", "accesskey", "secretkey"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strlen(parts[i]) == n && !strncasecmp(s, parts[i], n))
			return true;
	}
	return false;
}

/*
 * True for a name with a part "key", "token", "secret", "password" or the like: api-key, HF_TOKEN;
 * not tokenizer, max-tokens. Parts end at anything that is no letter or digit, and where a capital
 * follows a small letter (apiKey).
 */
static bool secret_name(const char *name, size_t n)
{
	size_t from = 0;

	for (size_t i = 0; i <= n; i++) {
		bool end = i == n || !isalnum((unsigned char)name[i]);
		bool hump = !end && i > from && isupper((unsigned char)name[i]) &&
			    islower((unsigned char)name[i - 1]);

		if (!end && !hump)
			continue;
		if (secret_part(name + from, i - from))
			return true;
		from = hump ? i : i + 1;
	}
	return false;
}

static size_t scheme_before(const char *s, size_t at)
{
	size_t n = 0;

	while (n < at && (isalnum((unsigned char)s[at - n - 1]) || strchr("+-.", s[at - n - 1])))
		n++;
	return n;
}

/*
 * Copy text, leaving out what stands before an @ in an
 * authority and what stands behind ? or # of a URL.
 */
static void add_urls(const char *s, size_t n, struct str *ret)
{
	size_t i = 0;

	while (i < n) {
		const char *mark = memmem(s + i, n - i, "://", 3);
		size_t at, end, host, cut;

		if (!mark || !scheme_before(s, (size_t)(mark - s))) {
			at = mark ? (size_t)(mark - s) + 3 : n;
			str_addn(ret, s + i, at - i);
			i = at;
			continue;
		}
		host = (size_t)(mark - s) + 3;
		str_addn(ret, s + i, host - i);
		for (end = host; end < n && !strchr(" \t\n\"'<>,;", s[end]); end++)
			;
		for (at = host; at < end && !strchr("/?#", s[at]); at++) {
			if (s[at] == '@')
				host = at + 1;
		}
		for (cut = host; cut < end && s[cut] != '?' && s[cut] != '#'; cut++)
			;
		str_addn(ret, s + host, cut - host);
		i = end;
	}
}

/*
 * "name": "value" inside JSON; names are masked like
 * options. Returns: false when `s` holds no such secret.
 */
static bool add_json_text(const char *s, size_t n, struct str *ret)
{
	size_t done = 0;

	for (size_t i = 0; i < n; i++) {
		size_t name = i + 1, end = name, v;

		if (s[i] != '"')
			continue;
		while (end < n && s[end] != '"')
			end++;
		for (v = end + 1; v < n && isspace((unsigned char)s[v]); v++)
			;
		if (v >= n || s[v] != ':' || !secret_name(s + name, end - name)) {
			i = end;
			continue;
		}
		for (v++; v < n && isspace((unsigned char)s[v]); v++)
			;
		if (v >= n || s[v] != '"') {
			i = end;
			continue;
		}
		add_urls(s + done, v + 1 - done, ret);
		str_add(ret, MASKED);
		for (v++; v < n && s[v] != '"'; v++) {
			if (s[v] == '\\' && v + 1 < n)
				v++;
		}
		done = v;
		i = v;
	}
	if (!done)
		return false;
	add_urls(s + done, n - done, ret);
	return true;
}

static bool is_option(const char *s, size_t n)
{
	return n > 1 && s[0] == '-';
}

/* One word without blanks. */
static void add_plain(struct mask *m, const char *s, size_t n, struct str *ret)
{
	const char *eq = memchr(s, '=', n);
	size_t name = eq ? (size_t)(eq - s) : n;

	if (m->next_is_secret && !is_option(s, n)) {
		m->next_is_secret = false;
		str_add(ret, MASKED);
		return;
	}
	m->next_is_secret = false;
	if (eq && secret_name(s, name)) {
		str_addn(ret, s, name + 1);
		str_add(ret, MASKED);
		return;
	}
	if (!eq && is_option(s, n) && secret_name(s, n))
		m->next_is_secret = true;
	if (!add_json_text(s, n, ret))
		add_urls(s, n, ret);
}

/* `Authorization: Bearer X` and `X-Api-Key: X`: a header with a secret's name loses its value. */
static bool add_header(const char *word, struct str *ret)
{
	const char *colon = strchr(word, ':');
	size_t n = colon ? (size_t)(colon - word) : 0;

	if (!n || colon[1] == '/' || strcspn(word, " \t\"'{=") < n)
		return false;
	if (!(n == strlen("authorization") && !strncasecmp(word, "authorization", n)) &&
	    !(n == strlen("cookie") && !strncasecmp(word, "cookie", n)) && !secret_name(word, n))
		return false;
	str_addn(ret, word, n + 1);
	str_add(ret, " " MASKED);
	return true;
}

/* Add one word of a command to `ret`, masked. */
static void add_word(struct mask *m, const char *word, struct str *ret)
{
	struct mask inner = {0};

	if (m->next_is_secret && !is_option(word, strlen(word))) {
		m->next_is_secret = false;
		str_add(ret, MASKED);
		return;
	}
	if (add_header(word, ret))
		return;
	if (!strpbrk(word, " \t\n") || strchr(word, '{')) {
		add_plain(m, word, strlen(word), ret);
		return;
	}
	/* A script, as behind `sh -c`: its words are words too. */
	m->next_is_secret = false;
	while (*word) {
		size_t blank = strspn(word, " \t\n"), n;

		str_addn(ret, word, blank);
		word += blank;
		n = strcspn(word, " \t\n");
		if (n)
			add_plain(&inner, word, n, ret);
		word += n;
	}
}

char *mask_words(const char *words, size_t n)
{
	struct str text = {0};
	struct mask m = {0};
	char word[1025];
	size_t at, length;

	/* A title that was written over argv has a tail of NULs. */
	while (n && !words[n - 1])
		n--;
	for (at = 0; at < n; at += length + 1) {
		length = strnlen(words + at, n - at);
		snprintf(word, sizeof(word), "%.*s", (int)length, words + at);
		if (at)
			str_add(&text, " ");
		add_word(&m, word, &text);
	}
	return text.s;
}

void mask_command_json(char *const *argv, struct str *ret)
{
	struct mask m = {0};
	struct str word = {0};

	str_add(ret, "[");
	for (size_t i = 0; argv[i]; i++) {
		str_clear(&word);
		add_word(&m, argv[i], &word);
		if (i)
			str_add(ret, ",");
		str_add_json(ret, str_get(&word));
	}
	str_add(ret, "]");
	str_free(&word);
}

bool mask_is_secret(const char *name)
{
	return secret_name(name, strlen(name));
}

void mask_variable(const char *name, const char *value, struct str *ret)
{
	struct mask m = {.next_is_secret = mask_is_secret(name)};

	if (m.next_is_secret)
		str_add(ret, MASKED);
	else
		add_word(&m, value, ret);
}
