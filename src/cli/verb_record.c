/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/program.h"
#include "base/str.h"
#include "cli/record.h"
#include "launch/environment.h"

struct args {
	int starts; /* 0: -n was not given */
	const char *db, *until, *user;
	uint64_t timeout_ns;
	opt_list labels;
	int tier;
	bool cold, as_is, keep_last, quiet;
};

static const char *const tier_words[] = {"0", "1", "2", NULL};

#define AT(field) offsetof(struct args, field)
static const struct opt options[] = {
	{"n", 'n', "N", OPT_COUNT, AT(starts), NULL,
	 "start N times and stop each once it is ready; N >= 2: the first made cold"},
	{"db", 0, "FILE", OPT_STRING, AT(db), NULL,
	 "the database (default COLDPROF_DB, else ./coldprof.db)"},
	{"until", 0, "MARK", OPT_STRING, AT(until), NULL, "what is called ready, see below"},
	{"timeout", 0, "SEC", OPT_SECONDS, AT(timeout_ns), NULL,
	 "stop the command when it is not ready by then, status 124"},
	{"label", 0, "KEY=VALUE", OPT_LIST, AT(labels), NULL,
	 "keep this with the run; may be repeated"},
	{"tier", 0, "0|1|2", OPT_WORD, AT(tier), tier_words, "measure with no more than this tier"},
	{"cold", 0, NULL, OPT_FLAG, AT(cold), NULL,
	 "make every start cold: evict its weight files first"},
	{"as-is", 0, NULL, OPT_FLAG, AT(as_is), NULL, "take every start as it is found"},
	{"keep-last", 0, NULL, OPT_FLAG, AT(keep_last), NULL, "with -n: let the last start run on"},
	{"user", 0, "NAME", OPT_STRING, AT(user), NULL,
	 "start the command as this user (root only)"},
	{"quiet", 'q', NULL, OPT_FLAG, AT(quiet), NULL, "no ledger and no remarks; errors only"},
	{0},
};

static int make_label(const opt_list *labels, char **ret_label, struct err *err)
{
	struct str all = {0};

	vec_for_each (l, labels) {
		const char *eq = strchr(*l, '=');

		if (!eq || eq == *l || strchr(*l, ';')) {
			str_free(&all);
			err_set(err, EINVAL, "'%s' is not a label", *l);
			err_hint(err, "--label KEY=VALUE, without a semicolon");
			return -EINVAL;
		}
		str_addf(&all, "%s%s", all.n ? ";" : "", *l);
	}
	*ret_label = all.s;
	return 0;
}

static const char *lookup(void *arg, const char *name)
{
	return environment_get(arg, name);
}

/* The folder resolved, the file's own name kept: a hub's link has the name, its target only a hash. Takes `path`. */
static char *full_name(char *path)
{
	char *slash = strrchr(path, '/'), *folder, *full;

	if (slash)
		*slash = '\0';
	folder = realpath(!slash ? "." : slash == path ? "/" : path, NULL);
	if (slash)
		*slash = '/';
	if (!folder || asprintf(&full, "%s/%s", strcmp(folder, "/") ? folder : "",
				slash ? slash + 1 : path) < 0) {
		free(folder);
		return path;
	}
	free(folder);
	free(path);
	return full;
}

/* What the command and the guest's environment tell of weights and compile caches. */
static void find_files(struct record *rec)
{
	char **env = environment_make(environ, NULL, NULL, rec->as_user ? &rec->user : NULL);

	rec->engine = engine_of_command(rec->argv);
	rec->caches_all = rec->engine != NULL;
	engine_weight_files(rec->engine, rec->argv, lookup, env, &rec->weights);
	vec_for_each (p, &rec->weights)
		*p = full_name(*p);
	engine_cache_folders(rec->engine, rec->argv, lookup, env, &rec->caches);
	environment_free(env);
}

/* What a program and its loader may need of it, with its environment, when a library is preloaded. */
#define STACK_FOR_SHIM ((rlim_t)64 << 10)

static bool stack_is_tiny(void)
{
	struct rlimit now;

	return !getrlimit(RLIMIT_STACK, &now) && now.rlim_cur < STACK_FOR_SHIM;
}

/*
 * The shim is not found, or would do harm in the command: said once, and the start goes on without
 * it. Returns: 0, or -errno with `err` where the command cannot be started as the user.
 */
static int choose_shim(struct record *rec, struct err *err)
{
	enum program_kind kind = program_look(rec->argv[0], getenv("PATH"));
	const char *why = program_why(kind);
	struct str s = {0};
	int rc = shim_find(rec->shim, sizeof(rec->shim));
	bool reads = true, tiny = stack_is_tiny();

	if (rec->as_user && user_try(&rec->user, rec->shim, &reads, err))
		return -EPERM;
	rec->preload = !rc && reads && !tiny && program_takes_shim(kind);
	if (rc == -ENOENT)
		str_add(&s, "the shim is not installed: CUDA calls, reads and log lines inside the "
			    "command are not seen");
	else if (rc)
		str_addf(&s, "the shim cannot be preloaded, its path holds a blank or a colon: %s",
			 rec->shim);
	else if (!reads)
		str_addf(&s,
			 "the shim is not in '%s': user '%s' cannot read %s (make install, or open "
			 "its folder)",
			 rec->argv[0], rec->user.name, rec->shim);
	else if (tiny)
		str_addf(&s,
			 "the shim is not in '%s': its stack is limited to less than %lld kB "
			 "(ulimit -s)",
			 rec->argv[0], (long long)(STACK_FOR_SHIM >> 10));
	else if (why)
		str_addf(&s, "the shim is not in '%s': %s", rec->argv[0], why);
	rec->shim_why = s.s;
	if (s.s && !rec->quiet)
		cli_say("%s", s.s);
	return 0;
}

static int prepare(const struct args *a, char **argv, struct record *rec, struct err *err)
{
	int rc;

	rec->argv = argv;
	rec->db = cli_db(a->db);
	rec->quiet = a->quiet;
	rec->counted = a->starts > 0;
	rec->max_tier = a->tier;
	rec->timeout_ns = a->timeout_ns;
	if (a->cold && a->as_is)
		return err_set(err, EINVAL, "--cold and --as-is exclude each other");
	if (a->keep_last && !a->starts)
		return err_set(err, EINVAL,
			       "--keep-last wants -n: without it the command is never stopped");
	rc = mark_parse(a->until, &rec->mark, err);
	if (!rc)
		rc = make_label(&a->labels, &rec->label, err);
	if (!rc && a->user) {
		rc = user_find(a->user, &rec->user, err);
		rec->as_user = !rc;
	}
	if (rc)
		return rc;
	find_files(rec);
	vec_push(&rec->weights, NULL);
	vec_push(&rec->caches, NULL);
	return choose_shim(rec, err);
}

static void done(struct record *rec)
{
	vec_for_each (p, &rec->weights)
		free(*p);
	vec_for_each (p, &rec->caches)
		free(*p);
	vec_free(&rec->weights);
	vec_free(&rec->caches);
	vec_free(&rec->runs);
	mark_done(&rec->mark);
	user_done(&rec->user);
	free(rec->label);
	free(rec->shim_why);
}

static int all_starts(const struct args *a, struct record *rec, struct err *err)
{
	int n = a->starts ? a->starts : 1, status = 0;
	struct start_result result;

	if (rec->counted)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < n; i++) {
		bool last = i == n - 1;
		bool cold = a->cold || (n > 1 && i == 0 && !a->as_is);
		int rc = start_run(rec, rec->counted && !(last && a->keep_last), cold,
				   last && n > 1, &result, err);

		if (rc)
			return i ? 1 : rc;
		if (result.run)
			vec_push(&rec->runs, result.run);
		status = result.exit_status;
		if (!rec->counted)
			return status;
		if (!result.ready || result.interrupted)
			return status ? status : 1;
	}
	return a->keep_last ? status : 0;
}

static int run(int argc, char **argv, struct err *err)
{
	struct args a = {.tier = 1};
	struct record rec = {0};
	int n, rc;

	launch_guard_descriptors();
	n = opt_parse(&verb_record, argc, argv, &a, err);
	if (n < 0)
		return n;
	if (!n) {
		err_set(err, EINVAL, "no command");
		err_hint(err, "coldprof -- CMD...; coldprof --help lists all");
		return -EINVAL;
	}
	argv[n] = NULL;
	rc = prepare(&a, argv, &rec, err);
	if (!rc)
		rc = launch_block_signals(&rec.signals, err);
	if (!rc)
		rc = all_starts(&a, &rec, err);
	vec_free(&a.labels);
	done(&rec);
	return rc;
}

const struct verb verb_record = {
	.name = NULL,
	.synopsis = "[-n N] [--db FILE] [--until MARK] [--timeout SEC] [--label KEY=VALUE]...\n"
		    "                [--tier 0|1|2] [--cold|--as-is] [--keep-last] [--user NAME] "
		    "[-q] -- CMD...",
	.help = "Run CMD, a model server, and account for every second until it is ready.",
	.options = options,
	.run = run,
};
