/* SPDX-License-Identifier: Apache-2.0 */
/* The user that --user names. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;

struct guest_user {
	uid_t uid;
	gid_t gid;
	char *name, *home;
};

/*
 * Look `name` (or a numeric uid) up. Returns: 0; -ENOENT,
 * -EPERM when we may not become it; `err` in words.
 */
int user_find(const char *name, struct guest_user *ret_user, struct err *err);
void user_done(struct guest_user *u);
/* Become it for good: groups, gid, uid. For a child. Returns: 0 or -errno. */
int user_become(const struct guest_user *u);
/*
 * A child becomes it and asks whether it may read `path`; *ret_reads is true also where that cannot
 * be asked. Returns: 0, or -errno with `err` when it cannot be become.
 */
int user_try(const struct guest_user *u, const char *path, bool *ret_reads, struct err *err);
