/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mask.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define MASKED	       "***"
#define BLANKS	       " \t\n"
#define NAME_MAX_BYTES 256

static bool ends_like(const char *s, size_t n, const char *end)
{
	size_t m = strlen(end);

	return n >= m && !strncasecmp(s + n - m, end, m);
}

static bool secret_part(const char *s, size_t n)
{
	static const char *const whole[] = {"key",    "secrets",   "pass",
					    "auth",   "authtoken", "authkey",
					    "cookie", "accesskey", "secretkey"};
	static const char *const ends[] = {
		"apikey",     "token",	    "secret",	   "password",	 "passwd",
		"passphrase", "credential", "credentials", "privatekey", "authorization"};

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		if (strlen(whole[i]) == n && ends_like(s, n, whole[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (ends_like(s, n, ends[i]))
			return true;
	}
	return false;
}

/*
 * True for a name with a part "key", "token", "secret", "password" or the like: api-key, HF_TOKEN,
 * PGPASSWORD; not tokenizer, max-tokens. Parts end at anything that is no letter or digit, and where a capital
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

static size_t url_end(const char *s, size_t i, size_t n)
{
	while (i < n && !strchr(BLANKS "\"'<>,;", s[i]))
		i++;
	return i;
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
		end = url_end(s, host, n);
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

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

static bool is_option(const char *s, size_t n)
{
	return n > 1 && s[0] == '-';
}

/* Behind the mate of the quote at s[i]; a quote that has none is a character as others. */
static size_t behind_quote(const char *s, size_t i, size_t n)
{
	for (size_t k = i + 1; k < n; k++) {
		if (s[k] == s[i])
			return k + 1;
		if (s[k] == '\\' && s[i] == '"')
			k++;
	}
	return i + 1;
}

/* The end of a word that begins at s[i], as a shell takes it. */
static size_t word_end(const char *s, size_t i, size_t n)
{
	while (i < n && !strchr(BLANKS, s[i])) {
		if (s[i] == '\\' && i + 1 < n)
			i += 2;
		else
			i = is_quote(s[i]) ? behind_quote(s, i, n) : i + 1;
	}
	return i;
}

/* The end of a value that begins at s[i], as JSON or Python takes it. */
static size_t value_end(const char *s, size_t i, size_t n)
{
	size_t depth = 0;

	while (i < n) {
		if (!depth && strchr(BLANKS ",}])", s[i]))
			break;
		depth += strchr("[{(", s[i]) != NULL;
		depth -= strchr("]})", s[i]) != NULL;
		i = is_quote(s[i]) ? behind_quote(s, i, n) : i + 1;
	}
	return i;
}

static size_t blanks(const char *s, size_t i, size_t n)
{
	size_t from = i;

	while (i < n && strchr(BLANKS, s[i]))
		i++;
	return i - from;
}

struct found {
	size_t at;   /* of the sign between a secret's name and its value */
	bool quoted; /* so is the name: the value ends where JSON says */
	bool header; /* all that follows is its value */
};

/* Has the sign at s[p] a secret's name before it? */
static bool names_secret(const char *s, size_t p, struct found *ret)
{
	const char *open = p > 1 && is_quote(s[p - 1]) ? memrchr(s, s[p - 1], p - 1) : NULL;
	size_t from = p, n;

	*ret = (struct found){.at = p};
	if (open) {
		n = (size_t)(s + p - 1 - ++open);
		ret->quoted = s[p] != '=';
		return secret_name(open, n) && (s[p] != ',' || is_option(open, n));
	}
	if (s[p] == ',')
		return false;
	while (from && p - from < NAME_MAX_BYTES &&
	       (s[p - 1] == ']' || !strchr("=,;&|({?\"'", s[from - 1])))
		from--;
	n = p - from;
	if (s[p] == ':' && memchr(s + from, '/', n))
		return false; /* two paths */
	ret->header = s[p] == ':' &&
		      (ends_like(s + from, n, "authorization") || ends_like(s + from, n, "cookie"));
	return secret_name(s + from, n);
}

/* The end of what is quoted from s[i] on, where that holds blanks and so may be a script; else i. */
static size_t script_end(const char *s, size_t i, size_t n)
{
	size_t end = is_quote(s[i]) ? behind_quote(s, i, n) : i;

	for (size_t k = i; k < end; k++) {
		if (strchr(BLANKS, s[k]))
			return end;
	}
	return i;
}

/* The first name of a secret in a word that has its value behind it, scripts in it left out. */
static bool find_secret(const char *s, size_t n, struct found *ret)
{
	size_t p = 0, end;

	while (p < n) {
		end = script_end(s, p, n);
		if (end > p) {
			p = end;
		} else if (n - p > 2 && !memcmp(s + p, "://", 3)) {
			p = url_end(s, p, n);
		} else {
			if (p && strchr("=:,", s[p]) && names_secret(s, p, ret))
				return true;
			p++;
		}
	}
	return false;
}

static void add_script(const char *s, size_t n, struct str *ret);

/* What names no secret, but for the scripts in it. */
static void add_harmless(const char *s, size_t n, struct str *ret)
{
	size_t done = 0, i = 0, end;

	for (; i<n; i = end> i ? end : i + 1) {
		end = script_end(s, i, n);
		if (end == i)
			continue;
		add_urls(s + done, i + 1 - done, ret);
		add_script(s + i + 1, end - i - 2, ret);
		done = end - 1;
	}
	add_urls(s + done, n - done, ret);
}

/* Add blanks from s[i] on and mask the word behind them. Returns: the end of that. */
static size_t mask_next(const char *s, size_t i, size_t n, struct str *ret)
{
	size_t gap = blanks(s, i, n);

	str_addn(ret, s + i, gap);
	str_add(ret, MASKED);
	return word_end(s, i + gap, n);
}

/* The value behind the sign at s[i - 1], in a word that ends at `end`. Returns: the end of the value. */
static size_t mask_value(const struct found *f, const char *s, size_t i, size_t end, size_t n,
			 struct str *ret)
{
	size_t gap = blanks(s, i, n);
	const char *quote = f->quoted && i + gap < n && is_quote(s[i + gap]) ? &s[i + gap] : "";

	if (f->header) {
		str_add(ret, " " MASKED);
		return n;
	}
	if (f->quoted) {
		str_addn(ret, s + i, gap);
		str_addn(ret, quote, *quote != '\0');
		str_add(ret, MASKED);
		str_addn(ret, quote, *quote != '\0');
		return value_end(s, i + gap, n);
	}
	if (i < end) {
		str_add(ret, MASKED);
		return end;
	}
	/* `HF_TOKEN= serve` has none; `token: x` and `token= "x"` have. */
	if (i + gap < n && (s[i - 1] == ':' || is_quote(s[i + gap])))
		return mask_next(s, i, n, ret);
	return i;
}

/* The option that a word is, as a list of words may hold it: ["--api-key", "x"]. */
static bool secret_option(const char *s, size_t n)
{
	while (n && strchr("[({\"'", *s)) {
		s++;
		n--;
	}
	return is_option(s, n) && !memchr(s, '=', n) && secret_name(s, n);
}

/* One word of a script, from s[i] on. Returns: the end of what was added. */
static size_t add_script_word(const char *s, size_t i, size_t n, struct str *ret)
{
	size_t end = word_end(s, i, n), next = end + blanks(s, end, n);
	struct found f;

	if (find_secret(s + i, end - i, &f)) {
		add_harmless(s + i, f.at + 1, ret);
		return mask_value(&f, s, i + f.at + 1, end, n, ret);
	}
	add_harmless(s + i, end - i, ret);
	if (next == n)
		return end;
	if (secret_option(s + i, end - i))
		return is_option(s + next, n - next) ? end : mask_next(s, end, n, ret);
	/* token = "x" */
	if (s[next] == '=' && n - next > 1 && strchr(BLANKS, s[next + 1]) &&
	    secret_name(s + i, end - i)) {
		str_addn(ret, s + end, next + 1 - end);
		return mask_next(s, next + 1, n, ret);
	}
	return end;
}

/* `Authorization: Bearer X` and `X-Api-Key: X`: a header with a secret's name loses its value. */
static bool add_header(const char *s, size_t n, struct str *ret)
{
	const char *colon = memchr(s, ':', n);
	size_t name = colon ? (size_t)(colon - s) : 0;

	if (!name || (name + 1 < n && colon[1] == '/'))
		return false;
	for (size_t i = 0; i < name; i++) {
		if (strchr(BLANKS "\"'{[(=,/", s[i]))
			return false;
	}
	if (!secret_name(s, name))
		return false;
	str_addn(ret, s, name + 1);
	str_add(ret, " " MASKED);
	return true;
}

static void add_script(const char *s, size_t n, struct str *ret)
{
	size_t i = 0, gap;

	if (add_header(s, n, ret))
		return;
	while (i < n) {
		gap = blanks(s, i, n);
		str_addn(ret, s + i, gap);
		i += gap;
		if (i < n)
			i = add_script_word(s, i, n, ret);
	}
}

/* Add one word of a command to `ret`, masked; `next_is_secret` is what the word before it said of it. */
static void add_word(bool *next_is_secret, const char *word, struct str *ret)
{
	size_t n = strlen(word);
	bool secret = *next_is_secret && !is_option(word, n);

	*next_is_secret = is_option(word, n) && !strpbrk(word, BLANKS "=") && secret_name(word, n);
	if (secret)
		str_add(ret, MASKED);
	else
		add_script(word, n, ret);
}

char *mask_words(const char *words, size_t n)
{
	struct str text = {0};
	bool secret = false;
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
		add_word(&secret, word, &text);
	}
	return text.s;
}

void mask_text(const char *text, struct str *ret)
{
	add_script(text, strlen(text), ret);
}

void mask_command_json(char *const *argv, struct str *ret)
{
	bool secret = false;
	struct str word = {0};

	str_add(ret, "[");
	for (size_t i = 0; argv[i]; i++) {
		str_clear(&word);
		add_word(&secret, argv[i], &word);
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
	bool secret = mask_is_secret(name);

	add_word(&secret, value, ret);
}
