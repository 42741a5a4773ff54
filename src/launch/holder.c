/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/proc.h"
#include "launch/user.h"
#include "wire/ring.h"

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	syscall(SYS_capset, &head, none);
}

static pid_t parent_of(pid_t pid)
{
	struct proc_stat st;

	return proc_stat(pid, &st) ? 0 : st.ppid;
}

/*
 * The guest's argv and output pass through the memory: only
 * its own user and coldprof's descendants may have it.
 */
static bool may_have(int fd, pid_t coldprof)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n))
		return false;
	if (peer.uid == getuid() || peer.uid == 0)
		return true;
	for (pid_t pid = peer.pid; pid > 1; pid = parent_of(pid)) {
		if (pid == coldprof)
			return true;
	}
	return false;
}

static void answer(int listener, int memory, pid_t coldprof)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control = {0};
	char byte = 'F';
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	if (fd < 0)
		return;
	if (may_have(fd, coldprof)) {
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &memory, sizeof(int));
		sendmsg(fd, &message, MSG_NOSIGNAL);
	}
	close(fd);
}

static void close_others(int memory, int life, int listener, int ready)
{
	int keep[4] = {memory, life, listener, ready};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	unsigned from = 3;

	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	for (int i = 0; i < 4; i++) {
		for (int j = i + 1; j < 4; j++) {
			if (keep[j] < keep[i]) {
				int t = keep[i];

				keep[i] = keep[j];
				keep[j] = t;
			}
		}
	}
	for (int i = 0; i < 4; i++) {
		if (keep[i] < 3)
			continue;
		if ((unsigned)keep[i] > from)
			syscall(SYS_close_range, from, keep[i] - 1, 0);
		from = (unsigned)keep[i] + 1;
	}
	syscall(SYS_close_range, from, ~0U, 0);
}

static void hold(int memory, int life, int listener, int ready, const struct guest_user *user,
		 pid_t coldprof)
{
	struct pollfd fds[2] = {{.fd = life, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
	sigset_t all;
	char byte = 'r';

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid(); /* no signal of the guest's terminal or group reaches it */
	if (chdir("/"))
		_exit(1);
	prctl(PR_SET_NAME, "coldprof-holder");
	close_others(memory, life, listener, ready);
	if (user && user_become(user))
		_exit(1);
	drop_capabilities();
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(ready, &byte, 1) != 1)
		_exit(1);
	close(ready);
	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			_exit(1);
		if (fds[0].revents)
			_exit(0);
		if (fds[1].revents)
			answer(listener, memory, coldprof);
	}
}

/* Not in reach (a seccomp filter): -1, and the first way remains. */
static int open_listener(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	memcpy(addr.sun_path + 1, name, strlen(name));
	if (bind(fd, (struct sockaddr *)&addr, n) || listen(fd, 512)) {
		close(fd);
		return -1;
	}
	return fd;
}

int holder_start(struct ring *ring, const struct guest_user *user, struct holder *ret_holder,
		 struct session *ret_session, struct err *err)
{
	struct session s = {.fd = ring->fd, .nonce = ring->nonce};
	pid_t coldprof = getpid(), pid;
	int life[2], ready[2], listener, why;
	struct stat st;
	char byte;
	ssize_t n;

	if (fstat(ring->fd, &st))
		return err_sys(err, errno, "cannot look at the session's memory");
	if (pipe2(life, O_CLOEXEC))
		return err_sys(err, errno, "no pipe to the holder of the session's memory");
	if (pipe2(ready, O_CLOEXEC)) {
		close(life[0]);
		close(life[1]);
		return err_sys(err, errno, "no pipe from the holder of the session's memory");
	}
	snprintf(s.name, sizeof(s.name), "coldprof-%d-%016llx", (int)coldprof,
		 (unsigned long long)ring->nonce);
	listener = open_listener(s.name);
	if (listener < 0)
		s.name[0] = '\0';
	pid = fork();
	if (!pid)
		hold(ring->fd, life[0], listener, ready[1], user, coldprof);
	why = errno;
	close(life[0]);
	close(ready[1]);
	if (listener >= 0)
		close(listener);
	do
		n = pid < 0 ? 0 : read(ready[0], &byte, 1);
	while (n < 0 && errno == EINTR);
	close(ready[0]);
	*ret_holder = (struct holder){.pid = pid, .life_fd = life[1]};
	if (n != 1) {
		*ret_holder = (struct holder){0};
		if (pid < 0) {
			close(life[1]);
			return err_sys(err, why, "no process to hold the session's memory");
		}
		holder_stop(&(struct holder){.pid = pid, .life_fd = life[1]});
		return err_set(
			err, EIO,
			"the process that holds the session's memory ended before it held it");
	}
	ring_held(ring, pid); /* it leads a session of its own */
	s.pid = pid;
	s.dev = st.st_dev;
	s.ino = st.st_ino;
	*ret_session = s;
	return 0;
}

void holder_stop(struct holder *h)
{
	if (h->pid <= 0)
		return;
	close(h->life_fd);
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*h = (struct holder){0};
}
