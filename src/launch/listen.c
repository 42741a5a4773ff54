/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/listen.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/proc.h"

#define TABLE_MAX ((size_t)16 << 20)
#define LISTENING 0x0a

static bool holds(pid_t pid, unsigned long inode)
{
	char path[300], want[40], link[64];
	struct dirent *d;
	bool found = false;
	DIR *dir;

	proc_path(path, sizeof(path), pid, "fd");
	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	dir = opendir(path);
	while (dir && !found && (d = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), d->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = '\0';
		found = !strcmp(link, want);
	}
	if (dir)
		closedir(dir);
	return found;
}

static void address_of(const char *hex, char *ret)
{
	struct in6_addr a6 = {0};
	struct in_addr a4;
	unsigned word;

	if (strlen(hex) == 8) {
		a4.s_addr = (in_addr_t)strtoul(hex, NULL, 16);
		inet_ntop(AF_INET, &a4, ret, INET6_ADDRSTRLEN);
		return;
	}
	for (int i = 0; i < 4 && sscanf(hex + 8 * i, "%8x", &word) == 1; i++)
		a6.s6_addr32[i] = word;
	inet_ntop(AF_INET6, &a6, ret, INET6_ADDRSTRLEN);
}

/* The inode of a socket that listens on `port`; 0 none. Begins behind *at. */
static unsigned long next_socket(char **at, uint16_t port, char *ret_address)
{
	for (char *line = strsep(at, "\n"); line; line = strsep(at, "\n")) {
		unsigned its_port, state;
		unsigned long inode;
		char hex[40];

		if (sscanf(line, " %*d: %39[0-9A-F]:%x %*s %x %*s %*s %*s %*d %*d %lu", hex,
			   &its_port, &state, &inode) != 4 ||
		    state != LISTENING || its_port != port)
			continue;
		address_of(hex, ret_address);
		return inode;
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
				if (holds(m->pid, inode)) {
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
		char path[40];

		if (pid <= 0 || !holds(pid, h.inode))
			continue;
		h.pid = pid;
		proc_path(path, sizeof(path), pid, "comm");
		if (io_read_small(path, h.name, sizeof(h.name)) < 0)
			h.name[0] = '\0';
		h.name[strcspn(h.name, "\n")] = '\0';
	}
	if (dir)
		closedir(dir);
	*ret = h;
	return h.inode != 0;
}
