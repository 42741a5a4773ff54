/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of a few lines, for the tests of readiness and of ending. Options:
 *	--port N	listen there, on 127.0.0.1, and answer GET
 *	--first WORDS	answers before 200: "503,503"; 3xx leads to /elsewhere; "raw": bytes that are no HTTP; for ever
 *	--body KIND	held: a header that never ends; endless: a body that never does; else a FIFO: the body
 *			comes once a line can be read from it, and "whole" goes to FILE when it was taken
 *	--v6		on ::1 instead, and nothing else
 *	--wait FIFO	read a line from FIFO before listening
 *	--told FIFO	write "up" to FIFO once listening
 *	--hits FILE	append a line a request
 *	--say TEXT	print TEXT and a newline on standard output once listening
 *	--daemon	fork twice, exit 0 at once, serve from a new session
 *	--worker	fork a child that stays
 *	--exit N	exit with N instead of serving, once listening
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *first = "", *hits, *body;
static bool v6;

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "serve: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void note(const char *text)
{
	int log = hits ? open(hits, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (log < 0)
		return;
	dprintf(log, "%s\n", text);
	close(log);
}

static void wait_for(const char *path)
{
	char line[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	need(fd >= 0 && read(fd, line, sizeof(line)) >= 0, path);
	close(fd);
}

/* Until the peer has gone away. */
static void never_end(int fd, const char *piece)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char byte;

	for (;;) {
		if (poll(&p, 1, 20) > 0 && read(fd, &byte, 1) <= 0)
			return;
		if (send(fd, piece, strlen(piece), MSG_NOSIGNAL) < 0)
			return;
	}
}

static void send_body(int fd, int status)
{
	char head[128];

	snprintf(head, sizeof(head), "HTTP/1.1 %d Word\r\n", status);
	send(fd, head, strlen(head), MSG_NOSIGNAL);
	if (!strcmp(body, "held")) {
		never_end(fd, "x-more: of it\r\n");
		return;
	}
	send(fd, "\r\n", 2, MSG_NOSIGNAL);
	if (!strcmp(body, "endless")) {
		never_end(fd, "and so on\n");
		return;
	}
	wait_for(body);
	if (send(fd, "a part\n", 7, MSG_NOSIGNAL) == 7 &&
	    send(fd, "the rest\n", 9, MSG_NOSIGNAL) == 9)
		note("whole");
}

static void answer(int fd)
{
	char request[2048], reply[256];
	ssize_t n = read(fd, request, sizeof(request) - 1);
	int status = 200;

	request[n > 0 ? n : 0] = '\0';
	request[strcspn(request, "\r\n")] = '\0';
	note(request);
	if (!strcmp(first, "raw")) {
		snprintf(reply, sizeof(reply), "220 hello, this is something else\r\n");
	} else {
		if (*first) {
			status = (int)strtol(first, (char **)&first, 10);
			first += *first == ',';
		}
		snprintf(reply, sizeof(reply),
			 "HTTP/1.1 %d Word\r\n%sContent-Length: 3\r\n\r\nok\n", status,
			 status / 100 == 3 ? "Location: /elsewhere\r\n" : "");
	}
	if (body)
		send_body(fd, status);
	else
		n = write(fd, reply, strlen(reply));
	shutdown(fd, SHUT_WR);
	while (read(fd, request, sizeof(request)) > 0)
		;
	close(fd);
}

static int listen_on(int port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 addr6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	int rc;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	addr6.sin6_addr = in6addr_loopback;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	rc = v6 ? bind(fd, (struct sockaddr *)&addr6, sizeof(addr6))
		: bind(fd, (struct sockaddr *)&addr, sizeof(addr));
	need(!rc && !listen(fd, 16), "listen");
	return fd;
}

static void go_away(void)
{
	need(fork() == 0 || (_exit(0), 0), "fork");
	setsid();
	if (fork())
		_exit(0);
}

static void tell(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	need(fd >= 0 && dprintf(fd, "up\n") == 3, path);
	close(fd);
}

static ssize_t write_line(const char *text)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "%s\n", text);

	return write(STDOUT_FILENO, line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

int main(int argc, char **argv)
{
	const char *wait = NULL, *told = NULL, *say = NULL;
	bool daemon_wanted = false, worker = false;
	int port = 0, status = -1, fd = -1;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (!strcmp(argv[i], "--daemon"))
			daemon_wanted = true;
		else if (!strcmp(argv[i], "--worker"))
			worker = true;
		else if (!strcmp(argv[i], "--v6"))
			v6 = true;
		else if (!strcmp(argv[i], "--body"))
			body = value, i++;
		else if (!strcmp(argv[i], "--port"))
			port = atoi(value), i++;
		else if (!strcmp(argv[i], "--first"))
			first = value, i++;
		else if (!strcmp(argv[i], "--wait"))
			wait = value, i++;
		else if (!strcmp(argv[i], "--told"))
			told = value, i++;
		else if (!strcmp(argv[i], "--hits"))
			hits = value, i++;
		else if (!strcmp(argv[i], "--say"))
			say = value, i++;
		else if (!strcmp(argv[i], "--exit"))
			status = atoi(value), i++;
	}
	if (daemon_wanted)
		go_away();
	if (worker && !fork()) {
		signal(SIGTERM, SIG_DFL);
		for (;;)
			pause();
	}
	if (wait)
		wait_for(wait);
	if (port)
		fd = listen_on(port);
	/* As Python writes, by write(2) itself: a line of C's stdio is seen at tier 1 alone. */
	if (say && write_line(say) < 0)
		return 1;
	if (told)
		tell(told);
	if (status >= 0)
		exit(status);
	while (fd < 0)
		pause();
	for (;;) {
		int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (peer >= 0)
			answer(peer);
	}
}
