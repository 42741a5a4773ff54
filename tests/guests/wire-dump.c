/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a command under the shim and print what reached the memory: the shim's tests need nothing
 * else of coldprof.
 *
 *	wire-dump [-o FILE] [-s KIB] [-p PROCESSES] [-r ROUTE] [-l] [-x] SHIM -- COMMAND...
 *
 * -o  where the dump goes (default: standard output, after the command)
 * -r  how the memory may be reached: proc, socket, both (default), none, wrong (a stranger's
 *     descriptor), mute (a socket that accepts and never answers)
 * -l  what the command writes to its standard output and error is log
 * -x  the run is over before it began: every hook passes through
 *
 * One line a record: its kind, the process's index, then fields as name=value. Ends as the command
 * does.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/ring.h"
#include "wire/session.h"

static void die(const char *what)
{
	fprintf(stderr, "wire-dump: %s: %s\n", what, strerror(errno));
	exit(125);
}

static int listen_on(const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	size_t n = strlen(name);

	memcpy(at.sun_path + 1, name, n);
	if (sock < 0 ||
	    bind(sock, (struct sockaddr *)&at, (socklen_t)(sizeof(sa_family_t) + 1 + n)) < 0 ||
	    listen(sock, 1024) < 0)
		die("socket");
	return sock;
}

/* Answer guests until our parent is gone. */
static void serve(int sock, int memory, bool mute)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
	char byte = 'F';
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &part,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &memory, sizeof(int));
	for (;;) {
		int guest = accept4(sock, NULL, NULL, SOCK_CLOEXEC);

		if (guest < 0)
			continue;
		if (mute)
			continue;
		sendmsg(guest, &msg, MSG_NOSIGNAL);
		close(guest);
	}
}

static pid_t start_server(const char *name, int memory, bool mute)
{
	int sock = listen_on(name);
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0)
		serve(sock, memory, mute);
	close(sock);
	return pid;
}

/* What a guest finds in its environment. */
static pid_t make_session(const struct ring *ring, const char *route, char *ret_text, size_t size)
{
	struct session s = {.pid = getpid(), .fd = ring->fd, .nonce = ring->nonce};
	pid_t server = 0;
	struct stat st;

	if (fstat(ring->fd, &st) < 0)
		die("fstat");
	s.dev = st.st_dev;
	s.ino = st.st_ino;
	if (!strcmp(route, "socket") || !strcmp(route, "mute") || !strcmp(route, "none"))
		s.pid = 0;
	if (!strcmp(route, "wrong"))
		s.fd = 1;
	if (!strcmp(route, "socket") || !strcmp(route, "mute") || !strcmp(route, "both")) {
		snprintf(s.name, sizeof(s.name), "coldprof-test-%d", getpid());
		server = start_server(s.name, ring->fd, !strcmp(route, "mute"));
	}
	if (session_format(&s, ret_text, size) < 0)
		die("session");
	return server;
}

static void print_process(FILE *out, const struct ring_reader *r, uint32_t i)
{
	struct wire_process p;

	if (!ring_process(r, i, &p)) {
		fprintf(out, "unborn %u\n", i);
		return;
	}
	fprintf(out,
		"process %u pid=%d ppid=%d flags=%u start=%lu end=%lu chunks=%u lost=%lu "
		"unhooked=%u ns=%u comm=%s exe=%s argv=",
		i, p.pid, p.ppid, p.flags, (unsigned long)p.start_ns, (unsigned long)p.end_ns,
		p.chunks, (unsigned long)p.lost_records, p.unhooked, p.pid_ns, p.comm, p.exe);
	for (uint32_t k = 0; k < p.argv_bytes; k++)
		fputc(p.argv[k] ? p.argv[k] : ' ', out);
	fputc('\n', out);
}

static void print_record(FILE *out, const struct ring_record *r)
{
	fprintf(out, "%s %u tid=%d flags=%u", wire_kind_word(r->kind), r->process, r->head.tid,
		r->flags);
	switch (r->kind) {
	case WIRE_CALL:
		fprintf(out,
			" class=%s symbol=%u start=%lu end=%lu bytes=%ld handle=%lx aux=%lx "
			"extra=%lx result=%d direction=%u",
			wire_class_word(r->call.cls), r->call.symbol,
			(unsigned long)r->call.start_ns, (unsigned long)r->call.end_ns,
			(long)r->call.bytes, (unsigned long)r->call.handle,
			(unsigned long)r->call.aux, (unsigned long)r->call.extra, r->call.result,
			r->call.direction);
		break;
	case WIRE_COUNTER:
		fprintf(out,
			" name=%s symbol=%u class=%s calls=%lu failed=%lu timed=%lu ns=%lu "
			"bytes=%lu routes=%u",
			r->words, r->counter.symbol, wire_class_word(r->counter.cls),
			(unsigned long)r->counter.calls, (unsigned long)r->counter.failed,
			(unsigned long)r->counter.timed, (unsigned long)r->counter.total_ns,
			(unsigned long)r->counter.bytes, r->counter.routes);
		break;
	case WIRE_LOG:
	case WIRE_UNHOOKED:
		fprintf(out, " code=%u at=%lu text=%s", r->text.code, (unsigned long)r->text.at_ns,
			r->words);
		break;
	case WIRE_FILE:
		fprintf(out, " file=%u dev=%lu ino=%lu size=%lu fs=%x path=%s", r->file.file,
			(unsigned long)r->file.dev, (unsigned long)r->file.ino,
			(unsigned long)r->file.size_bytes, r->file.fs_magic, r->words);
		break;
	case WIRE_READ:
		fprintf(out, " file=%u ops=%u bytes=%lu start=%lu end=%lu busy=%lu min=%lu max=%lu",
			r->read.file, r->read.ops, (unsigned long)r->read.bytes,
			(unsigned long)r->read.start_ns, (unsigned long)r->read.end_ns,
			(unsigned long)r->read.busy_ns, (unsigned long)r->read.min_offset,
			(unsigned long)r->read.max_offset);
		break;
	case WIRE_MAP:
	case WIRE_POPULATE:
		fprintf(out, " file=%u how=%u size=%lu offset=%lu start=%lu end=%lu result=%d",
			r->map.file, r->map.how, (unsigned long)r->map.size_bytes,
			(unsigned long)r->map.offset, (unsigned long)r->map.start_ns,
			(unsigned long)r->map.end_ns, r->map.result);
		break;
	case WIRE_YIELD:
		fprintf(out, " calls=%lu start=%lu end=%lu", (unsigned long)r->yield.calls,
			(unsigned long)r->yield.start_ns, (unsigned long)r->yield.end_ns);
		break;
	}
	fputc('\n', out);
}

static void dump(const char *path, const struct ring *ring)
{
	FILE *out = path ? fopen(path, "we") : stdout;
	static struct ring_record record;
	struct ring_reader r;
	struct ring_loss loss;

	if (!out)
		die(path);
	if (ring_reader_init(&r, ring->map, ring->size_bytes) < 0)
		die("the memory is damaged");
	for (uint32_t i = 0; i < ring_process_count(&r); i++)
		print_process(out, &r, i);
	while (ring_next(&r, &record))
		print_record(out, &record);
	ring_loss(&r, &loss);
	fprintf(out,
		"loss processes=%lu records=%lu bulk=%lu damaged=%lu chunks=%u/%u proc=%lu "
		"socket=%lu left=%lu\n",
		(unsigned long)loss.processes, (unsigned long)loss.records,
		(unsigned long)loss.bulk, (unsigned long)loss.damaged, loss.chunks_used,
		loss.chunks_max, (unsigned long)loss.attached_proc,
		(unsigned long)loss.attached_socket, (unsigned long)loss.left);
	if (out != stdout)
		fclose(out);
}

static void set_log(struct ring_options *opt)
{
	for (int i = 0; i < 2; i++) {
		struct stat st;

		if (fstat(i + 1, &st) < 0)
			die("fstat");
		opt->log_dev[i] = wire_dev(st.st_dev);
		opt->log_ino[i] = st.st_ino;
	}
}

/* The user's own list stays, ours first. */
static void set_environment(const char *shim, const char *session)
{
	const char *old = getenv("LD_PRELOAD");
	char list[8192];

	snprintf(list, sizeof(list), "%s%s%s", shim, old ? ":" : "", old ? old : "");
	setenv("LD_PRELOAD", list, 1);
	setenv(SESSION_ENV, session, 1);
}

int main(int argc, char **argv)
{
	const char *path = NULL, *route = "both";
	struct ring_options opt = {0};
	char text[SESSION_STRING_MAX];
	bool off = false;
	pid_t server, pid;
	struct ring ring;
	int c, status;

	while ((c = getopt(argc, argv, "+o:s:p:r:lx")) != -1) {
		if (c == 'o')
			path = optarg;
		else if (c == 's')
			opt.size_bytes = strtoul(optarg, NULL, 10) * 1024;
		else if (c == 'p')
			opt.process_max = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'r')
			route = optarg;
		else if (c == 'l')
			set_log(&opt);
		else if (c == 'x')
			off = true;
		else
			exit(125);
	}
	if (argc - optind < 3 || strcmp(argv[optind + 1], "--") != 0) {
		fprintf(stderr, "usage: wire-dump [options] SHIM -- COMMAND...\n");
		exit(125);
	}
	errno = -ring_create(&opt, &ring);
	if (errno)
		die("ring_create");
	if (off)
		ring_off(&ring);
	ring_held(&ring, getsid(0));
	server = make_session(&ring, route, text, sizeof(text));
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		set_environment(argv[optind], text);
		execvp(argv[optind + 2], argv + optind + 2);
		die(argv[optind + 2]);
	}
	if (waitpid(pid, &status, 0) < 0)
		die("waitpid");
	if (server) {
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
	}
	dump(path, &ring);
	ring_close(&ring);
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}
