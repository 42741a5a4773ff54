/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/stack.h"
#include "cli/cli.h"

/* One line a verb; the record verb stays first. */
const struct verb *const verbs[] = {
	&verb_record, &verb_report, &verb_diff, &verb_list, &verb_export, &verb_doctor, NULL,
};

static const struct verb *find_verb(const char *name)
{
	for (int i = 1; verbs[i]; i++) {
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	}
	return NULL;
}

static int run(int argc, char **argv)
{
	const struct verb *v = argc > 1 ? find_verb(argv[1]) : NULL;
	struct err err = {0};
	int status;

	if (argc == 2 && !strcmp(argv[1], "--version")) {
		printf("coldprof %s\n", PACKAGE_VERSION);
		status = 0;
	} else if (v)
		status = v->run(argc - 1, argv + 1, &err);
	else
		status = verb_record.run(argc, argv, &err);
	if (status < 0) {
		cli_error(&err);
		return EXIT_OURS;
	}
	/* A reader that went away, or a full disk under a redirected report, is not success. */
	if (fflush(stdout) && errno != EPIPE && !status) {
		err_sys(&err, errno, "cannot write to standard output");
		cli_error(&err);
		return EXIT_OURS;
	}
	return status;
}

int main(int argc, char **argv)
{
	return stack_run(run, argc, argv);
}
