/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables that make an adapter. Private to src/engine:
 * an engine is data, the code beside it is common to all.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/model.h"

/* How a log line marks a span. */
enum line_shape {
	LINE_TOOK,  /* "… took N s": the span ends at the line and begins N earlier */
	LINE_BEGIN, /* begins here, and ends at the LINE_END or LINE_TOOK of the same key */
	LINE_END,
	LINE_BAR,  /* a progress bar: from its first line to its last */
	LINE_NOTE, /* no span: worth a diagnostic */
};

struct line_rule {
	/* Ties begin to end, and is the span's name unless `group` of a bar names it. */
	const char *key;
	/* POSIX extended, partial match, after the process prefix is taken off. */
	const char *pattern;
	enum line_shape shape;
	enum item item;
	bool container;
	uint8_t group; /* the submatch with the number of a LINE_TOOK; its unit follows it */
	/* LINE_END: closes a begin of another process too (a worker ends what its engine began). */
	bool any_process;
};

/* Lists of strings end with NULL. */
struct engine {
	const char *name;
	const char *health_path;
	uint16_t port;
	const char *program;		  /* base name of the command */
	const char *const *subcommands;	  /* that start a server */
	const char *module_prefix;	  /* python -m PREFIX…; NULL none */
	const char *const *modules;	  /* the rest of the module's name */
	const char *const *identity;	  /* patterns of lines that no other engine writes */
	const char *stamp;		  /* submatches 1 to 5: month, day, hour, minute, second */
	const char *const *announce;	  /* patterns whose submatch 1 is the URL's port */
	const char *const *cache_folders; /* templates, see folders.c */
	const char *const *hub_options;	  /* options that name a model hub cache folder */
	const struct line_rule *lines;	  /* until key == NULL */
};

extern const struct engine engine_vllm;
extern const struct engine *const engines[]; /* until NULL */

/* Cache folders and weights of any CUDA program. */
extern const char *const engine_common_folders[];

typedef VEC(char *) words;

/*
 * The command's words, with the script of `sh -c SCRIPT`
 * split at blanks. The caller frees with words_free.
 */
void words_of_command(char *const *argv, words *ret_words);
void words_free(words *w);

/* The value of the last `--name VALUE` or `--name=VALUE`; NULL. Borrowed from `w`. */
const char *words_option(const words *w, const char *name);

typedef const char *(*env_fn)(void *arg, const char *name);

/* The guest's environment: `env`, behind what the command itself assigns (`env NAME=VALUE …`). */
struct command_env {
	words words;
	env_fn env;
	void *arg;
};
/* An env_fn over a struct command_env. */
const char *command_variable(void *command_env, const char *name);

/*
 * Expand a template: alternatives split by '|', the first whose variables are all set and not empty
 * wins; $NAME is a variable, ~ the home folder, $TMP the temporary folder, %u the user. Returns: an
 * owned absolute path, or NULL.
 */
char *folder_expand(const char *template, env_fn env, void *arg);

/*
 * Match `line` against pattern; compiled once. `ret_from`, `ret_to`: submatch `group`; may be NULL.
 */
bool line_matches(const char *pattern, const char *line, int group, int *ret_from, int *ret_to);
