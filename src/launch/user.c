/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"

int user_find(const char *name, struct guest_user *ret_user, struct err *err)
{
	struct passwd *pw = getpwnam(name);
	char *end;

	if (!pw) {
		unsigned long uid = strtoul(name, &end, 10);

		if (end != name && !*end)
			pw = getpwuid((uid_t)uid);
	}
	if (!pw) {
		err_set(err, ENOENT, "there is no user '%s'", name);
		return -ENOENT;
	}
	if (geteuid() != 0 && (pw->pw_uid != getuid() || pw->pw_gid != getgid())) {
		err_set(err, EPERM, "only root can start the command as user '%s'", name);
		err_hint(err, "run coldprof with sudo, or without --user");
		return -EPERM;
	}
	*ret_user = (struct guest_user){
		.uid = pw->pw_uid,
		.gid = pw->pw_gid,
		.name = xstrdup(pw->pw_name),
		.home = xstrdup(pw->pw_dir),
	};
	return 0;
}

void user_done(struct guest_user *u)
{
	free(u->name);
	free(u->home);
	*u = (struct guest_user){0};
}

int user_become(const struct guest_user *u)
{
	if (geteuid() != 0)
		return 0; /* user_find() made sure that it is ourselves */
	if (initgroups(u->name, u->gid) || setresgid(u->gid, u->gid, u->gid) ||
	    setresuid(u->uid, u->uid, u->uid))
		return -errno;
	return 0;
}

#define CANNOT_READ 255 /* no errno is so large */

int user_try(const struct guest_user *u, const char *path, bool *ret_reads, struct err *err)
{
	int status = 0, rc;
	pid_t pid = fork();

	if (!pid) {
		rc = -user_become(u);
		_exit(!rc && access(path, R_OK) && errno == EACCES ? CANNOT_READ : rc);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	rc = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	*ret_reads = rc != CANNOT_READ;
	return !rc || rc == CANNOT_READ ? 0 : err_sys(err, rc, "cannot become user '%s'", u->name);
}
