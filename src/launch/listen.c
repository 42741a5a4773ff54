/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/listen.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/proc.h"

#define TABLE_MAX ((size_t)16 << 20)

/* The inode of a socket that listens on `port`; 0 none. Begins behind *at. */
static unsigned long next_socket(char **at, uint16_t port, char *ret_address)
{
	struct proc_listener l;

	while (proc_next_listener(at, &l)) {
		if (l.port != port)
			continue;
		inet_ntop(l.family, l.address, ret_address, INET6_ADDRSTRLEN);
		return l.inode;
	}
	return 0;
}

static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};

bool listen_find(const member_list *members, uint16_t port, pid_t *ret_pid, char *ret_address)
{
	for (int i = 0; i < 2; i++) {
		char *text, *at;
		unsigned long inode;

		if (io_read_file(tables[i], TABLE_MAX, &text) < 0)
			continue;
		at = text;
		while ((inode = next_socket(&at, port, ret_address))) {
			vec_for_each (m, members) {
				if (proc_has_socket(m->pid, inode)) {
					*ret_pid = m->pid;
					free(text);
					return true;
				}
			}
		}
		free(text);
	}
	return false;
}

static unsigned long any_socket(uint16_t port)
{
	char address[INET6_ADDRSTRLEN];
	unsigned long inode = 0;

	for (int i = 0; i < 2 && !inode; i++) {
		char *text, *at;

		if (io_read_file(tables[i], TABLE_MAX, &text) < 0)
			continue;
		at = text;
		inode = next_socket(&at, port, address);
		free(text);
	}
	return inode;
}

bool listen_holder(uint16_t port, struct port_holder *ret)
{
	DIR *dir = proc_is_ours() ? opendir("/proc") : NULL;
	struct port_holder h = {.inode = any_socket(port)};
	struct dirent *d;

	while (h.inode && dir && !h.pid && (d = readdir(dir))) {
		pid_t pid = (pid_t)atoi(d->d_name);

		if (pid <= 0 || !proc_has_socket(pid, h.inode))
			continue;
		h.pid = pid;
		proc_name(pid, h.name, sizeof(h.name));
	}
	if (dir)
		closedir(dir);
	*ret = h;
	return h.inode != 0;
}
