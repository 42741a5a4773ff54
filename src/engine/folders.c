/* SPDX-License-Identifier: Apache-2.0 */
/* Where compiled things are kept: templates over the guest's environment. */
#include "engine/engine.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "engine/adapter.h"

const char *const engine_common_folders[] = {
	"$CUDA_CACHE_PATH|~/.nv/ComputeCache",
	"$TRITON_CACHE_DIR|$TRITON_HOME/.triton/cache|~/.triton/cache",
	"$TORCHINDUCTOR_CACHE_DIR|$TMP/torchinductor_%u",
	"$TORCH_EXTENSIONS_DIR|$XDG_CACHE_HOME/torch_extensions|~/.cache/torch_extensions",
	"$PYTORCH_KERNEL_CACHE_PATH|$XDG_CACHE_HOME/torch/kernels|~/.cache/torch/kernels",
	"$FLASHINFER_WORKSPACE_BASE/.cache/flashinfer|~/.cache/flashinfer",
	"$DG_JIT_CACHE_DIR|~/.deep_gemm",
	"$TILELANG_CACHE_DIR|~/.tilelang/cache",
	"$CUPY_CACHE_DIR|~/.cupy/kernel_cache",
	"$JAX_COMPILATION_CACHE_DIR",
	"$NUMBA_CACHE_DIR",
	NULL,
};

static const char *home(env_fn env, void *arg)
{
	const char *dir = env(arg, "HOME");
	const struct passwd *pw;

	if (dir)
		return *dir ? dir : NULL;
	pw = getpwuid(getuid());
	return pw ? pw->pw_dir : NULL;
}

/* As Python's getpass.getuser() finds it, since that names the folder. */
static const char *user(env_fn env, void *arg)
{
	static const char *const names[] = {"LOGNAME", "USER", "LNAME", "USERNAME"};
	const struct passwd *pw;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = env(arg, names[i]);

		if (value && *value)
			return value;
	}
	pw = getpwuid(getuid());
	return pw ? pw->pw_name : NULL;
}

static const char *variable(const char *name, size_t n, env_fn env, void *arg)
{
	static const char *const temporary[] = {"TMPDIR", "TEMP", "TMP"};
	char buf[64];

	if (n == 3 && strncmp(name, "TMP", 3) == 0) {
		for (size_t i = 0; i < 3; i++) {
			const char *value = env(arg, temporary[i]);

			if (value && *value)
				return value;
		}
		return "/tmp";
	}
	if (n >= sizeof(buf))
		return NULL;
	memcpy(buf, name, n);
	buf[n] = '\0';
	return env(arg, buf);
}

/* One alternative of `n` bytes into `ret`; false when a variable in it is not set. */
static bool expand_one(const char *s, size_t n, env_fn env, void *arg, struct str *ret)
{
	for (size_t i = 0; i < n;) {
		const char *value;
		size_t skip = 1;

		if (s[i] == '$') {
			skip += strspn(s + i + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
			value = variable(s + i + 1, skip - 1, env, arg);
		} else if (s[i] == '~') {
			value = home(env, arg);
		} else if (s[i] == '%' && i + 1 < n && s[i + 1] == 'u') {
			skip = 2;
			value = user(env, arg);
		} else {
			str_addn(ret, s + i++, 1);
			continue;
		}
		if (!value || !*value)
			return false;
		str_add(ret, value);
		i += skip;
	}
	return true;
}

/* Absolute, without a slash at the end. */
static char *absolute(const char *path, env_fn env, void *arg)
{
	struct str out = {0};
	char cwd[4096];

	if (str_starts(path, "~/") && home(env, arg))
		str_addf(&out, "%s%s", home(env, arg), path + 1);
	else if (path[0] == '/' || !getcwd(cwd, sizeof(cwd)))
		str_add(&out, path);
	else
		str_addf(&out, "%s/%s", cwd, path);
	while (out.n > 1 && out.s[out.n - 1] == '/')
		out.s[--out.n] = '\0';
	return out.s;
}

char *folder_expand(const char *template, env_fn env, void *arg)
{
	while (*template) {
		size_t n = strcspn(template, "|");
		struct str path = {0};

		if (expand_one(template, n, env, arg, &path)) {
			char *result = absolute(str_get(&path), env, arg);

			str_free(&path);
			return result;
		}
		str_free(&path);
		template += n + (template[n] == '|');
	}
	return NULL;
}

static void add_folders(const char *const *templates, env_fn env, void *arg, path_list *ret_paths)
{
	for (; *templates; templates++) {
		char *path = folder_expand(*templates, env, arg);
		bool known = !path;

		for (size_t i = 0; i < ret_paths->n && !known; i++)
			known = strcmp(ret_paths->v[i], path) == 0;
		if (known)
			free(path);
		else
			vec_push(ret_paths, path);
	}
}

void engine_cache_folders(const struct engine *e, char *const *argv,
			  const char *(*env)(void *arg, const char *name), void *arg,
			  path_list *ret_paths)
{
	struct command_env c = {.env = env, .arg = arg};

	memset(ret_paths, 0, sizeof(*ret_paths));
	words_of_command(argv, &c.words);
	for (size_t i = 0; engines[i]; i++)
		if (!e || engines[i] == e)
			add_folders(engines[i]->cache_folders, command_variable, &c, ret_paths);
	add_folders(engine_common_folders, command_variable, &c, ret_paths);
	words_free(&c.words);
}
