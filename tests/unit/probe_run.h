/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest that is a function of the test, observed by the real probes: it is forked behind a
 * barrier, tells the truth through shared memory, and the trace is held against that.
 */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "model/model.h"
#include "probe/probe.h"
#include "tests/tap.h"

struct observed {
	struct trace t;
	int status, tier;
};

/* Memory that guest and test share. */
__attribute__((unused)) static void *shared(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		bail("mmap: %s", strerror(errno));
	return at;
}

/* Asked of the kernel, not of the probes: a container's seccomp filter often refuses them. */
__attribute__((unused)) static bool perf_allowed(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

__attribute__((unused)) static pid_t guest_start(void (*guest)(void *), void *arg, int *ret_go)
{
	int go[2];
	pid_t pid;
	char byte;

	if (pipe2(go, O_CLOEXEC) < 0 || fflush(NULL) != 0)
		bail("pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) == 1)
			guest(arg);
		_exit(0);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid;
}

/* Run `guest(arg)` under the probes of at most `tier`, until it ends (60 s at most). */
__attribute__((unused)) static void observe(struct observed *o, const struct probe_options *with,
					    void (*guest)(void *), void *arg)
{
	struct probe_options opt = *with;
	struct err err = {0};
	struct pollfd fds[2];
	struct probe *p;
	uint64_t limit_ns;
	int go;

	trace_init(&o->t);
	opt.root_pid = guest_start(guest, arg, &go);
	if (probe_open(&opt, &o->t, &p, &err) < 0)
		bail("probe_open: %s", err.msg);
	o->tier = probe_tier(p);
	fds[0] = (struct pollfd){probe_fd(p), POLLIN, 0};
	fds[1] = (struct pollfd){(int)syscall(SYS_pidfd_open, opt.root_pid, 0), POLLIN, 0};
	if (write(go, "g", 1) != 1)
		bail("the guest is gone");
	close(go);
	limit_ns = clock_now_ns() + 60 * NS_PER_SEC;
	while (!fds[1].revents && clock_now_ns() < limit_ns) {
		poll(fds, 2, 1000);
		probe_drain(p);
	}
	if (!fds[1].revents)
		kill(opt.root_pid, SIGKILL);
	probe_stop(p);
	waitpid(opt.root_pid, &o->status, 0);
	close(fds[1].fd);
	probe_close(p);
	vec_for_each (d, &o->t.diagnostics)
		diag("%s %s %lld %s", d->source, d->severity, (long long)d->count, d->text);
}

/* Sum over the pieces of one file in the modes of `modes`. */
struct sums {
	uint64_t ops, bytes, storage_bytes, busy_ns, pieces, longest_ns;
	uint8_t modes;
};

__attribute__((unused)) static struct sums sum_file(const struct trace *t, const char *path,
						    unsigned modes)
{
	struct sums s = {0};

	vec_for_each (a, &t->accesses) {
		if (a->file < 0 || !(a->mode & modes) || !t->files.v[a->file].path ||
		    strcmp(t->files.v[a->file].path, path) != 0)
			continue;
		s.ops += a->ops;
		s.bytes += a->bytes == UNKNOWN ? 0 : a->bytes;
		s.storage_bytes += a->storage_bytes == UNKNOWN ? 0 : a->storage_bytes;
		s.busy_ns += a->busy_ns == UNKNOWN ? 0 : a->busy_ns;
		s.pieces++;
		if (a->end_ns - a->start_ns > s.longest_ns)
			s.longest_ns = a->end_ns - a->start_ns;
		s.modes |= a->mode;
	}
	return s;
}

/* A file of `bytes`, written out and (where the kernel obeys) dropped from the page cache. */
__attribute__((unused)) static void make_file(const char *path, size_t bytes)
{
	static char block[1 << 16];
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644);
	size_t done;

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 31 + 7);
	for (done = 0; fd >= 0 && done < bytes; done += sizeof(block))
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			break;
	if (fd < 0 || done < bytes || fsync(fd) < 0)
		bail("cannot write %s: %s", path, strerror(errno));
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

/* Bytes of the file that are in the page cache. */
__attribute__((unused)) static uint64_t resident(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t pages, i;
	unsigned char *in;
	uint64_t n = 0;
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st) < 0)
		bail("%s: %s", path, strerror(errno));
	pages = ((size_t)st.st_size + 4095) / 4096;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	in = malloc(pages);
	if (at == MAP_FAILED || !in || mincore(at, (size_t)st.st_size, in) < 0)
		bail("mincore: %s", strerror(errno));
	for (i = 0; i < pages; i++)
		n += (in[i] & 1) * 4096u;
	munmap(at, (size_t)st.st_size);
	free(in);
	close(fd);
	return n;
}

__attribute__((unused)) static bool within(uint64_t got, uint64_t want, double share)
{
	double d = (double)got - (double)want;

	return d <= share * (double)want && -d <= share * (double)want;
}
