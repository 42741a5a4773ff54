/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start the guest: fork, wait at a barrier until the probes are open, exec. Nothing of the guest
 * changes but the few variables of environment_make(): descriptors, signal mask and dispositions,
 * limits, process group stay as they were.
 */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct err;
struct guest_user;

/* How coldprof found what it changes for itself, to be given back to the guest. */
struct signal_state {
	struct rlimit files; /* of open descriptors */
	sigset_t mask;
	struct sigaction child; /* an ignored SIGCHLD would lose the guest's status */
	sigset_t blocked;	/* what coldprof blocks and reads from its signalfd */
};

struct launch {
	pid_t pid;
	int outcome_fd;	  /* readable once exec worked (end of file) or failed */
	int go_fd;	  /* closing it unwritten makes the waiting child leave */
	uint64_t exec_ns; /* just before execve; 0 before launch_outcome() */
	char tale[32];	  /* what the child has told so far */
	size_t told;
};

/*
 * Descriptors 0 to 2 that were closed become /dev/null for us
 * alone: close-on-exec, so the guest still finds them closed.
 */
void launch_guard_descriptors(void);

/* As many open descriptors as coldprof needs itself, whatever the machine. */
#define LAUNCH_FILES_MIN 32

/*
 * Block what coldprof handles, take more descriptors where the limit is low and may be raised, and
 * remember what the guest must get back. Returns: 0, or -EMFILE with `err` when too few may be had.
 */
int launch_block_signals(struct signal_state *ret_state, struct err *err);
/* In a child: the guest's own signals and limit again. Async-signal-safe. */
void launch_restore_signals(const struct signal_state *state);

/*
 * Fork the guest; it waits. `user` may be NULL. argv and envp are borrowed until launch_release().
 * Returns: 0, or -errno with `err`.
 */
int launch_fork(char *const *argv, char *const *envp, const struct guest_user *user,
		const struct signal_state *signals, struct launch *ret_launch, struct err *err);
/* Let the waiting child exec. */
void launch_release(struct launch *l);
/*
 * Read the outcome when outcome_fd is readable. Returns: 0 when exec worked, else the errno of exec
 * (positive); -EAGAIN when it is not known yet, -ESRCH when the child was gone before it called
 * exec.
 */
int launch_outcome(struct launch *l);
/* Close the descriptors; a child still waiting leaves and is reaped. */
void launch_close(struct launch *l);
