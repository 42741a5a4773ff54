/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/look.h"
#include "cli/report.h"
#include "cli/show_ledger.h"
#include "store/store.h"

struct args {
	const char *db;
};

#define AT(field) offsetof(struct args, field)
static const struct opt options[] = {
	{"db", 0, "FILE", OPT_STRING, AT(db), NULL,
	 "the database (default COLDPROF_DB, else ./coldprof.db)"},
	{0},
};

static int number(const char *text, int64_t *ret, struct err *err)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	if (errno || end == text || *end || *ret < 1) {
		err_set(err, EINVAL, "'%s' is not the number of a run", text);
		err_hint(err, "coldprof list shows them");
		return -EINVAL;
	}
	return 0;
}

static int run(int argc, char **argv, struct err *err)
{
	struct look look = cli_look(stdout);
	struct args args = {0};
	int64_t a, b;
	struct store *s;
	int n = opt_parse(&verb_diff, argc, argv, &args, err);
	int r;

	if (n < 0)
		return n;
	if (n != 2) {
		err_set(err, EINVAL, "diff wants two runs, not %d", n);
		err_hint(err, "coldprof diff A B, by the numbers that coldprof list shows");
		return -EINVAL;
	}
	if ((r = number(argv[0], &a, err)) < 0 || (r = number(argv[1], &b, err)) < 0)
		return r;
	r = store_open(cli_db(args.db), STORE_READ, &s, err);
	if (r < 0)
		return r;
	errno = 0;
	r = store_has_run(s, a, err);
	if (r >= 0)
		r = store_has_run(s, b, err);
	if (r >= 0) {
		r = show_stored_delta(stdout, &look, s, a, b, err);
		if (r >= 0 && fflush(stdout))
			r = report_stream_error(err);
	}
	store_close(s);
	return r;
}

const struct verb verb_diff = {
	.name = "diff",
	.synopsis = "A B [--db FILE]",
	.help = "Show where the seconds between run A and run B went.",
	.options = options,
	.run = run,
};
