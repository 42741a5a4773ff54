/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets do not get into a database: values of options and
 * variables named like one, credentials and queries of URLs.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct str;

/*
 * A command of `n` bytes, a NUL behind each word, as /proc/PID/cmdline has it: its words joined by
 * spaces. NULL when empty; the caller frees.
 */
char *mask_words(const char *words, size_t n);
/* Words as people and programs write them: a script, a line of a log, JSON. */
void mask_text(const char *text, struct str *ret);
/* The words of argv (NULL-terminated) as a JSON array of strings. */
void mask_command_json(char *const *argv, struct str *ret);
/* Is the option or variable named like a secret: with a part "key", "token", "password" or the like? */
bool mask_is_secret(const char *name);
/* The value of the environment variable `name`. */
void mask_variable(const char *name, const char *value, struct str *ret);
