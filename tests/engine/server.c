/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP on one thread: /health, /v1/models, /v1/completions; 503 before the server is ready. */
#include "engine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int listen_fd = -1;
static atomic_bool ready, served;

static void reply(int fd, const char *status, const char *type, const char *body)
{
	char buf[2048];
	int n = snprintf(buf, sizeof(buf),
			 "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			 "Connection: close\r\n\r\n%s",
			 status, type, strlen(body), body);

	send(fd, buf, (size_t)n, MSG_NOSIGNAL);
}

/* The whole request, as far as 8 KiB; its body is awaited so that the client sees no reset. */
static int read_request(int fd, char *buf, size_t size)
{
	size_t n = 0, want = 0;

	while (n < size - 1) {
		ssize_t r = recv(fd, buf + n, size - 1 - n, 0);
		char *body, *length;

		if (r <= 0)
			return -1;
		n += (size_t)r;
		buf[n] = '\0';
		body = strstr(buf, "\r\n\r\n");
		if (!body)
			continue;
		length = strcasestr(buf, "content-length:");
		if (length && length < body)
			want = strtoul(length + 15, NULL, 10);
		if (n >= (size_t)(body + 4 - buf) + want)
			return 0;
	}
	return -1;
}

static void complete(int fd)
{
	char body[512];

	snprintf(body, sizeof(body),
		 "{\"object\":\"text_completion\",\"model\":\"truth\",\"choices\":[{\"index\":0,"
		 "\"text\":\"%016llx\",\"finish_reason\":\"stop\"}]}",
		 (unsigned long long)ranks_fingerprint());
	reply(fd, "200 OK", "application/json", body);
}

/* The client has its answer at some moment between before_ns, when it was not yet sent, and its hanging up. */
static void first_200(int fd, uint64_t before_ns)
{
	char byte;

	truth_end();
	shutdown(fd, SHUT_WR);
	while (recv(fd, &byte, 1, 0) > 0)
		;
	truth_between("serving_up", "ready", before_ns, now_ns());
}

static void answer(int fd)
{
	bool is_ready = atomic_load(&ready);
	uint64_t before_ns;
	char buf[8192];

	if (read_request(fd, buf, sizeof(buf)))
		return;
	before_ns = now_ns();
	if (!is_ready)
		reply(fd, "503 Service Unavailable", "application/json",
		      "{\"error\":\"Loading model\"}");
	else if (!strncmp(buf, "GET /health ", 12))
		reply(fd, "200 OK", "text/plain", "");
	else if (!strncmp(buf, "GET /v1/models ", 15))
		reply(fd, "200 OK", "application/json",
		      "{\"object\":\"list\",\"data\":[{\"id\":\"truth\",\"object\":\"model\"}]}");
	else if (!strncmp(buf, "POST /v1/completions ", 21))
		complete(fd);
	else
		reply(fd, "404 Not Found", "text/plain", "no such page\n");
	if (is_ready && !strncmp(buf, "GET /health ", 12) && !atomic_exchange(&served, true))
		first_200(fd, before_ns);
}

static void *serve(void *arg)
{
	(void)arg;
	for (;;) {
		struct timeval limit = {2, 0};
		int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
			return NULL;
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		answer(fd);
		close(fd);
	}
}

void server_listen(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)opt.port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	pthread_t thread;
	int yes = 1;

	listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(listen_fd, (struct sockaddr *)&to, sizeof(to)) || listen(listen_fd, 64))
		die("cannot listen on port %d: %s", opt.port, strerror(errno));
	truth_event("serving_up", "listen", now_ns());
	if (pthread_create(&thread, NULL, serve, NULL))
		die("cannot start a thread");
	pthread_detach(thread);
}

void server_ready(void)
{
	truth_event("serving_up", "answers_200", now_ns());
	atomic_store(&ready, true);
}

void server_close(void)
{
	if (listen_fd >= 0)
		close(listen_fd);
}
