/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

/*
 * A server may accept long before it answers: one patient
 * request sees the moment, and does not pile up others.
 */
#define ANSWER_TIMEOUT_MS  30000L
#define CONNECT_TIMEOUT_MS 2000L
/* How long what comes behind a status line is taken: to cut it short may be an error in the server's log. */
#define REST_S 2

struct http {
	CURLM *multi;
	CURL *easy;
	int epoll_fd, timer_fd, inner_fd, rest_fd;
	bool busy;
	bool tls;    /* asked so */
	bool spoke;  /* without TLS something answered that is no HTTP */
	bool silent; /* without TLS nothing answered, and with it once tried neither */
	long status; /* as its line said; 0 none yet */
	bool told;   /* that status */
};

static size_t discard(char *data, size_t size, size_t n, void *arg)
{
	(void)data;
	(void)arg;
	return size * n;
}

static void set_rest(struct http *h, time_t seconds)
{
	struct itimerspec when = {.it_value.tv_sec = seconds};

	timerfd_settime(h->rest_fd, 0, &when, NULL);
}

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
	struct http *h = arg;
	char line[64] = "";
	long status;

	memcpy(line, data, size * n < sizeof(line) ? size * n : sizeof(line) - 1);
	if (!h->status && sscanf(line, "HTTP/%*s %ld", &status) == 1 && status >= 200) {
		h->status = status;
		set_rest(h, REST_S);
	}
	return size * n;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct http *h = arg;
	struct epoll_event ev = {.data.fd = fd};

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(h->inner_fd, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	ev.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
	if (epoll_ctl(h->inner_fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev) &&
	    errno == EEXIST)
		epoll_ctl(h->inner_fd, EPOLL_CTL_MOD, fd, &ev);
	curl_multi_assign(h->multi, fd, h);
	return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct http *h = arg;
	struct itimerspec when = {0};

	(void)multi;
	if (timeout_ms == 0)
		when.it_value.tv_nsec = 1;
	else if (timeout_ms > 0)
		when.it_value = (struct timespec){timeout_ms / 1000, timeout_ms % 1000 * 1000000};
	timerfd_settime(h->timer_fd, 0, &when, NULL);
	return 0;
}

int http_open(int epoll_fd, struct http **ret_http, struct err *err)
{
	struct http *h = xcalloc(1, sizeof(*h));
	struct epoll_event ev = {.events = EPOLLIN};
	int rc;

	errno = 0;
	h->epoll_fd = epoll_fd;
	h->rest_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	h->inner_fd = epoll_create1(EPOLL_CLOEXEC);
	h->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	rc = errno;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	h->multi = curl_multi_init();
	h->easy = curl_easy_init();
	ev.data.fd = h->timer_fd;
	if (!rc && (!h->multi || !h->easy))
		rc = ENOMEM;
	if (!rc && (epoll_ctl(h->inner_fd, EPOLL_CTL_ADD, h->timer_fd, &ev) ||
		    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, h->inner_fd, &ev)))
		rc = errno;
	if (rc) {
		http_close(h);
		return err_sys(err, rc, "cannot set up requests to the server");
	}
	ev.data.fd = h->rest_fd;
	epoll_ctl(h->inner_fd, EPOLL_CTL_ADD, h->rest_fd, &ev);
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
	*ret_http = h;
	return 0;
}

/* The request is over, whatever of it is still to come. */
static void drop(struct http *h)
{
	if (h->busy)
		curl_multi_remove_handle(h->multi, h->easy);
	set_rest(h, 0);
	h->busy = h->told = false;
	h->status = 0;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	drop(h);
	curl_easy_cleanup(h->easy);
	curl_multi_cleanup(h->multi);
	if (h->timer_fd >= 0)
		close(h->timer_fd);
	if (h->rest_fd >= 0)
		close(h->rest_fd);
	if (h->inner_fd >= 0)
		close(h->inner_fd);
	free(h);
}

static void add_host(struct str *url, const char *address)
{
	if (str_starts(address, "::ffff:"))
		address += strlen("::ffff:");
	if (!strcmp(address, "0.0.0.0"))
		address = "127.0.0.1";
	else if (!strcmp(address, "::"))
		address = "::1";
	str_addf(url, strchr(address, ':') ? "[%s]" : "%s", address);
}

int http_ask(struct http *h, const char *address, uint16_t port, const char *path)
{
	struct str url = {0};

	if (http_busy(h))
		return -EBUSY;
	drop(h);
	str_add(&url, h->tls ? "https://" : "http://");
	add_host(&url, address);
	str_addf(&url, ":%u%s", port, path);
	curl_easy_reset(h->easy);
	curl_easy_setopt(h->easy, CURLOPT_URL, str_get(&url));
	curl_easy_setopt(h->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(h->easy, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(h->easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(h->easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(h->easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(h->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(h->easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	curl_easy_setopt(h->easy, CURLOPT_TIMEOUT_MS, ANSWER_TIMEOUT_MS);
	curl_easy_setopt(h->easy, CURLOPT_USERAGENT, "coldprof/" PACKAGE_VERSION);
	curl_easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, discard);
	curl_easy_setopt(h->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(h->easy, CURLOPT_HEADERDATA, h);
	/* It is the server that we started, on this machine: who signed it does not matter. */
	curl_easy_setopt(h->easy, CURLOPT_SSL_VERIFYPEER, 0L);
	curl_easy_setopt(h->easy, CURLOPT_SSL_VERIFYHOST, 0L);
	str_free(&url);
	if (curl_multi_add_handle(h->multi, h->easy))
		return -EIO;
	h->busy = true;
	return 0;
}

bool http_busy(const struct http *h)
{
	return h->busy && !h->told;
}

static void drive(struct http *h)
{
	struct epoll_event ev[8];
	uint64_t ticks;
	int running, n = epoll_wait(h->inner_fd, ev, 8, 0);

	for (int i = 0; i < n; i++) {
		if (ev[i].data.fd == h->rest_fd) {
			drop(h);
			return;
		}
		if (ev[i].data.fd == h->timer_fd) {
			if (read(h->timer_fd, &ticks, sizeof(ticks)) == sizeof(ticks))
				curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0,
							 &running);
			continue;
		}
		curl_multi_socket_action(
			h->multi, ev[i].data.fd,
			(ev[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
				(ev[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
				(ev[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0),
			&running);
	}
}

/*
 * What came of a request without a status line. A server of TLS may answer a plain request with an
 * alert, or end the connection without a word, as one does that is not up yet: that is tried with
 * TLS once and no more, since it may be an error in the log of the other.
 */
static void judge(struct http *h, CURLcode code, struct http_answer *ret)
{
	bool odd = code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY;
	bool nothing =
		code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR;

	if (!h->tls && odd) {
		h->tls = h->spoke = true;
	} else if (!h->tls && nothing && !h->silent) {
		h->tls = true;
	} else if (h->tls && (odd || code == CURLE_SSL_CONNECT_ERROR)) {
		ret->not_http = h->spoke;
		h->tls = h->spoke;
		h->silent = !h->spoke;
	}
}

bool http_turn(struct http *h, struct http_answer *ret_answer)
{
	struct http_answer a = {0};
	bool news = false;
	CURLMsg *message;
	int left;

	if (!h->busy)
		return false;
	drive(h);
	if (!h->busy)
		return false;
	if (h->status && !h->told) {
		a.status = h->status;
		h->told = news = true;
	}
	message = curl_multi_info_read(h->multi, &left);
	if (message && message->msg == CURLMSG_DONE) {
		if (!h->told) {
			judge(h, message->data.result, &a);
			news = true;
		}
		drop(h);
	}
	if (news)
		*ret_answer = a;
	return news;
}
