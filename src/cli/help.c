/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define HELP_COLUMN 26

static void options(const struct opt *table)
{
	for (const struct opt *o = table; o && o->name; o++) {
		struct str left = {0};

		if (o->letter && o->name[1])
			str_addf(&left, "  -%c, --%s", o->letter, o->name);
		else if (o->letter)
			str_addf(&left, "  -%c", o->letter);
		else
			str_addf(&left, "      --%s", o->name);
		if (o->value)
			str_addf(&left, "%s%s", o->name[1] ? "=" : " ", o->value);
		if (left.n + 2 > HELP_COLUMN)
			printf("%s\n%*s%s\n", str_get(&left), HELP_COLUMN, "", o->help);
		else
			printf("%-*s%s\n", HELP_COLUMN, str_get(&left), o->help);
		str_free(&left);
	}
}

static const char exit_statuses[] =
	"exit status of coldprof -- CMD:\n"
	"  the command's own status, 128+N when signal N ended it\n"
	"  124   not ready within --timeout: the command was stopped\n"
	"  125   an error of coldprof's own, before anything was started\n"
	"  126   the command cannot be executed\n"
	"  127   the command was not found\n"
	"  with -n: 0 when every start became ready\n";

static const char mark_words[] =
	"MARK, what is called ready:\n"
	"  http[:PORT][/PATH]   the server answers 200\n"
	"  port[:PORT]          the server listens\n"
	"  log:REGEX            a line of its output matches (extended regular expression)\n"
	"  file:PATH            the file is there\n"
	"  exit                 the command has ended\n"
	"  default: 200 on the port that the command, the engine or its log names; else that\n"
	"  port listening; else exit\n";

void help_print(const struct verb *v)
{
	if (v && v->name) {
		printf("usage: coldprof %s %s\n\n%s\n\n", v->name, v->synopsis, v->help);
		options(v->options);
		if (v->more)
			printf("\n%s\n", v->more);
		return;
	}
	printf("usage: coldprof %s\n", verbs[0]->synopsis);
	for (int i = 1; verbs[i]; i++)
		printf("       coldprof %s %s\n", verbs[i]->name, verbs[i]->synopsis);
	printf("\n%s\n\n", verbs[0]->help);
	options(verbs[0]->options);
	printf("  -h, --help              this text; coldprof VERB --help for a verb\n"
	       "      --version           the version\n\n%s\n%s\nverbs:\n",
	       mark_words, exit_statuses);
	for (int i = 1; verbs[i]; i++)
		printf("  %-*s%s\n", HELP_COLUMN - 2, verbs[i]->name, verbs[i]->help);
}
