/* SPDX-License-Identifier: Apache-2.0 */
/* Errors travel up as a negative errno and a caller-owned struct err; only src/cli prints them. */
#pragma once

/*
 * What went wrong, in words: `msg` names the thing and the reason, `hint` the next step
 * (may be empty). Owned by the caller; every function that takes one accepts NULL.
 */
struct err {
	char msg[512];
	char hint[256];
};

/*
 * Fill `e` (when not NULL) and return -errnum, so that
 * a caller can write `return err_set(e, errno, ...)`.
 */
int err_set(struct err *e, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same, with ": <text of errnum>" behind the message. Returns -errnum. */
int err_sys(struct err *e, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Add the next step to `e`. */
void err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
