/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/inside.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/proc.h"
#include "model/model.h"

#define TCP_LISTEN_STATE 10
#define TRIES		 5
#define ASK_PERIOD_NS	 (100 * NS_PER_MS)
#define SLOW_PERIOD_NS	 (250 * NS_PER_MS) /* when the start has taken long */
#define TABLE_PERIOD_NS	 (500 * NS_PER_MS)

void listen_add(struct probe *p, int32_t index, uint16_t port, uint64_t at_ns, uint64_t late_ns,
		const char *address)
{
	struct listener l = {
		.process = index,
		.port = port,
		.at_ns = at_ns,
		.late_ns = late_ns,
		.address = trace_str(p->trace, address),
	};

	vec_for_each (it, &p->trace->listeners)
		if (it->process == index && it->port == port)
			return;
	vec_push(&p->trace->listeners, l);
}

/* The process of the tree that holds the socket `inode`; NULL none. */
static struct proc *holder(struct probe *p, uint32_t inode)
{
	struct proc *proc, *next;

	HASH_ITER (hh, p->procs, proc, next)
		if (proc_has_socket(proc->pid, inode))
			return proc;
	return NULL;
}

/* Look for the holder of `inode`, some times: its process may not be known yet. */
static struct proc *holder_once(struct probe *p, uint32_t inode, uint64_t *ret_unseen_ns)
{
	struct known_socket *known = NULL;
	struct proc *proc;

	vec_for_each (k, &p->sockets)
		if (k->inode == inode)
			known = k;
	if (!known) {
		known = vec_add(&p->sockets);
		known->inode = inode;
		known->unseen_ns = p->listen_looked_ns;
	}
	*ret_unseen_ns = known->unseen_ns;
	if (known->tries >= TRIES)
		return NULL;
	known->tries++;
	proc = holder(p, inode);
	if (proc)
		known->tries = TRIES;
	return proc;
}

static void listening(struct probe *p, uint32_t inode, uint16_t port, int family,
		      const void *address, uint64_t now_ns)
{
	char text[INET6_ADDRSTRLEN] = "";
	uint64_t unseen_ns;
	struct proc *proc = holder_once(p, inode, &unseen_ns);

	if (!proc)
		return;
	inet_ntop(family, address, text, sizeof(text));
	listen_add(p, proc->index, port, now_ns, now_ns - unseen_ns, text);
}

/*
 * Ask the kernel for the listening sockets alone:
 * /proc/net/tcp walks every bucket of the connection table.
 */
static bool ask(struct probe *p, uint8_t family, uint64_t now_ns)
{
	struct {
		struct nlmsghdr nl;
		struct inet_diag_req_v2 diag;
	} request = {
		.nl = {.nlmsg_len = sizeof(request),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.diag = {.sdiag_family = family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = 1u << TCP_LISTEN_STATE},
	};
	char room[16384] __attribute__((aligned(8)));

	if (send(p->diag_fd, &request, sizeof(request), 0) < 0)
		return false;
	for (;;) {
		ssize_t n = recv(p->diag_fd, room, sizeof(room), 0);
		struct nlmsghdr *h = (struct nlmsghdr *)room;

		if (n <= 0)
			return false;
		for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			const struct inet_diag_msg *m = NLMSG_DATA(h);

			if (h->nlmsg_type == NLMSG_DONE)
				return true;
			if (h->nlmsg_type == NLMSG_ERROR)
				return false;
			if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY)
				listening(p, m->idiag_inode, ntohs(m->id.idiag_sport), family,
					  m->id.idiag_src, now_ns);
		}
	}
}

static void look_in(struct probe *p, const char *table, uint64_t now_ns)
{
	char path[64], *text, *at;
	struct proc_listener l;

	proc_path(path, sizeof(path), p->opt.root_pid, "net/%s", table);
	if (io_read_file(path, 16 << 20, &text) < 0)
		return;
	at = text;
	while (proc_next_listener(&at, &l))
		listening(p, (uint32_t)l.inode, l.port, l.family, l.address, now_ns);
	free(text);
}

void listen_look(struct probe *p, uint64_t now_ns)
{
	uint64_t period_ns = (now_ns - p->opened_ns) / 400;

	if (period_ns < ASK_PERIOD_NS)
		period_ns = ASK_PERIOD_NS;
	else if (period_ns > SLOW_PERIOD_NS)
		period_ns = SLOW_PERIOD_NS;
	if (p->diag_fd >= 0 && ask(p, AF_INET, now_ns) && ask(p, AF_INET6, now_ns)) {
		p->next_listen_ns = now_ns + period_ns;
	} else {
		look_in(p, "tcp", now_ns);
		look_in(p, "tcp6", now_ns);
		p->next_listen_ns = now_ns + TABLE_PERIOD_NS;
	}
	p->listen_looked_ns = now_ns;
}

void listen_begin(struct probe *p)
{
	struct timeval limit = {.tv_usec = 100000};

	p->diag_fd = -1;
	if (p->trace->saw & SAW_LISTEN)
		return;
	p->diag_fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (p->diag_fd >= 0)
		setsockopt(p->diag_fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	/* What listens already is not the guest's: never looked for again. */
	listen_look(p, clock_now_ns());
	vec_for_each (known, &p->sockets)
		known->tries = TRIES;
}

void listen_free(struct probe *p)
{
	vec_free(&p->sockets);
	if (p->diag_fd >= 0)
		close(p->diag_fd);
	p->diag_fd = -1;
}
