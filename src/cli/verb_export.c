/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/look.h"
#include "cli/show_ledger.h"
#include "export/csv.h"
#include "model/model.h"
#include "render/table.h"
#include "store/store.h"

struct args {
	const char *db, *output;
	int64_t run;
	bool all;
};

#define AT(field) offsetof(struct args, field)
static const struct opt options[] = {
	{"run", 0, "N", OPT_NUMBER, AT(run), NULL, "the run (default: the last one)"},
	{"all", 0, NULL, OPT_FLAG, AT(all), NULL, "all runs"},
	{"output", 'o', "FILE", OPT_STRING, AT(output), NULL,
	 "write to FILE, not to standard output"},
	{"db", 0, "FILE", OPT_STRING, AT(db), NULL,
	 "the database (default COLDPROF_DB, else ./coldprof.db)"},
	{0},
};

static int add_run(struct table *t, struct store *s, int64_t run, struct err *err)
{
	struct shown shown;
	struct run facts;
	int r = shown_load(s, run, &shown, err);

	if (r < 0)
		return r;
	facts = shown.trace->run;
	facts.ready_mark = shown.mark;
	export_csv_rows(t, &facts, shown.rows, shown.n_rows);
	shown_free(&shown);
	return 0;
}

static int gather(struct table *t, struct store *s, const struct args *a, struct err *err)
{
	int64_t run = a->run, last = 0;
	int r;

	export_csv_columns(t);
	if (run)
		return add_run(t, s, run, err);
	r = store_last_run(s, &last, err);
	if (r < 0)
		return r;
	if (!a->all)
		return add_run(t, s, last, err);
	for (run = 1; r >= 0 && run <= last;
	     run++) /* numbers of runs that were deleted are skipped */
		if (store_has_run(s, run, NULL) == 0)
			r = add_run(t, s, run, err);
	return r;
}

static int write_out(const struct table *t, const char *path, struct err *err)
{
	FILE *out = path ? fopen(path, "we") : stdout;
	const char *name = path ? path : "standard output";
	struct look look;
	int r;

	if (!out)
		return err_sys(err, errno, "cannot write '%s'", path);
	look = cli_look(out);
	errno = 0;
	r = render_csv(out, t, &look);
	if (r >= 0 && fflush(out))
		r = -errno;
	if (path && fclose(out) && r >= 0)
		r = -errno;
	return r < 0 ? err_sys(err, -r, "cannot write to %s", name) : 0;
}

static int run(int argc, char **argv, struct err *err)
{
	struct args a = {0};
	struct table t = {0};
	struct store *s;
	int n = opt_parse(&verb_export, argc, argv, &a, err);
	int r;

	if (n < 0)
		return n;
	if (n != 1 || strcmp(argv[0], "csv") != 0) {
		if (!n)
			err_set(err, EINVAL, "export to what?");
		else if (strcmp(argv[0], "csv") != 0)
			err_set(err, EINVAL, "cannot export to '%s'", argv[0]);
		else
			err_set(err, EINVAL, "export csv takes no '%s'", argv[1]);
		err_hint(err, "coldprof export csv [-o FILE]");
		return -EINVAL;
	}
	if (a.run && a.all)
		return err_set(err, EINVAL, "--run and --all contradict each other");
	r = store_open(cli_db(a.db), STORE_READ, &s, err);
	if (r < 0)
		return r;
	r = gather(&t, s, &a, err);
	if (r >= 0)
		r = write_out(&t, a.output, err);
	table_free(&t);
	store_close(s);
	return r;
}

const struct verb verb_export = {
	.name = "export",
	.synopsis = "csv [--run N|--all] [-o FILE] [--db FILE]",
	.help = "Write ledgers for other programs.",
	.options = options,
	.run = run,
};
