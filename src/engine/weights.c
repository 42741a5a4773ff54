/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weight files that a command names: paths, model
 * folders, and model ids that the local hub cache holds.
 */
#include "engine/engine.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/str.h"
#include "engine/adapter.h"

/* Model folders keep their shards at the top or one level down (a pipeline's parts). */
#define MAX_DEPTH 2

static bool is_weight_name(const char *name)
{
	static const char *const ends[] = {".safetensors", ".bin",  ".pt",
					   ".pth",	   ".gguf", ".tensors"};
	/* Beside the weights, but not weights. */
	static const char *const others[] = {"training_args.bin", "optimizer.bin", "optimizer.pt",
					     "scheduler.bin",	  "scheduler.pt",  "tokenizer.bin"};

	name = str_base_name(name);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(name, others[i]) == 0)
			return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (str_ends(name, ends[i]))
			return true;
	return false;
}

/* Two names of one file count once. */
static void add_file(const char *path, path_list *ret_paths)
{
	struct stat st, other;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	for (size_t i = 0; i < ret_paths->n; i++)
		if (strcmp(ret_paths->v[i], path) == 0 ||
		    (stat(ret_paths->v[i], &other) == 0 && other.st_dev == st.st_dev &&
		     other.st_ino == st.st_ino))
			return;
	vec_push(ret_paths, xstrdup(path));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_folder(const char *folder, int depth, path_list *ret_paths)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	VEC(char *) names = {0};

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			vec_push(&names, xstrdup(entry->d_name));
	closedir(dir);
	if (names.n)
		qsort(names.v, names.n, sizeof(names.v[0]), by_name);
	for (size_t i = 0; i < names.n; i++) {
		struct str path = {0};
		struct stat st;

		str_addf(&path, "%s/%s", folder, names.v[i]);
		if (is_weight_name(names.v[i]))
			add_file(path.s, ret_paths);
		else if (depth + 1 < MAX_DEPTH && lstat(path.s, &st) == 0 && S_ISDIR(st.st_mode))
			add_folder(path.s, depth + 1, ret_paths);
		str_free(&path);
		free(names.v[i]);
	}
	vec_free(&names);
}

/* ORG/NAME or NAME, of the letters that a hub allows. */
static bool is_model_id(const char *word)
{
	int slashes = 0;

	if (!isalnum((unsigned char)word[0]))
		return false;
	for (; *word; word++) {
		if (*word == '/' ? ++slashes > 1 || !word[1]
				 : !isalnum((unsigned char)*word) && !strchr("._-", *word))
			return false;
	}
	return true;
}

static void add_snapshots(const char *model, const char *revision, path_list *ret_paths)
{
	struct str path = {0};
	char commit[128];
	size_t before = ret_paths->n;

	str_addf(&path, "%s/snapshots/%s", model, revision);
	add_folder(path.s, 0, ret_paths);
	str_clear(&path);
	str_addf(&path, "%s/refs/%s", model, revision);
	if (ret_paths->n == before && io_read_small(path.s, commit, sizeof(commit)) > 0) {
		commit[strcspn(commit, " \t\r\n")] = '\0';
		str_clear(&path);
		str_addf(&path, "%s/snapshots/%s", model, commit);
		add_folder(path.s, 0, ret_paths);
	}
	str_free(&path);
}

static void add_hub_model(const char *hub, const char *id, const char *revision,
			  path_list *ret_paths)
{
	struct str model = {0};
	struct stat st;

	str_addf(&model, "%s/models--", hub);
	for (; *id; id++)
		str_add(&model, *id == '/' ? "--" : (char[]){*id, '\0'});
	if (stat(model.s, &st) == 0 && S_ISDIR(st.st_mode))
		add_snapshots(model.s, revision ? revision : "main", ret_paths);
	str_free(&model);
}

static void add_word(const char *word, const words *hubs, const char *revision,
		     path_list *ret_paths)
{
	struct stat st;

	if (!*word)
		return;
	if (stat(word, &st) == 0) {
		if (S_ISDIR(st.st_mode) && strcmp(word, "/") != 0)
			add_folder(word, 0, ret_paths);
		else if (is_weight_name(word))
			add_file(word, ret_paths);
		return;
	}
	for (size_t i = 0; i < hubs->n && is_model_id(word); i++)
		add_hub_model(hubs->v[i], word, revision, ret_paths);
}

static void find_hubs(const struct engine *e, const words *w, env_fn env, void *arg,
		      words *ret_hubs)
{
	static const char *const template =
		"$HF_HUB_CACHE|$HUGGINGFACE_HUB_CACHE|$HF_HOME/hub|"
		"$XDG_CACHE_HOME/huggingface/hub|~/.cache/huggingface/hub";
	char *hub = folder_expand(template, env, arg);

	for (const char *const *o = e ? e->hub_options : NULL; o && *o; o++) {
		const char *value = words_option(w, *o);

		if (value)
			vec_push(ret_hubs, xstrdup(value));
	}
	if (hub)
		vec_push(ret_hubs, hub);
}

void engine_weight_files(const struct engine *e, char *const *argv,
			 const char *(*env)(void *arg, const char *name), void *arg,
			 path_list *ret_paths)
{
	const char *revision;
	struct command_env c = {.env = env, .arg = arg};
	words *w = &c.words, hubs = {0};

	memset(ret_paths, 0, sizeof(*ret_paths));
	words_of_command(argv, w);
	find_hubs(e, w, command_variable, &c, &hubs);
	revision = words_option(w, "--revision");
	for (size_t i = 1; i < w->n; i++) {
		const char *word = w->v[i], *value = strchr(word, '=');

		if (word[0] == '-')
			word = word[1] == '-' && value ? value + 1 : "";
		add_word(word, &hubs, revision, ret_paths);
	}
	words_free(&hubs);
	words_free(w);
}
