/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/report.h"

static const struct opt *find_long(const struct opt *table, const char *name, size_t n)
{
	for (const struct opt *o = table; o && o->name; o++) {
		if (o->name[1] && strlen(o->name) == n && !memcmp(o->name, name, n))
			return o;
	}
	return NULL;
}

static const struct opt *find_letter(const struct opt *table, char letter)
{
	for (const struct opt *o = table; o && o->name; o++) {
		if (o->letter == letter)
			return o;
	}
	return NULL;
}

static int take_integer(const char *text, int64_t least, int64_t most, int64_t *ret)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || end == text || *end || v < least || v > most)
		return -EINVAL;
	*ret = v;
	return 0;
}

static int take_word(const struct opt *o, const char *text, int *ret, struct err *err)
{
	struct str all = {0};

	for (int i = 0; o->words[i]; i++) {
		if (!strcmp(o->words[i], text)) {
			*ret = i;
			str_free(&all);
			return 0;
		}
		str_addf(&all, "%s%s", i ? ", " : "", o->words[i]);
	}
	err_set(err, EINVAL, "'%s' is not a value of --%s", text, o->name);
	err_hint(err, "one of: %s", str_get(&all));
	str_free(&all);
	return -EINVAL;
}

/* Store one value; `text` is NULL for a flag. */
static int take(const struct opt *o, const char *text, void *at, struct err *err)
{
	const char *dashes = o->name[1] ? "--" : "-";
	int64_t number;
	double seconds;
	char *end;

	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)at = true;
		return 0;
	case OPT_STRING:
		*(const char **)at = text;
		return 0;
	case OPT_LIST:
		vec_push((opt_list *)at, text);
		return 0;
	case OPT_COUNT:
		if (take_integer(text, 1, 1000000, &number))
			return err_set(err, EINVAL, "%s%s wants a whole number from 1, not '%s'",
				       dashes, o->name, text);
		*(int *)at = (int)number;
		return 0;
	case OPT_NUMBER:
		if (take_integer(text, 1, INT64_MAX, &number))
			return err_set(err, EINVAL, "%s%s wants a whole number from 1, not '%s'",
				       dashes, o->name, text);
		*(int64_t *)at = number;
		return 0;
	case OPT_SECONDS:
		seconds = strtod(text, &end);
		if (end == text || *end || !isfinite(seconds) || seconds <= 0 || seconds > 1e9)
			return err_set(err, EINVAL, "%s%s wants seconds above 0, not '%s'", dashes,
				       o->name, text);
		*(uint64_t *)at = (uint64_t)(seconds * (double)NS_PER_SEC);
		return 0;
	case OPT_WORD:
		return take_word(o, text, at, err);
	}
	return -EINVAL;
}

static int unknown(const struct verb *v, const char *arg, struct err *err)
{
	err_set(err, EINVAL, "unknown option '%s'", arg);
	err_hint(err, "coldprof %s%s--help lists the options", v->name ? v->name : "",
		 v->name ? " " : "");
	return -EINVAL;
}

/* One --name[=value]; *i moves on when the value is the next word. */
static int long_option(const struct verb *v, int argc, char **argv, int *i, void *ret,
		       struct err *err)
{
	char *arg = argv[*i], *eq = strchr(arg, '=');
	size_t n = eq ? (size_t)(eq - arg - 2) : strlen(arg + 2);
	const struct opt *o = find_long(v->options, arg + 2, n);
	const char *value = NULL;

	if (!o) {
		if (eq)
			*eq = '\0'; /* what stands behind it may be a secret */
		return unknown(v, arg, err);
	}
	if (o->kind == OPT_FLAG) {
		if (eq)
			return err_set(err, EINVAL, "--%s takes no value", o->name);
	} else if (eq) {
		value = eq + 1;
	} else {
		if (*i + 1 >= argc)
			return err_set(err, EINVAL, "--%s wants a value: %s", o->name, o->value);
		value = argv[++*i];
	}
	return take(o, value, (char *)ret + o->offset, err);
}

/* One word of letters: -q, -n2, -qn 2. */
static int letters(const struct verb *v, int argc, char **argv, int *i, void *ret, struct err *err)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		const struct opt *o = find_letter(v->options, *p);
		const char *value = NULL;
		int rc;

		if (!o) {
			char word[3] = {'-', *p, '\0'};

			return unknown(v, word, err);
		}
		if (o->kind != OPT_FLAG) {
			if (p[1])
				value = p + 1;
			else if (*i + 1 < argc)
				value = argv[++*i];
			else
				return err_set(err, EINVAL, "-%c wants a value: %s", *p, o->value);
		}
		rc = take(o, value, (char *)ret + o->offset, err);
		if (rc || value)
			return rc;
	}
	return 0;
}

static int no_command_yet(const char *arg, struct err *err)
{
	for (int i = 1; verbs[i]; i++) {
		if (strcmp(verbs[i]->name, arg))
			continue;
		err_set(err, EINVAL, "the verb '%s' comes first, its options behind it", arg);
		err_hint(err, "coldprof %s --help lists them", arg);
		return -EINVAL;
	}
	err_set(err, EINVAL, "'%s' is neither a verb nor an option", arg);
	err_hint(err, "to profile a command write: coldprof -- %s ...", arg);
	return -EINVAL;
}

int opt_parse(const struct verb *v, int argc, char **argv, void *ret, struct err *err)
{
	int n = 0, rc;

	for (int i = 1; i < argc; i++) {
		char *arg = argv[i];

		if (!strcmp(arg, "--")) {
			while (++i < argc)
				argv[n++] = argv[i];
			break;
		}
		if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
			help_print(v->name ? v : NULL);
			if (fflush(stdout) && errno != EPIPE)
				return report_stream_error(err);
			exit(0);
		}
		if (arg[0] != '-' || !arg[1]) {
			if (!v->name)
				return no_command_yet(arg, err);
			argv[n++] = arg;
			continue;
		}
		rc = arg[1] == '-' ? long_option(v, argc, argv, &i, ret, err)
				   : letters(v, argc, argv, &i, ret, err);
		if (rc)
			return rc;
	}
	return n;
}
