/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "launch/launch.h"

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

static int run(int argc, char **argv, struct err *err)
{
	struct args a = {.tier = 1};
	struct signal_state signals;
	struct launch l;
	int n = opt_parse(&verb_record, argc, argv, &a, err);
	int rc, status;

	if (n < 0)
		return n;
	if (!n) {
		err_set(err, EINVAL, "no command");
		err_hint(err, "coldprof -- CMD...; coldprof --help lists all");
		return -EINVAL;
	}
	argv[n] = NULL;
	launch_guard_descriptors();
	launch_block_signals(&signals);
	rc = launch_fork(argv, environ, NULL, &signals, &l, err);
	if (rc)
		return rc;
	launch_release(&l);
	waitpid(l.pid, &status, 0);
	launch_outcome(&l);
	launch_close(&l);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
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
