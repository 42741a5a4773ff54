/* SPDX-License-Identifier: Apache-2.0 */
/* The server's port: which of the listeners are ours, and what of a stranger there. */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "launch/ready.h"
#include "launch/settle.h"

#define BACK_MAX_NS (30 * NS_PER_SEC)

static bool same_network(pid_t pid)
{
	char path[40], theirs[64] = "", ours[64] = "";

	proc_path(path, sizeof(path), pid, "ns/net");
	return readlink(path, theirs, sizeof(theirs) - 1) < 0 ||
	       readlink("/proc/self/ns/net", ours, sizeof(ours) - 1) < 0 || !strcmp(theirs, ours);
}

void port_listener(void *arg, uint16_t port, int32_t process)
{
	struct start *s = arg;

	vec_for_each (l, &s->trace.listeners) {
		if (l->port == port && l->process == process) {
			bool here = process < 0 || same_network(s->trace.processes.v[process].pid);

			ready_listener(s->ready, port, l->address, here, l->at_ns, l->late_ns);
			return;
		}
	}
}

void port_look(struct start *s, const member_list *living, uint64_t now_ns)
{
	char address[INET6_ADDRSTRLEN];
	struct listener l = {
		.port = s->port, .at_ns = now_ns, .late_ns = UNKNOWN, .process = NO_INDEX};
	pid_t pid;

	if (!s->port || (s->trace.saw & SAW_LISTEN) || !listen_find(living, s->port, &pid, address))
		return;
	vec_for_each (known, &s->trace.listeners) {
		if (known->port == s->port)
			return;
	}
	l.process = trace_process_at(&s->trace, pid, now_ns);
	l.address = trace_str(&s->trace, address);
	vec_push(&s->trace.listeners, l);
	ready_listener(s->ready, s->port, address, same_network(pid), now_ns, UNKNOWN);
}

/* "'NAME' (pid N)" into `buf`. */
static const char *words(const struct port_holder *h, char *buf, size_t size)
{
	if (h->pid)
		snprintf(buf, size, "'%s' (pid %d)", h->name, (int)h->pid);
	else
		snprintf(buf, size, "a process that cannot be seen (root is told by ss -ltnp)");
	return buf;
}

static void tell(struct start *s, const struct port_holder *h)
{
	char who[96];

	trace_note(&s->trace, "launch", "warning", UNKNOWN,
		   "port %u is held by %s, no process of this start: it is not taken for ready",
		   s->port, words(h, who, sizeof(who)));
	if (!s->rec->quiet)
		cli_say("%s", vec_last(&s->trace.diagnostics)->text);
}

void port_before(struct start *s)
{
	if (s->port && listen_holder(s->port, &s->before.port_holder))
		tell(s, &s->before.port_holder);
}

void port_named(struct start *s)
{
	char address[INET6_ADDRSTRLEN];
	member_list living = {0};
	struct port_holder h;
	pid_t pid;

	vec_for_each (l, &s->trace.listeners) {
		if (l->port == s->port)
			return;
	}
	if (same_network(s->launch.pid) && !start_living(s, &living) &&
	    !listen_find(&living, s->port, &pid, address) && listen_holder(s->port, &h) && h.pid)
		tell(s, &h);
	vec_free(&living);
}

bool port_is_back(struct start *s, uint64_t now_ns)
{
	struct port_holder h = {0};
	char who[96];

	if (!s->port || port_free(s->port))
		return true;
	if (!s->stop.port_awaited && listen_holder(s->port, &h)) {
		words(&h, who, sizeof(who));
		if (h.inode == s->before.port_holder.inode) {
			cli_say("port %u is held by %s as before this start: it is not waited for",
				s->port, who);
			return true;
		}
		cli_say("port %u is held by %s after the last process of this start went: "
			"waiting for it, at most 30 s",
			s->port, who);
		s->stop.port_awaited = true;
	}
	if (now_ns < s->stop.by_ns + BACK_MAX_NS)
		return false;
	cli_say("port %u is still held 30 s after the last process of this start went: who holds "
		"it is told by ss -ltnp",
		s->port);
	return true;
}
