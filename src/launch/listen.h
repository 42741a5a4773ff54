/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does one of these processes listen on that port? Asked of /proc,
 * for what the probe has lost sight of (a daemon's double fork).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/tree.h"

/* `ret_address` (INET6_ADDRSTRLEN bytes) gets the numeric address. Returns: true with *ret_pid. */
bool listen_find(const member_list *members, uint16_t port, pid_t *ret_pid, char *ret_address);
