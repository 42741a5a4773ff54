/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/look.h"
#include "cli/report.h"
#include "cli/rows.h"
#include "render/table.h"
#include "store/report.h"
#include "store/store.h"

struct args {
	const char *db;
	int format;
};

#define AT(field) offsetof(struct args, field)
static const struct opt options[] = {
	{"db", 0, "FILE", OPT_STRING, AT(db), NULL,
	 "the database (default COLDPROF_DB, else ./coldprof.db)"},
	{"format", 0, "FORMAT", OPT_WORD, AT(format), format_words, "table, json, csv or markdown"},
	{0},
};

static int run(int argc, char **argv, struct err *err)
{
	struct args a = {0};
	struct store *s;
	int n = opt_parse(&verb_list, argc, argv, &a, err);
	int r;

	if (n < 0)
		return n;
	if (n)
		return err_set(err, EINVAL, "list takes no '%s'", argv[0]);
	r = store_open(cli_db(a.db), STORE_READ, &s, err);
	if (r < 0)
		return r;
	r = report_print(stdout, s, "list", -1, a.format, err);
	store_close(s);
	return r;
}

const struct verb verb_list = {
	.name = "list",
	.synopsis = "[--db FILE] [--format table|json|csv|markdown]",
	.help = "Show the runs that a database holds.",
	.options = options,
	.run = run,
};
