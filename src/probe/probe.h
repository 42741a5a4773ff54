/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side and its fallbacks: chosen by what the machine allows, one interface.
 * Fills the trace's processes, execs, files, accesses, times, listeners, log and diagnostics, and
 * sets trace.saw.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct probe;
struct trace;

struct probe_options {
	pid_t root_pid; /* stopped at its barrier: nothing of it is missed */
	/* What it is going to exec, for its name where nobody sees it do so; NULL not known. */
	const char *root_name;
	int max_tier; /* 0 or 1; -1: /proc alone */
	/* See faults as kernels before 6.12 have to, also where the kernel tells their files. */
	bool faults_by_address;
	/*
	 * The files behind the root's stdout and stderr (st_dev as the
	 * kernel encodes it, st_ino): only writes to these are log.
	 */
	uint64_t log_dev[2], log_ino[2];
	/* Told of each of their lines, also of those that are not kept; NULL: nobody. */
	void (*line)(void *arg, const char *text, uint64_t at_ns);
	void *line_arg;
};

/*
 * Open what the machine allows. A power that is missing becomes a diagnostic row in `t`, never a
 * failure. Returns: 0; -errno only when not even /proc can be read.
 */
int probe_open(const struct probe_options *opt, struct trace *t, struct probe **ret_probe,
	       struct err *err);
/* The tier that was reached: 0 or 1. */
int probe_tier(const struct probe *p);
/*
 * Becomes readable when there is something to drain (an
 * epoll descriptor, with the sampler's timer in it).
 */
int probe_fd(const struct probe *p);
/* Take what has come into `t`, aggregated; cheap, never blocks. */
void probe_drain(struct probe *p);
/*
 * Ports that the observed tree has been seen to listen on so
 * far: calls `fn(arg, port, process index)` for new ones.
 */
void probe_new_listeners(struct probe *p, void (*fn)(void *arg, uint16_t port, int32_t process),
			 void *arg);
/*
 * The run is over: drain the rest, read the loss counters
 * and our own cost into diagnostics, detach everything.
 */
void probe_stop(struct probe *p);
void probe_close(struct probe *p);
