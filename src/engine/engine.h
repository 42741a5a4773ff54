/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What coldprof knows of each engine, as tables: command line,
 * ports, health path, cache folders, weights, log lines.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct engine;
struct trace;

/* The adapter that knows this command (argv, NULL-terminated), or NULL. */
const struct engine *engine_of_command(char *const *argv);
/* The adapter whose start-up lines this log line is, or NULL. */
const struct engine *engine_of_line(const char *line);
const char *engine_name(const struct engine *e);
const char *engine_health_path(const struct engine *e); /* "/health" */

/*
 * The HTTP port that the command names (--port N, --port=N,
 * whatever the engine) or the engine's default; 0 not known.
 */
int engine_port(const struct engine *e, char *const *argv);
/* The HTTP port that a log line announces; 0 none. */
int engine_port_of_line(const struct engine *e, const char *line);

/*
 * engine == NULL in all of these: what holds for any CUDA program (caches of the driver, Triton,
 * Inductor and their like; --port; paths and model ids among the arguments; /health).
 * `env` looks a variable up in the guest's environment; what the command assigns goes before it.
 */

/*
 * Compile-cache folders in effect, absolute; engine == NULL: of any engine, since a script may hide
 * it. Owns: the caller frees each.
 */
typedef VEC(char *) path_list;
void engine_cache_folders(const struct engine *e, char *const *argv,
			  const char *(*env)(void *arg, const char *name), void *arg,
			  path_list *ret_paths);
/*
 * Weight files named by the command: paths to files or model folders, and model ids found in the
 * local hub cache. The names are the friendly ones (a hub snapshot's link, not its blob); each file
 * once, dangling links left out. The caller frees each path and the list.
 */
void engine_weight_files(const struct engine *e, char *const *argv,
			 const char *(*env)(void *arg, const char *name), void *arg,
			 path_list *ret_paths);
/* True for the environment variables worth keeping with a run. */
bool engine_keeps_variable(const char *name);

/*
 * Read t->log (in time order) and add the declared spans to
 * t->spans; also sets t->run.engine when a line tells it.
 */
void engine_declare_spans(const struct engine *e, struct trace *t);
