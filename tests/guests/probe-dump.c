/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side alone: start a command behind a barrier, observe it until it ends, print the
 * trace as text, one fact a line, fields as key=value. usage: probe-dump [--tier N] [--log FILE]
 * [-o FILE] -- CMD...
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "model/model.h"
#include "probe/probe.h"

static FILE *out;

static const char *text(const char *s)
{
	return s ? s : "-";
}

static void number(const char *key, uint64_t value)
{
	if (value == UNKNOWN)
		fprintf(out, " %s=-", key);
	else
		fprintf(out, " %s=%llu", key, (unsigned long long)value);
}

static void print_processes(const struct trace *t)
{
	vec_for_each (p, &t->processes) {
		fprintf(out, "process i=%d pid=%d ppid=%d parent=%d", (int)(p - t->processes.v),
			p->pid, p->ppid, p->parent);
		number("start_ns", p->start_ns);
		number("exec_ns", p->exec_ns);
		number("end_ns", p->end_ns);
		fprintf(out, " status=%d name=%s exe=%s command=%s\n", p->status, text(p->name),
			text(p->exe), text(p->command));
	}
	vec_for_each (e, &t->execs) {
		fprintf(out, "exec process=%d", e->process);
		number("at_ns", e->at_ns);
		fprintf(out, " exe=%s command=%s\n", text(e->exe), text(e->command));
	}
}

static void print_files(const struct trace *t)
{
	vec_for_each (f, &t->files)
		fprintf(out, "file i=%d dev=%llu ino=%llu path=%s\n", (int)(f - t->files.v),
			(unsigned long long)f->dev, (unsigned long long)f->ino, text(f->path));
	vec_for_each (a, &t->accesses) {
		fprintf(out, "access process=%d tid=%d file=%d mode=%u source=%s", a->process,
			a->tid, a->file, a->mode, source_word(a->source));
		number("start_ns", a->start_ns);
		number("end_ns", a->end_ns);
		number("ops", a->ops);
		number("bytes", a->bytes);
		number("storage", a->storage_bytes);
		number("busy_ns", a->busy_ns);
		number("min", a->min_offset);
		number("max", a->max_offset);
		fprintf(out, " path=%s\n", a->file < 0 ? "-" : text(t->files.v[a->file].path));
	}
}

static void print_rest(const struct trace *t)
{
	vec_for_each (x, &t->times) {
		fprintf(out, "time process=%d tid=%d", x->process, x->tid);
		number("start_ns", x->start_ns);
		number("end_ns", x->end_ns);
		number("cpu_ns", x->cpu_ns);
		number("runnable_ns", x->runnable_ns);
		number("io_wait_ns", x->io_wait_ns);
		number("sleep_ns", x->sleep_ns);
		number("yields", x->yields);
		fprintf(out, "\n");
	}
	vec_for_each (l, &t->listeners) {
		fprintf(out, "listener process=%d port=%u address=%s", l->process, l->port,
			text(l->address));
		number("at_ns", l->at_ns);
		fprintf(out, "\n");
	}
	vec_for_each (l, &t->log) {
		fprintf(out, "log process=%d fd=%d", l->process, l->fd);
		number("at_ns", l->at_ns);
		fprintf(out, " text=%s\n", text(l->text));
	}
	vec_for_each (d, &t->diagnostics) {
		fprintf(out, "diagnostic source=%s severity=%s", text(d->source),
			text(d->severity));
		number("count", d->count);
		fprintf(out, " text=%s\n", text(d->text));
	}
}

/*
 * A child that waits for a byte, then runs the command.
 * Returns: its pid, *ret_go the pipe to release it.
 */
static pid_t start_behind_barrier(char **argv, int *ret_go)
{
	int go[2];
	pid_t pid;
	char byte;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(125);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid;
}

static int watch(struct probe *p, pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), status = -1;
	struct pollfd fds[2] = {{probe_fd(p), POLLIN, 0}, {pidfd, POLLIN, 0}};

	while (!fds[1].revents && (poll(fds, 2, -1) >= 0 || errno == EINTR))
		probe_drain(p);
	/* The zombie is still there: the probe may read its status. */
	probe_stop(p);
	waitpid(pid, &status, 0);
	close(pidfd);
	return status;
}

static void log_files(struct probe_options *opt, const char *path)
{
	struct stat st;

	if (!path || stat(path, &st) < 0)
		return;
	opt->log_dev[0] = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
	opt->log_ino[0] = st.st_ino;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"tier", required_argument, NULL, 't'},
		{"log", required_argument, NULL, 'l'},
		{"output", required_argument, NULL, 'o'},
		{0},
	};
	struct probe_options opt = {.max_tier = 1};
	const char *log = NULL;
	struct trace t;
	struct probe *p;
	struct err err = {0};
	int c, go, status;

	out = stdout;
	while ((c = getopt_long(argc, argv, "+t:l:o:", options, NULL)) != -1) {
		if (c == 't')
			opt.max_tier = atoi(optarg);
		else if (c == 'l')
			log = optarg;
		else if (c != 'o' || !(out = fopen(optarg, "we")))
			return 125;
	}
	if (optind == argc)
		return 125;
	log_files(&opt, log);
	opt.root_pid = start_behind_barrier(argv + optind, &go);
	if (opt.root_pid < 0)
		return 125;
	trace_init(&t);
	if (probe_open(&opt, &t, &p, &err) < 0) {
		fprintf(stderr, "probe-dump: %s\n", err.msg);
		return 125;
	}
	if (write(go, "g", 1) != 1)
		return 125;
	close(go);
	status = watch(p, opt.root_pid);
	fprintf(out, "trace tier=%d saw=%u status=%d\n", probe_tier(p), t.saw, status);
	print_processes(&t);
	print_files(&t);
	print_rest(&t);
	probe_close(p);
	trace_done(&t);
	return fclose(out) == 0 ? 0 : 125;
}
