/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/proc.h"
#include "wire/session.h"

#define LOOKS_MAX      8
#define ENVIRON_MAX    ((size_t)4 << 20)
#define START_SLACK_NS (50 * NS_PER_MS) /* /proc tells starts in hundredths of a second */

struct one {
	pid_t pid, parent;
	uint64_t start_ns;
	bool zombie, ours;
	char comm[64];
};

typedef VEC(struct one) one_list;

static bool read_one(pid_t pid, struct one *ret)
{
	struct proc_stat st;

	if (proc_stat(pid, &st))
		return false;
	*ret = (struct one){
		.pid = pid,
		.parent = st.ppid,
		.start_ns = proc_start_ns(&st),
		.zombie = st.state == 'Z' || st.state == 'X',
	};
	snprintf(ret->comm, sizeof(ret->comm), "%s", st.comm);
	return true;
}

static int read_all(one_list *all)
{
	DIR *dir = proc_is_ours() ? opendir("/proc") : NULL;
	struct dirent *d;
	struct one o;

	if (!dir)
		return proc_is_ours() ? -errno : -ENOENT;
	while ((d = readdir(dir))) {
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9' &&
		    read_one((pid_t)atoi(d->d_name), &o))
			vec_push(all, o);
	}
	closedir(dir);
	return 0;
}

static bool carries(pid_t pid, const char *session)
{
	char path[40], want[SESSION_STRING_MAX + 32], *env;
	ssize_t n, len;
	bool found = false;

	proc_path(path, sizeof(path), pid, "environ");
	n = io_read_file(path, ENVIRON_MAX, &env);
	if (n < 0)
		return false;
	len = snprintf(want, sizeof(want), SESSION_ENV "=%s", session);
	for (char *e = env; e < env + n && !found; e += strlen(e) + 1)
		found = (ssize_t)strlen(e) == len && !memcmp(e, want, (size_t)len);
	free(env);
	return found;
}

static bool in_list(const pid_t *list, pid_t pid)
{
	for (; list && *list; list++) {
		if (*list == pid)
			return true;
	}
	return false;
}

static bool was_known(const struct tree_options *opt, const struct one *o)
{
	for (size_t i = 0; opt->known && opt->known[i]; i++) {
		uint64_t start = opt->known_start_ns ? opt->known_start_ns[i] : o->start_ns;

		if (opt->known[i] == o->pid && o->start_ns < start + START_SLACK_NS &&
		    start < o->start_ns + START_SLACK_NS)
			return true;
	}
	return false;
}

static struct one *find(one_list *all, pid_t pid)
{
	vec_for_each (o, all) {
		if (o->pid == pid)
			return o;
	}
	return NULL;
}

/* Children of ours are ours, however deep. */
static void spread(one_list *all)
{
	bool more = true;

	while (more) {
		more = false;
		vec_for_each (o, all) {
			struct one *parent = o->ours ? NULL : find(all, o->parent);

			if (parent && parent->ours)
				more = o->ours = true;
		}
	}
}

static void name_it(const struct one *o, struct member *m)
{
	char path[40], text[sizeof(m->name)];
	ssize_t n;

	proc_path(path, sizeof(path), o->pid, "cmdline");
	n = io_read_small(path, text, sizeof(text));
	while (n > 0 && !text[n - 1])
		n--;
	for (ssize_t i = 0; i < n; i++) {
		if ((unsigned char)text[i] < ' ')
			text[i] = ' ';
	}
	snprintf(m->name, sizeof(m->name), "%.*s", n > 0 ? (int)n : (int)sizeof(o->comm),
		 n > 0 ? text : o->comm);
}

/*
 * Returns: 0 or -errno; *ret_moved: a process went
 * while we looked, and may have left a child behind.
 */
static int look(const struct tree_options *opt, member_list *ret, bool *ret_moved)
{
	one_list all = {0};
	pid_t self = getpid();
	int rc = read_all(&all);

	vec_clear(ret);
	*ret_moved = false;
	vec_for_each (o, &all) {
		if (o->pid == self || in_list(opt->not_ours, o->pid))
			continue;
		o->ours = o->pid == opt->root || (opt->subreaper && o->parent == self) ||
			  was_known(opt, o) || (opt->session && carries(o->pid, opt->session));
	}
	spread(&all);
	vec_for_each (o, &all) {
		const struct one *parent = find(&all, o->parent);
		struct member m = {.pid = o->pid, .top = !parent || !parent->ours};
		struct one now;

		if (!o->zombie && (!read_one(o->pid, &now) || now.zombie)) {
			*ret_moved = true;
			continue;
		}
		if (!o->ours || o->zombie || o->pid == self || in_list(opt->not_ours, o->pid))
			continue;
		name_it(o, &m);
		vec_push(ret, m);
	}
	vec_free(&all);
	return rc;
}

int tree_living(const struct tree_options *opt, member_list *ret)
{
	int rc, empty = 0;
	bool moved;

	/* A double fork can be between two processes at the moment of one look. */
	for (int i = 0; i < LOOKS_MAX && empty < 2; i++) {
		rc = look(opt, ret, &moved);
		if (rc || ret->n)
			return rc;
		empty = moved ? 0 : empty + 1;
	}
	return 0;
}
