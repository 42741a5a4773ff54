/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "launch/user.h"

/* What the child tells: first the moment before exec, then, if exec came back, its errno. */
struct outcome {
	uint64_t exec_ns;
	int64_t errnum;
};
_Static_assert(sizeof(((struct launch *)0)->tale) == 2 * sizeof(struct outcome),
	       "the tale is two outcomes");

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void launch_guard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", (fd ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
			return;
	}
}

/* The probes of a large machine open some for each core. */
#define FILES_WANTED 4096

static int raise_files(struct rlimit *ret_before, struct err *err)
{
	struct rlimit now, more;

	if (getrlimit(RLIMIT_NOFILE, &now))
		now = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
	*ret_before = now;
	if (now.rlim_cur >= FILES_WANTED)
		return 0;
	more = (struct rlimit){FILES_WANTED,
			       now.rlim_max < FILES_WANTED ? FILES_WANTED : now.rlim_max};
	if (setrlimit(RLIMIT_NOFILE, &more)) {
		more = (struct rlimit){now.rlim_max, now.rlim_max};
		if (setrlimit(RLIMIT_NOFILE, &more))
			more = now;
	}
	if (more.rlim_cur >= LAUNCH_FILES_MIN)
		return 0;
	err_set(err, EMFILE, "the limit of open files is %llu, and coldprof needs %d",
		(unsigned long long)more.rlim_cur, LAUNCH_FILES_MIN);
	err_hint(err,
		 "raise it (ulimit -n %d); the command keeps the limit that coldprof is "
		 "started with",
		 2 * LAUNCH_FILES_MIN);
	return -EMFILE;
}

int launch_block_signals(struct signal_state *ret_state, struct err *err)
{
	/*
	 * Faults, job control and what cannot be had stay;
	 * the shell's Ctrl-Z stops coldprof with its guest.
	 */
	static const int keep[] = {SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGTRAP, SIGABRT,
				   SIGSYS,  SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGCONT};
	struct sigaction plain = {.sa_handler = SIG_DFL};

	sigfillset(&ret_state->blocked);
	for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++)
		sigdelset(&ret_state->blocked, keep[i]);
	sigprocmask(SIG_BLOCK, &ret_state->blocked, &ret_state->mask);
	sigaction(SIGCHLD, &plain, &ret_state->child);
	return raise_files(&ret_state->files, err);
}

void launch_restore_signals(const struct signal_state *state)
{
	sigaction(SIGCHLD, &state->child, NULL);
	sigprocmask(SIG_SETMASK, &state->mask, NULL);
	setrlimit(RLIMIT_NOFILE, &state->files);
}

static void guest(char *const *argv, char *const *envp, const struct guest_user *user,
		  const struct signal_state *signals, int go, int tell)
{
	struct outcome o = {0};
	char byte;
	ssize_t n;

	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(0);
	if (user) {
		int rc = user_become(user);

		if (rc) {
			o.errnum = -rc;
			n = write(tell, &o, sizeof(o));
			_exit(126);
		}
	}
	launch_restore_signals(signals);
	o.exec_ns = clock_now_ns();
	n = write(tell, &o, sizeof(o));
	execvpe(argv[0], argv, envp);
	o.errnum = errno;
	n = write(tell, &o, sizeof(o));
	_exit(o.errnum == ENOENT ? 127 : 126);
}

int launch_fork(char *const *argv, char *const *envp, const struct guest_user *user,
		const struct signal_state *signals, struct launch *ret_launch, struct err *err)
{
	int go[2], tell[2], rc;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		return err_sys(err, errno, "cannot start '%s': no pipe to it", argv[0]);
	if (pipe2(tell, O_CLOEXEC)) {
		rc = err_sys(err, errno, "cannot start '%s': no pipe from it", argv[0]);
		close(go[0]);
		close(go[1]);
		return rc;
	}
	pid = fork();
	if (!pid) {
		close(go[1]);
		close(tell[0]);
		guest(argv, envp, user, signals, go[0], tell[1]);
	}
	rc = pid < 0 ? err_sys(err, errno, "cannot start '%s': no process", argv[0]) : 0;
	close(go[0]);
	close(tell[1]);
	*ret_launch = (struct launch){.pid = pid, .outcome_fd = tell[0], .go_fd = go[1]};
	if (rc) {
		launch_close(ret_launch);
		return rc;
	}
	fcntl(tell[0], F_SETFL, O_NONBLOCK);
	return 0;
}

void launch_release(struct launch *l)
{
	ssize_t n;

	do
		n = write(l->go_fd, "g", 1);
	while (n < 0 && errno == EINTR);
	close(l->go_fd);
	l->go_fd = -1;
}

int launch_outcome(struct launch *l)
{
	struct outcome o[2] = {0};
	ssize_t n;

	while (l->told < sizeof(l->tale)) {
		n = read(l->outcome_fd, l->tale + l->told, sizeof(l->tale) - l->told);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return -EAGAIN;
		if (n <= 0)
			break;
		l->told += (size_t)n;
	}
	close_fd(&l->outcome_fd);
	if (l->told < sizeof(o[0]))
		return -ESRCH;
	memcpy(o, l->tale, l->told);
	l->exec_ns = o[0].exec_ns;
	return o[0].errnum ? o[0].errnum : o[1].errnum;
}

void launch_close(struct launch *l)
{
	bool waiting = l->go_fd >= 0 && l->pid > 0;

	close_fd(&l->go_fd);
	if (waiting)
		waitpid(l->pid, NULL, 0);
	close_fd(&l->outcome_fd);
}
