/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/settle.h"

#include <errno.h>
#include <fts.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define ENTRIES_MAX 200000

void folders_look(char *const *folders, uint64_t *ret_changed_ns, bool *ret_filled)
{
	unsigned seen = 0;
	FTSENT *e;
	FTS *walk;

	*ret_changed_ns = 0;
	*ret_filled = false;
	if (!folders[0])
		return;
	walk = fts_open(folders, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	while (walk && seen++ < ENTRIES_MAX && (e = fts_read(walk))) {
		uint64_t at_ns;

		if (e->fts_info != FTS_F && e->fts_info != FTS_D)
			continue;
		at_ns = (uint64_t)e->fts_statp->st_mtim.tv_sec * NS_PER_SEC +
			(uint64_t)e->fts_statp->st_mtim.tv_nsec;
		if (at_ns > *ret_changed_ns)
			*ret_changed_ns = at_ns;
		if (e->fts_info == FTS_F)
			*ret_filled = true;
	}
	if (walk)
		fts_close(walk);
}

int folder_holds(const char *folder)
{
	char *const list[] = {(char *)folder, NULL};
	unsigned seen = 0;
	bool closed = false;
	int holds = 0;
	FTSENT *e;
	FTS *walk;

	if (access(folder, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	walk = fts_open(list, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	while (walk && !holds && (e = fts_read(walk))) {
		closed |= e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || ++seen == ENTRIES_MAX;
		if (seen == ENTRIES_MAX)
			break;
		holds = e->fts_info == FTS_F || e->fts_info == FTS_NSOK;
	}
	if (walk)
		fts_close(walk);
	else
		closed = true;
	return holds ? 1 : closed ? -1 : 0;
}

/* With SO_REUSEADDR bind fails only where somebody listens (or has bound without it). */
static bool can_bind(int family, const void *addr, socklen_t n)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	bool in_use;

	if (fd < 0)
		return true;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	in_use = bind(fd, addr, n) && errno == EADDRINUSE;
	close(fd);
	return !in_use;
}

bool port_free(uint16_t port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	return can_bind(AF_INET, &v4, sizeof(v4)) && can_bind(AF_INET6, &v6, sizeof(v6));
}
