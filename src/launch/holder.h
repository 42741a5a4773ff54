/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that keeps the session's memory within reach of the guests: without capabilities,
 * dumpable, with the guest's uid, so that /proc/PID/fd/N opens for them even when coldprof has
 * powers of its own; and it answers the abstract socket with the descriptor. It is a child of
 * coldprof, not of the guest, in a session of its own, and ends with coldprof at the latest.
 */
#pragma once
#include <sys/types.h>

#include "wire/session.h"

struct err;
struct guest_user;
struct ring;

struct holder {
	pid_t pid;
	int life_fd; /* the holder ends when this end of the pipe is closed */
};

/*
 * Fork the holder of `ring` and wait until it answers. `user`
 * may be NULL. Fills *ret_session for the environment.
 */
int holder_start(struct ring *ring, const struct guest_user *user, struct holder *ret_holder,
		 struct session *ret_session, struct err *err);
/* End it and reap it. Safe on a zeroed holder. */
void holder_stop(struct holder *h);
