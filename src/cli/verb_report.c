/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <string.h>

#include "attribute/attribute.h"
#include "base/err.h"
#include "cli/report.h"
#include "cli/show_ledger.h"
#include "cli/until.h"
#include "model/model.h"
#include "render/table.h"
#include "store/store.h"

struct args {
	const char *db, *until;
	int64_t run;
	int format;
};

#define AT(field) offsetof(struct args, field)
static const struct opt options[] = {
	{"run", 0, "N", OPT_NUMBER, AT(run), NULL, "the run (default: the last one)"},
	{"until", 0, "MARK", OPT_STRING, AT(until), NULL,
	 "ledger only: cut the stored run anew, at this mark"},
	{"db", 0, "FILE", OPT_STRING, AT(db), NULL,
	 "the database (default COLDPROF_DB, else ./coldprof.db)"},
	{"format", 0, "FORMAT", OPT_WORD, AT(format), format_words, "table, json, csv or markdown"},
	{0},
};

/* The stored evidence is attributed again, to another moment; nothing is written. */
static int print_until(struct store *s, int64_t run, const struct args *a, struct err *err)
{
	struct ledger ledger = {0};
	struct shown shown;
	const char *mark;
	uint64_t end_ns;
	struct trace t;
	int r = store_load_trace(s, run, &t, err);

	if (r < 0)
		return r;
	r = until_find(&t, a->until, &end_ns, &mark, err);
	if (r >= 0) {
		r = attribute(&t, end_ns, &ledger);
		if (r < 0)
			err_set(err, -r,
				"run %lld cannot be cut at '%s': nothing is kept from before it",
				(long long)run, a->until);
	}
	if (r >= 0) {
		shown = shown_of(&t, &ledger, mark);
		shown.command_json = shown_json_holds(s, run) ? t.run.command_json : NULL;
		r = report_print_ledger(stdout, &shown, a->format, err);
	}
	ledger_done(&ledger);
	trace_done(&t);
	return r;
}

static int print_ledger(struct store *s, int64_t run, const struct args *a, struct err *err)
{
	struct shown shown;
	int r;

	if (a->until)
		return print_until(s, run, a, err);
	r = shown_load(s, run, &shown, err);
	if (r < 0)
		return r;
	r = report_print_ledger(stdout, &shown, a->format, err);
	shown_free(&shown);
	return r;
}

static int print(struct store *s, const char *name, const struct args *a, struct err *err)
{
	int64_t run = a->run;
	int r = run ? store_has_run(s, run, err) : store_last_run(s, &run, err);

	if (r < 0)
		return r;
	if (strcmp(name, "ledger") == 0)
		return print_ledger(s, run, a, err);
	if (a->until)
		return err_set(err, EINVAL,
			       "--until cuts a ledger anew; the report %s has no use for it", name);
	return report_print(stdout, s, name, run, a->format, err);
}

static int run(int argc, char **argv, struct err *err)
{
	struct args a = {0};
	struct store *s;
	int n = opt_parse(&verb_report, argc, argv, &a, err);
	int r;

	if (n < 0)
		return n;
	if (n > 1)
		return err_set(err, EINVAL, "one report at a time, not '%s' too", argv[1]);
	r = store_open(cli_db(a.db), STORE_READ, &s, err);
	if (r < 0)
		return r;
	r = print(s, n ? argv[0] : "ledger", &a, err);
	store_close(s);
	return r;
}

const struct verb verb_report = {
	.name = "report",
	.synopsis = "[NAME] [--run N] [--until MARK] [--db FILE]\n"
		    "                       [--format table|json|csv|markdown]",
	.help = "Show what a stored run tells: the ledger, or the report that is named.",
	.more = "reports: ledger processes files state imports cuda graphs jit coverage readiness\n"
		"  diagnostics",
	.options = options,
	.run = run,
};
