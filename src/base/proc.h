/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc, which may be that of another pid namespace than ours, tells of a process. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does /proc number processes as we do? False too where it is not mounted. Asked once. */
bool proc_is_ours(void);

/*
 * "/proc/PID/" and what `fmt` makes into `buf`. Where /proc is of another pid namespace the number
 * is somebody else's there: the path is then empty, and everything done with it fails with ENOENT.
 */
void proc_path(char *buf, size_t size, int pid, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

struct proc_stat {
	char state; /* as ps(1) shows it: R, S, D, Z, … */
	int32_t ppid;
	uint64_t start_ticks; /* since boot; with the pid it names one process */
	int32_t exit_code;    /* as wait(2) gives it; -1 the kernel does not show it */
	char comm[64];
};

/* Returns: 0, or -errno (-ESRCH and -ENOENT: gone). */
int proc_stat(int pid, struct proc_stat *ret);
/* Its short name into `buf`, without an end of line. Returns: 0 or -errno with an empty name. */
int proc_name(int pid, char *buf, size_t size);
/* The state of one of its threads; ? it cannot be had. */
char proc_thread_state(int pid, int tid);
/* When it began, on CLOCK_MONOTONIC: rounded down to a tick, a hundredth of a second. */
uint64_t proc_start_ns(const struct proc_stat *st);

/* Has it a descriptor of the socket with this inode? False too where its descriptors may not be seen. */
bool proc_has_socket(int pid, unsigned long inode);

struct proc_listener {
	unsigned long inode;
	uint16_t port;
	int family;	     /* AF_INET, AF_INET6 */
	uint32_t address[4]; /* in network order; one word of AF_INET */
};

/*
 * The next listening socket in a table of /proc/net/tcp or tcp6, of which *at is what
 * is left: lines are cut off it. Returns: false when there is none.
 */
bool proc_next_listener(char **at, struct proc_listener *ret);
