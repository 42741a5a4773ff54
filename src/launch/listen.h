/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who listens on a port of this network namespace? Asked of /proc, for what
 * the probe has lost sight of (a daemon's double fork), and for strangers.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/tree.h"

struct port_holder {
	unsigned long inode; /* of its socket, which tells it from a later one */
	pid_t pid;	     /* 0: it cannot be seen whose it is */
	char name[32];
};

/* Of these processes. `ret_address` (INET6_ADDRSTRLEN bytes) gets the numeric address. Returns: true with *ret_pid. */
bool listen_find(const member_list *members, uint16_t port, pid_t *ret_pid, char *ret_address);
/* Any process. False: nobody listens there. */
bool listen_holder(uint16_t port, struct port_holder *ret);
