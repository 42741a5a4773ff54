/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One GET at a time, on the caller's epoll descriptor, by
 * libcurl: no proxy, no redirect followed, nothing kept alive.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct http;

struct http_answer {
	long status;   /* 0: no answer */
	bool not_http; /* what answered speaks neither HTTP nor TLS */
};

/* Its sockets and timer are added to `epoll_fd`. */
int http_open(int epoll_fd, struct http **ret_http, struct err *err);
void http_close(struct http *h);
/*
 * Begin a GET. `address` numeric; the unspecified one
 * stands for loopback. Returns: 0, -EBUSY, or -EIO.
 */
int http_ask(struct http *h, const char *address, uint16_t port, const char *path);
/* Does it still wait for an answer? */
bool http_busy(const struct http *h);
/*
 * Go on. Returns: true once, when the status line is there, or it is clear that there will be none.
 * The rest of an answer is taken in later turns, for 2 seconds at most.
 */
bool http_turn(struct http *h, struct http_answer *ret_answer);
