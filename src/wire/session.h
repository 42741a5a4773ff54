/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a guest finds the session's memory: one environment string, which the shim reads in its
 * constructor.
 *
 *	COLDPROF_SESSION=1.PID.FD.DEV.INO.NONCE.NAME		numbers in hexadecimal without 0x
 *
 * (a) /proc/PID/fd/FD is opened with O_PATH and compared by device, inode and the nonce in the
 *     header;
 * (b) else a SOCK_SEQPACKET connection to the abstract socket NAME is answered with one message
 *     of one byte ('F') that carries the descriptor (SCM_RIGHTS), within SESSION_SOCKET_WAIT_MS;
 * (c) else every hook is a pass-through.
 *
 * Plain C without allocation or stdio: the shim compiles this too.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define SESSION_ENV	       "COLDPROF_SESSION"
#define SESSION_VERSION	       1
#define SESSION_NAME_MAX       64 /* of the socket's name, NUL included */
#define SESSION_STRING_MAX     192
#define SESSION_SOCKET_WAIT_MS 100

struct session {
	int32_t pid;	   /* who holds the memory open, in coldprof's pid namespace; 0: none */
	int32_t fd;	   /* the memory in that process */
	uint64_t dev, ino; /* st_dev and st_ino as stat(2) gives them */
	uint64_t nonce;
	char name[SESSION_NAME_MAX]; /* abstract socket, without its leading NUL; "": none */
};

/*
 * Write the string for `s` into `buf`. Returns: its length,
 * or -ENOSPC / -EINVAL (a name with odd characters).
 */
int session_format(const struct session *s, char *buf, size_t size);

/* Take `text` apart. Returns: 0, or -EINVAL with *ret untouched (also for another version). */
int session_parse(const char *text, struct session *ret);
