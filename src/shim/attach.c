/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the session string to the mapped memory: by /proc,
 * else by the socket, else not at all. Constructor only.
 */
#include "shim/shim.h"

#include <fcntl.h>
#include <linux/un.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "wire/session.h"

static void close_fd(int fd)
{
	sys3(SYS_close, fd, 0, 0);
}

static struct wire_header *map_fd(int fd, const struct session *s, struct layout *ret)
{
	struct wire_header *h;
	struct layout l;
	struct stat st;
	size_t size;
	long at;

	if (sys3(SYS_fstat, fd, &st, 0) != 0 || st.st_dev != s->dev || st.st_ino != s->ino ||
	    st.st_size < (off_t)WIRE_HEADER_SIZE || (uint64_t)st.st_size > WIRE_SIZE_MAX)
		return NULL;
	size = (size_t)st.st_size;
	at = sys6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at < 0 && at > -4096)
		return NULL;
	h = (struct wire_header *)at;
	l = (struct layout){__atomic_load_n(&h->process_offset, __ATOMIC_RELAXED),
			    __atomic_load_n(&h->process_max, __ATOMIC_RELAXED),
			    __atomic_load_n(&h->chunk_offset, __ATOMIC_RELAXED),
			    __atomic_load_n(&h->chunk_max, __ATOMIC_RELAXED),
			    __atomic_load_n(&h->chunk_reserve, __ATOMIC_RELAXED),
			    size};
	if (h->magic != WIRE_MAGIC || h->version != WIRE_VERSION || h->nonce != s->nonce ||
	    h->size_bytes != size || l.process_offset < WIRE_HEADER_SIZE || l.process_offset % 64 ||
	    l.chunk_offset % 64 ||
	    l.process_offset + (uint64_t)l.process_max * sizeof(struct wire_process) >
		    l.chunk_offset ||
	    l.chunk_offset + (uint64_t)l.chunk_max * WIRE_CHUNK_SIZE > size) {
		sys3(SYS_munmap, h, size, 0);
		return NULL;
	}
	sys3(SYS_madvise, h, size, MADV_DONTDUMP);
	*ret = l;
	return h;
}

static char *put(char *p, const char *s)
{
	while (*s)
		*p++ = *s++;
	*p = '\0';
	return p;
}

static char *put_number(char *p, unsigned long n)
{
	char digits[20];
	int i = 0;

	do {
		digits[i++] = (char)('0' + n % 10);
	} while (n /= 10);
	while (i)
		*p++ = digits[--i];
	*p = '\0';
	return p;
}

/*
 * In a new pid namespace the number may be another's: first asked what it is, which opens nothing.
 * Not by way of /proc/self: for a process that lives a moment the kernel would have to make that
 * folder, which costs more than the rest. If the holder is who he says in our own namespace too,
 * that is coldprof's.
 */
static struct wire_header *by_proc(const struct session *s, struct layout *ret,
				   uint32_t *ret_pid_ns)
{
	struct wire_header *h = NULL;
	char path[64];
	struct stat st;
	int fd;

	if (s->pid <= 0)
		return NULL;
	put_number(put(put_number(put(path, "/proc/"), (unsigned long)s->pid), "/fd/"),
		   (unsigned long)s->fd);
	if (sys4(SYS_newfstatat, AT_FDCWD, path, &st, 0) != 0 || st.st_dev != s->dev ||
	    st.st_ino != s->ino)
		return NULL;
	fd = (int)sys4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOCTTY, 0);
	if (fd < 0)
		return NULL;
	h = map_fd(fd, s, ret);
	close_fd(fd);
	if (h && h->holder_sid && sys3(SYS_getsid, s->pid, 0, 0) == h->holder_sid)
		*ret_pid_ns = h->pid_ns;
	return h;
}

static int connect_to(const char *name)
{
	struct timeval wait = {.tv_usec = SESSION_SOCKET_WAIT_MS * 1000};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t n = 0;
	int sock;

	while (name[n]) {
		to.sun_path[n + 1] = name[n];
		n++;
	}
	sock = (int)sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -1;
	sys6(SYS_setsockopt, sock, SOL_SOCKET, SO_RCVTIMEO, (long)&wait, sizeof(wait), 0);
	sys6(SYS_setsockopt, sock, SOL_SOCKET, SO_SNDTIMEO, (long)&wait, sizeof(wait), 0);
	if (sys3(SYS_connect, sock, &to, offsetof(struct sockaddr_un, sun_path) + 1 + n) < 0) {
		close_fd(sock);
		return -1;
	}
	return sock;
}

static int received_fd(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	return *(int *)CMSG_DATA(c);
}

static struct wire_header *by_socket(const struct session *s, struct layout *ret)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte = 0;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &part,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct wire_header *h = NULL;
	int sock, fd = -1;

	if (!s->name[0])
		return NULL;
	sock = connect_to(s->name);
	if (sock < 0)
		return NULL;
	if (sys3(SYS_recvmsg, sock, &msg, MSG_CMSG_CLOEXEC) == 1)
		fd = received_fd(&msg);
	if (fd >= 0) {
		h = map_fd(fd, s, ret);
		close_fd(fd);
	}
	close_fd(sock);
	return h;
}

struct wire_header *attach_session(const char *text, struct layout *ret_layout, bool *ret_by_socket,
				   uint32_t *ret_pid_ns)
{
	struct wire_header *h;
	struct session s;

	*ret_by_socket = false;
	*ret_pid_ns = 0;
	if (session_parse(text, &s) < 0)
		return NULL;
	h = by_proc(&s, ret_layout, ret_pid_ns);
	if (!h) {
		h = by_socket(&s, ret_layout);
		*ret_by_socket = h != NULL;
	}
	return h;
}
