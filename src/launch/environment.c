/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/environment.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"
#include "launch/user.h"
#include "wire/session.h"

#define SHIM_NAME "libcoldprof-shim.so"
#define PRELOAD	  "LD_PRELOAD"

int shim_find(char *buf, size_t size)
{
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int len = -1;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		if (slash) {
			*slash = '\0';
			len = snprintf(buf, size, "%s/.libs/" SHIM_NAME, self);
		}
	}
	if (len < 0 || (size_t)len >= size || access(buf, R_OK))
		len = snprintf(buf, size, "%s", PKGLIBDIR "/" SHIM_NAME);
	if ((size_t)len >= size || access(buf, R_OK))
		return -ENOENT;
	return strpbrk(buf, " :\t\n") ? -EINVAL : 0;
}

const char *environment_get(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; *env; env++) {
		if (!strncmp(*env, name, n) && (*env)[n] == '=')
			return *env + n + 1;
	}
	return NULL;
}

/* `shim`, then the user's list without it (coldprof under coldprof). */
static char *preload_list(const char *shim, const char *users)
{
	struct str list = {0};
	size_t n;

	str_addf(&list, PRELOAD "=%s", shim);
	for (; users && *users; users += n) {
		users += strspn(users, " :");
		n = strcspn(users, " :");
		if (n && (strlen(shim) != n || memcmp(users, shim, n)))
			str_addf(&list, ":%.*s", (int)n, users);
	}
	return list.s;
}

static void put(char **env, size_t *n, char *entry)
{
	size_t name = strcspn(entry, "=");

	for (size_t i = 0; i < *n; i++) {
		if (!strncmp(env[i], entry, name + 1)) {
			free(env[i]);
			env[i] = entry;
			return;
		}
	}
	env[(*n)++] = entry;
}

static char *pair(const char *name, const char *value)
{
	struct str s = {0};

	str_addf(&s, "%s=%s", name, value);
	return s.s;
}

char **environment_make(char *const *env, const char *shim, const char *session,
			const struct guest_user *user)
{
	size_t n = 0;
	char **copy;

	while (env[n])
		n++;
	copy = xcalloc(n + 8, sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = xstrdup(env[i]);
	if (user) {
		put(copy, &n, pair("HOME", user->home));
		put(copy, &n, pair("USER", user->name));
		put(copy, &n, pair("LOGNAME", user->name));
	}
	if (shim)
		put(copy, &n, preload_list(shim, environment_get(env, PRELOAD)));
	if (session)
		put(copy, &n, pair(SESSION_ENV, session));
	return copy;
}

void environment_free(char **env)
{
	if (!env)
		return;
	for (char **e = env; *e; e++)
		free(*e);
	free(env);
}
