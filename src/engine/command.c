/* SPDX-License-Identifier: Apache-2.0 */
/* Which engine a command line starts, and on which port. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/mask.h"
#include "base/str.h"
#include "engine/adapter.h"

const struct engine *const engines[] = {&engine_vllm, NULL};

static bool is_shell(const char *path)
{
	static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "ash"};
	const char *name = str_base_name(path);

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (strcmp(name, shells[i]) == 0)
			return true;
	return false;
}

/* Quotes are taken off at the ends of a word; no other shell syntax is understood. */
static void split_script(const char *script, words *w)
{
	static const char blank[] = " \t\n;&|()";

	while (*script) {
		size_t n;

		script += strspn(script, blank);
		n = strcspn(script, blank);
		if (n >= 2 && (script[0] == '"' || script[0] == '\'') && script[n - 1] == script[0])
			vec_push(w, strndup(script + 1, n - 2));
		else if (n)
			vec_push(w, strndup(script, n));
		script += n;
	}
}

void words_of_command(char *const *argv, words *ret_words)
{
	bool shell = false;

	memset(ret_words, 0, sizeof(*ret_words));
	for (; argv && *argv; argv++) {
		vec_push(ret_words, xstrdup(*argv));
		if (is_shell(*argv)) {
			shell = true;
		} else if (shell && (*argv)[0] == '-' && (*argv)[1] != '-' && strchr(*argv, 'c')) {
			if (argv[1])
				split_script(*++argv, ret_words);
			shell = false;
		} else if ((*argv)[0] != '-') {
			shell = false;
		}
	}
}

void words_free(words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	vec_free(w);
}

const char *words_option(const words *w, const char *name)
{
	size_t n = strlen(name);
	const char *value = NULL;

	for (size_t i = 0; i < w->n; i++) {
		if (strncmp(w->v[i], name, n) != 0)
			continue;
		if (w->v[i][n] == '=')
			value = w->v[i] + n + 1;
		else if (w->v[i][n] == '\0' && i + 1 < w->n)
			value = w->v[i + 1];
	}
	return value;
}

const char *command_variable(void *command_env, const char *name)
{
	const struct command_env *c = command_env;
	size_t n = strlen(name);

	for (size_t i = 0; i < c->words.n; i++) {
		const char *word = c->words.v[i];

		/* What a shell would expand is not known here. */
		if (strncmp(word, name, n) == 0 && word[n] == '=' && !strpbrk(word, "$`~"))
			return word + n + 1;
	}
	return c->env(c->arg, name);
}

static bool listed(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (strcmp(*list, word) == 0)
			return true;
	return false;
}

static bool is_server_module(const struct engine *e, const char *module)
{
	return e->module_prefix && str_starts(module, e->module_prefix) &&
	       listed(e->modules, module + strlen(e->module_prefix));
}

static bool starts(const struct engine *e, const words *w)
{
	for (size_t i = 0; i < w->n; i++) {
		const char *word = w->v[i], *next = i + 1 < w->n ? w->v[i + 1] : "";

		if (strcmp(str_base_name(word), e->program) == 0 && listed(e->subcommands, next))
			return true;
		if (strcmp(word, "-m") == 0) {
			if (is_server_module(e, next))
				return true;
			/* `python -m vllm serve` */
			if (strcmp(next, e->program) == 0 && i + 2 < w->n &&
			    listed(e->subcommands, w->v[i + 2]))
				return true;
		} else if (str_starts(word, "-m") && is_server_module(e, word + 2)) {
			return true;
		}
	}
	return false;
}

const struct engine *engine_of_command(char *const *argv)
{
	const struct engine *found = NULL;
	words w;

	words_of_command(argv, &w);
	for (size_t i = 0; engines[i] && !found; i++)
		if (starts(engines[i], &w))
			found = engines[i];
	words_free(&w);
	return found;
}

const struct engine *engine_of_line(const char *line)
{
	for (size_t i = 0; engines[i]; i++)
		for (const char *const *p = engines[i]->identity; *p; p++)
			if (line_matches(*p, line, 0, NULL, NULL))
				return engines[i];
	return NULL;
}

const char *engine_name(const struct engine *e)
{
	return e ? e->name : NULL;
}

const char *engine_health_path(const struct engine *e)
{
	return e ? e->health_path : "/health";
}

static int parse_port(const char *s)
{
	char *end;
	long n = strtol(s, &end, 10);

	return end != s && *end == '\0' && n > 0 && n < 65536 ? (int)n : 0;
}

int engine_port(const struct engine *e, char *const *argv)
{
	const char *value;
	int port = 0;
	words w;

	words_of_command(argv, &w);
	value = words_option(&w, "--port");
	if (value)
		port = parse_port(value);
	else if (e)
		port = e->port;
	words_free(&w);
	return port;
}

/* What servers of any kind say: uvicorn, hypercorn, http.server and their like. */
static const char *const common_announce[] = {
	"(Uvicorn running|[Ll]istening|[Ss]erving|[Ss]erver (is "
	")?(running|listening|started))[^:]* (on|at) "
	"https?://(\\[[0-9a-fA-F:]*\\]|[^]/ :]*):([0-9]+)",
	NULL,
};

static int port_of_line(const char *const *patterns, int group, const char *line)
{
	int from, to;
	char digits[8];

	for (; *patterns; patterns++) {
		if (!line_matches(*patterns, line, group, &from, &to) || from < 0)
			continue;
		if (to - from >= (int)sizeof(digits))
			continue;
		memcpy(digits, line + from, (size_t)(to - from));
		digits[to - from] = '\0';
		return parse_port(digits);
	}
	return 0;
}

int engine_port_of_line(const struct engine *e, const char *line)
{
	int port = e ? port_of_line(e->announce, 1, line) : 0;

	return port ? port : port_of_line(common_announce, 6, line);
}

bool engine_keeps_variable(const char *name)
{
	static const char *const prefixes[] = {"CUDA_CACHE_",
					       "CUDA_MODULE_",
					       "CUDA_MPS_",
					       "NVIDIA_",
					       "NCCL_",
					       "HF_",
					       "VLLM_",
					       "TORCH_",
					       "TORCHINDUCTOR_",
					       "TORCHDYNAMO_",
					       "TRITON_",
					       "PYTORCH_",
					       "FLASHINFER_",
					       "DG_",
					       "RUNAI_STREAMER_",
					       "SAFETENSORS_",
					       "CUFILE_",
					       "OMP_",
					       "MKL_",
					       "UCX_",
					       "RAY_",
					       "TRANSFORMERS_",
					       "PYTHONUNBUFFERED"};
	static const char *const names[] = {"CUDA_VISIBLE_DEVICES",
					    "CUDA_DEVICE_ORDER",
					    "CUDA_DISABLE_PTX_JIT",
					    "CUDA_FORCE_PTX_JIT",
					    "CUDA_BINARY_LOADER_THREAD_COUNT",
					    "CUDA_LAUNCH_BLOCKING",
					    "CUDA_INJECTION64_PATH",
					    "CUDA_HOME",
					    "CUDA_DEVICE_MAX_CONNECTIONS",
					    "HUGGINGFACE_HUB_CACHE",
					    "XDG_CACHE_HOME",
					    "TMPDIR",
					    "TOKENIZERS_PARALLELISM",
					    "LD_LIBRARY_PATH",
					    "PYTHONDONTWRITEBYTECODE",
					    "PYTHONPYCACHEPREFIX",
					    "MALLOC_ARENA_MAX"};

	/* Such a one is never kept, whatever list it is on. */
	if (mask_is_secret(name))
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (str_starts(name, prefixes[i]))
			return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}
