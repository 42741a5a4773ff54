/* SPDX-License-Identifier: Apache-2.0 */
/* A growing string, and the few string questions that several rooms ask. */
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Always NUL-terminated once something was added; zero-initialise, str_free at the end. */
struct str {
	char *s;
	size_t n, cap;
};

/* Append a string, its first `n` bytes, or formatted text. */
void str_add(struct str *b, const char *s);
void str_addn(struct str *b, const char *s, size_t n);
void str_addf(struct str *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_vaddf(struct str *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Add `s` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void str_add_json(struct str *b, const char *s);
/* Empty it but keep its memory; give the memory back. */
void str_clear(struct str *b);
void str_free(struct str *b);
/* The text, "" when nothing was added; borrowed. */
const char *str_get(const struct str *b);

/* What stands behind the last slash of `path`; borrowed. */
const char *str_base_name(const char *path);
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
