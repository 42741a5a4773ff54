/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest's environment: what the user gave, plus LD_PRELOAD,
 * COLDPROF_SESSION, and with --user HOME, USER, LOGNAME.
 */
#pragma once
#include <stddef.h>

struct guest_user;

/*
 * Where the shim is: the build tree that coldprof runs in, else the library folder of the
 * installation. Writes into `buf`. Returns: 0; -ENOENT; -EINVAL for a path that LD_PRELOAD cannot
 * hold (blank or colon), in `buf` too.
 */
int shim_find(char *buf, size_t size);

/*
 * A copy of `env`, NULL-terminated, one allocation per entry: environment_free(). `shim` first in
 * LD_PRELOAD, before the user's own list; NULL: that variable stays as it is. `session` is the
 * value of COLDPROF_SESSION, NULL leaves it out.
 */
char **environment_make(char *const *env, const char *shim, const char *session,
			const struct guest_user *user);
void environment_free(char **env);
/* The value of `name` in `env`, NULL when absent; borrowed. */
const char *environment_get(char *const *env, const char *name);
