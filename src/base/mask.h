/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets do not get into a database: values of options and
 * variables named like one, credentials and queries of URLs.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct str;

/* What one word of a command says of the next. Zero-initialise before the first word. */
struct mask {
	bool next_is_secret;
};

/* Add one word of a command to `ret`, masked. */
void mask_word(struct mask *m, const char *word, struct str *ret);
/* The words of argv (NULL-terminated), joined by spaces. */
void mask_command(char *const *argv, struct str *ret);
/* The same from `n` bytes of words with a NUL behind each, as /proc/PID/cmdline has them. NULL when empty; the caller frees. */
char *mask_words(const char *words, size_t n);
/* The same as a JSON array of strings. */
void mask_command_json(char *const *argv, struct str *ret);
/* Is the option or variable named like a secret: with a part "key", "token", "password" or the like? */
bool mask_is_secret(const char *name);
/* The value of the environment variable `name`. */
void mask_variable(const char *name, const char *value, struct str *ret);
