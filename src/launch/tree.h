/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes of the run are alive, asked of /proc when that
 * matters: at the end of the main process and to stop a run.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct member {
	pid_t pid;
	bool top;      /* none of the others is its parent */
	char name[64]; /* its command line, cut; the short name when it has none */
};

typedef VEC(struct member) member_list;

struct tree_options {
	pid_t root;
	const char *session;   /* the value of COLDPROF_SESSION: an orphan is known by it; NULL */
	const pid_t *not_ours; /* children of coldprof that are not the guest's, 0-terminated */
	bool subreaper;	       /* every child of coldprof but those is the guest's */
	const pid_t *known;    /* further pids that were seen in the tree, 0-terminated; NULL */
	/* When each of these began (CLOCK_MONOTONIC): tells a reused pid; NULL. */
	const uint64_t *known_start_ns;
};

/*
 * The living processes of the run (zombies left out) into
 * `ret`, which is emptied before. Returns: 0 or -errno.
 */
int tree_living(const struct tree_options *opt, member_list *ret);
