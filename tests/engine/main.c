/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options opt = {
	.driver = "auto",
	.ranks = 1,
	.graphs = 4,
	.kernels = 2,
	.kv_mib = 64,
	.init_ms = 100,
	.late_rank = -1,
	.crash = -1,
	.rank = -1,
	.rank_fd = -1,
};

static const char help[] =
	"usage: truth-engine --model DIR [OPTION]...\n"
	"       truth-engine --make-model BYTES DIR\n"
	"Starts as a large model server does, doing each step for real, and logs when each began "
	"and ended.\n"
	"\n"
	"  --truth FILE            append the truth log: JSON lines of item, sub, pid, tid, "
	"start_ns, end_ns, bytes\n"
	"                          (view: step = the steps of a process, without holes; work = "
	"pieces inside; event;\n"
	"                          delay_ns, cpu_ns: the thread's wait for a CPU and its use "
	"since its last line (delay_ns\n"
	"                          with that of a compiler that it waited for, and for the "
	"log itself),\n"
	"                          --init and --slow aside; read_bytes: what storage gave it since "
	"then, null: not told)\n"
	"  --model DIR             safetensors that --make-model wrote\n"
	"  --loader HOW            mmap | mmap-random | read | direct | threads (default mmap)\n"
	"  --ranks N               processes that load and work (default 1: one process does that "
	"and serves;\n"
	"                          with more, the first process serves alone and never touches the "
	"device)\n"
	"  --spawn HOW             fork | exec: how the ranks are made (default fork)\n"
	"  --port P                serve /health, /v1/models, /v1/completions on 127.0.0.1:P until "
	"SIGTERM;\n"
	"                          without it the program ends when it is ready\n"
	"  --listen WHEN           late | early: after the last graph (default), or at once, with "
	"503 until ready\n"
	"  --jit HOW               nvrtc | cc | none (default none)\n"
	"  --jit-cache DIR         compiled kernels are looked for here, and left here\n"
	"  --kernels N             kernels to compile (default 2)\n"
	"  --graphs N              graphs to capture (default 4)\n"
	"  --kv MIB                size of the KV cache (default 64)\n"
	"  --init MS               work before the driver is used, in each process (default 100)\n"
	"  --slow STEP=MS          that much more work in a step: process_init cuda_context "
	"allocator other weights\n"
	"                          jit graphs serving_up\n"
	"  --late-rank K=MS        rank K works that much longer before it uses the driver\n"
	"  --crash STEP            SIGKILL at this step (weights: after half of them), in the last "
	"rank\n"
	"  --log-style HOW         vllm | plain (default plain)\n"
	"  --cuda ROUTE            gpa | dlsym | elf: how the driver's calls are found (default "
	"gpa)\n"
	"  --driver WHICH          auto | real | fake | PATH (default auto: the real one where a "
	"GPU is)\n";

static int word(const char *option, const char *value, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(value, words[i]))
			return i;
	die("%s: '%s' is no choice (see --help)", option, value);
}

static int number(const char *option, const char *value, int min)
{
	char *end;
	long v = strtol(value, &end, 10);

	if (*end || end == value || v < min || v > 1 << 30)
		die("%s: '%s' is no number from %d", option, value, min);
	return (int)v;
}

static int step_of(const char *option, const char *value, size_t n)
{
	for (int i = 0; i < STEP_COUNT; i++)
		if (strlen(step_name((enum step)i)) == n &&
		    !strncmp(value, step_name((enum step)i), n))
			return i;
	die("%s: '%s' names no step (see --help)", option, value);
}

static const char *after_equals(const char *option, const char *value)
{
	const char *eq = strchr(value, '=');

	if (!eq)
		die("%s: '%s' lacks =MS", option, value);
	return eq + 1;
}

static void as_rank(const char *value)
{
	unsigned long long born;

	if (sscanf(value, "%d:%d:%llu", &opt.rank, &opt.rank_fd, &born) != 3)
		die("--as-rank is for the program itself");
	opt.born_ns = born;
}

enum {
	O_FIRST = 256,
	O_MAKE,
	O_TRUTH,
	O_MODEL,
	O_LOADER,
	O_RANKS,
	O_SPAWN,
	O_PORT,
	O_LISTEN,
	O_JIT,
	O_CACHE,
	O_KERNELS,
	O_GRAPHS,
	O_KV,
	O_INIT,
	O_SLOW,
	O_LATE,
	O_CRASH,
	O_STYLE,
	O_CUDA,
	O_DRIVER,
	O_AS_RANK,
	O_HELP
};

static const struct option options[] = {
	{"make-model", required_argument, NULL, O_MAKE},
	{"truth", required_argument, NULL, O_TRUTH},
	{"model", required_argument, NULL, O_MODEL},
	{"loader", required_argument, NULL, O_LOADER},
	{"ranks", required_argument, NULL, O_RANKS},
	{"spawn", required_argument, NULL, O_SPAWN},
	{"port", required_argument, NULL, O_PORT},
	{"listen", required_argument, NULL, O_LISTEN},
	{"jit", required_argument, NULL, O_JIT},
	{"jit-cache", required_argument, NULL, O_CACHE},
	{"kernels", required_argument, NULL, O_KERNELS},
	{"graphs", required_argument, NULL, O_GRAPHS},
	{"kv", required_argument, NULL, O_KV},
	{"init", required_argument, NULL, O_INIT},
	{"slow", required_argument, NULL, O_SLOW},
	{"late-rank", required_argument, NULL, O_LATE},
	{"crash", required_argument, NULL, O_CRASH},
	{"log-style", required_argument, NULL, O_STYLE},
	{"cuda", required_argument, NULL, O_CUDA},
	{"driver", required_argument, NULL, O_DRIVER},
	{"as-rank", required_argument, NULL, O_AS_RANK},
	{"help", no_argument, NULL, O_HELP},
	{NULL, 0, NULL, 0},
};

static const char *const loaders[] = {"mmap", "mmap-random", "read", "direct", "threads", NULL};
static const char *const spawns[] = {"fork", "exec", NULL};
static const char *const listens[] = {"late", "early", NULL};
static const char *const jits[] = {"none", "cc", "nvrtc", NULL};
static const char *const styles[] = {"plain", "vllm", NULL};
static const char *const routes[] = {"gpa", "dlsym", "elf", NULL};

static void set_number(int c, const char *name, const char *a)
{
	const char *ms;

	switch (c) {
	case O_RANKS:
		opt.ranks = number(name, a, 1);
		if (opt.ranks > 64)
			die("--ranks: at most 64");
		break;
	case O_PORT:
		opt.port = number(name, a, 1);
		break;
	case O_KERNELS:
		opt.kernels = number(name, a, 0);
		break;
	case O_GRAPHS:
		opt.graphs = number(name, a, 0);
		break;
	case O_KV:
		opt.kv_mib = number(name, a, 0);
		break;
	case O_INIT:
		opt.init_ms = (unsigned)number(name, a, 0);
		break;
	case O_SLOW:
		ms = after_equals(name, a);
		opt.slow_ms[step_of(name, a, (size_t)(ms - a - 1))] = (unsigned)number(name, ms, 0);
		break;
	case O_LATE:
		ms = after_equals(name, a);
		opt.late_rank = atoi(a);
		opt.late_ms = (unsigned)number(name, ms, 0);
		break;
	}
}

static void set(int c, const char *name, const char *a)
{
	switch (c) {
	case O_TRUTH:
		opt.truth = a;
		break;
	case O_MODEL:
		opt.model = a;
		break;
	case O_LOADER:
		opt.loader = (enum loader)word(name, a, loaders);
		break;
	case O_SPAWN:
		opt.spawn = (enum spawn)word(name, a, spawns);
		break;
	case O_LISTEN:
		opt.listen_early = word(name, a, listens);
		break;
	case O_JIT:
		opt.jit = (enum jit)word(name, a, jits);
		break;
	case O_CACHE:
		opt.jit_cache = a;
		break;
	case O_CRASH:
		opt.crash = step_of(name, a, strlen(a));
		break;
	case O_STYLE:
		opt.style = (enum style)word(name, a, styles);
		break;
	case O_CUDA:
		opt.route = (enum route)word(name, a, routes);
		break;
	case O_DRIVER:
		opt.driver = a;
		break;
	case O_AS_RANK:
		as_rank(a);
		break;
	default:
		set_number(c, name, a);
	}
}

static uint64_t size_of(const char *s)
{
	char *end;
	unsigned long long v = strtoull(s, &end, 10);

	if (*end || end == s)
		die("--make-model: '%s' is no number of bytes", s);
	return v;
}

int main(int argc, char **argv)
{
	uint64_t born_ns = now_ns();
	int c, index;

	opt.argv = argv;
	while ((c = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (c == O_HELP) {
			fputs(help, stdout);
			return 0;
		}
		if (c == O_MAKE) {
			if (optind >= argc)
				die("--make-model BYTES DIR");
			model_make(size_of(optarg), argv[optind]);
			return 0;
		}
		if (c == '?')
			die("try --help");
		set(c, options[index].name, optarg);
	}
	if (optind < argc)
		die("unexpected '%s'", argv[optind]);
	if (!opt.model)
		die("--model DIR is missing (see --help)");
	truth_open(opt.truth);
	if (opt.rank >= 0)
		return rank_child(opt.rank, opt.rank_fd, opt.born_ns);
	truth_begin(STEP_process_init, born_ns);
	return ranks_run();
}
