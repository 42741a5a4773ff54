/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/inside.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "model/model.h"

void listen_add(struct probe *p, int32_t index, uint16_t port, uint64_t at_ns, const char *address)
{
	struct listener l = {
		.process = index,
		.port = port,
		.at_ns = at_ns,
		.address = trace_str(p->trace, address),
	};

	vec_for_each (it, &p->trace->listeners)
		if (it->process == index && it->port == port)
			return;
	vec_push(&p->trace->listeners, l);
}

/* The process of the tree that holds the socket `inode`; NULL none. */
static struct proc *holder(struct probe *p, unsigned long inode)
{
	struct proc *proc, *next;
	char want[64], path[320], link[64];

	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	HASH_ITER (hh, p->procs, proc, next) {
		struct dirent *d;
		DIR *dir;

		snprintf(path, sizeof(path), "/proc/%d/fd", proc->pid);
		dir = opendir(path);
		while (dir && (d = readdir(dir))) {
			ssize_t n;

			snprintf(path, sizeof(path), "/proc/%d/fd/%s", proc->pid, d->d_name);
			n = readlink(path, link, sizeof(link) - 1);
			if (n <= 0)
				continue;
			link[n] = '\0';
			if (!strcmp(link, want)) {
				closedir(dir);
				return proc;
			}
		}
		if (dir)
			closedir(dir);
	}
	return NULL;
}

static bool looked_at(const struct probe *p, uint64_t inode)
{
	for (size_t i = 0; i < p->sockets.n; i++)
		if (p->sockets.v[i] == inode)
			return true;
	return false;
}

static void address_text(const char *hex, char *buf, size_t size)
{
	struct in6_addr a6;
	struct in_addr a4;
	unsigned word;
	size_t i;

	if (strlen(hex) == 8) {
		a4.s_addr = (in_addr_t)strtoul(hex, NULL, 16);
		inet_ntop(AF_INET, &a4, buf, (socklen_t)size);
		return;
	}
	for (i = 0; i < 4 && sscanf(hex + 8 * i, "%8x", &word) == 1; i++)
		a6.s6_addr32[i] = word;
	inet_ntop(AF_INET6, &a6, buf, (socklen_t)size);
}

static void look_in(struct probe *p, const char *table, uint64_t now_ns)
{
	char path[64], *text, *line, *save = NULL;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", p->opt.root_pid, table);
	if (io_read_file(path, 16 << 20, &text) < 0)
		return;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char hex[40], address[INET6_ADDRSTRLEN] = "";
		unsigned port, state;
		unsigned long inode;
		struct proc *proc;

		if (sscanf(line, " %*d: %39[0-9A-F]:%x %*s %x %*s %*s %*s %*d %*d %lu", hex, &port,
			   &state, &inode) != 4 ||
		    state != 0x0A || looked_at(p, inode))
			continue;
		proc = holder(p, inode);
		if (!proc)
			continue;
		vec_push(&p->sockets, inode);
		address_text(hex, address, sizeof(address));
		listen_add(p, proc->index, (uint16_t)port, now_ns, address);
	}
	free(text);
}

void listen_look(struct probe *p, uint64_t now_ns)
{
	look_in(p, "tcp", now_ns);
	look_in(p, "tcp6", now_ns);
}
