/* SPDX-License-Identifier: Apache-2.0 */
/* Between two starts: are the compile caches written, is the port free again? */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/*
 * The last change (CLOCK_REALTIME, ns) of anything under the folders (NULL-terminated, those that
 * are not there are skipped), and whether any regular file is in them. At most 200,000 entries are
 * looked at.
 */
void folders_look(char *const *folders, uint64_t *ret_changed_ns, bool *ret_filled);

/*
 * Does the folder hold a regular file, however deep? 1 yes; 0 no, or
 * there is no such folder; -1 nobody may look, or it has too many entries.
 */
int folder_holds(const char *folder);

/* True when nothing listens on the TCP port, on any address of this network namespace. */
bool port_free(uint16_t port);
