/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings all of a file into memory by calls that are no read(2):
 *
 *	transfer HOW FILE [COPY]
 *
 * HOW: sendfile, splice, copy_file_range, io_uring, io_uring_direct (past the page cache),
 * io_uring_worker (by a thread of the kernel), readahead, fadvise. COPY: where copy_file_range puts it. Ends with 77 where the kernel lacks the call.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIECE (1 << 20)

static void die(const char *what)
{
	fprintf(stderr, "transfer: %s: %s\n", what, strerror(errno));
	exit(errno == ENOSYS || errno == EPERM ? 77 : 1);
}

static void all_sendfile(int in, off_t size)
{
	int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	off_t at = 0;

	while (at < size)
		if (sendfile(out, in, &at, PIECE) <= 0)
			die("sendfile");
}

static void all_splice(int in, off_t size)
{
	int out = open("/dev/null", O_WRONLY | O_CLOEXEC), ends[2];
	off_t at = 0;

	if (pipe(ends) < 0)
		die("pipe");
	while (at < size) {
		ssize_t n = splice(in, &at, ends[1], NULL, 65536, 0);

		if (n <= 0 || splice(ends[0], NULL, out, NULL, (size_t)n, 0) != n)
			die("splice");
	}
}

static void all_copy(int in, off_t size, const char *copy)
{
	int out = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	off_t at = 0;

	while (at < size)
		if (out < 0 || copy_file_range(in, &at, out, NULL, PIECE, 0) <= 0)
			die("copy_file_range");
}

/* One request at a time, without a library. */
static void all_uring(int in, off_t size, uint8_t flags)
{
	struct io_uring_params p = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 1, &p);
	char *sq, *cq, *room;
	struct io_uring_sqe *sqe;

	if (ring < 0)
		die("io_uring_setup");
	sq = mmap(NULL, p.sq_off.array + sizeof(uint32_t), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + 2 * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
	sqe = mmap(NULL, sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		   IORING_OFF_SQES);
	room = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqe == MAP_FAILED || room == MAP_FAILED)
		die("mmap");
	for (off_t at = 0; at < size;) {
		uint32_t *tail = (uint32_t *)(sq + p.sq_off.tail);
		uint32_t *head = (uint32_t *)(cq + p.cq_off.head);
		struct io_uring_cqe *done;

		*sqe = (struct io_uring_sqe){.opcode = IORING_OP_READ,
					     .flags = flags,
					     .fd = in,
					     .off = (uint64_t)at,
					     .addr = (uintptr_t)room,
					     .len = PIECE};
		((uint32_t *)(sq + p.sq_off.array))[0] = 0;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
			die("io_uring_enter");
		done = (struct io_uring_cqe *)(cq + p.cq_off.cqes) +
		       (*head & *(uint32_t *)(cq + p.cq_off.ring_mask));
		if (done->res <= 0) {
			errno = -done->res;
			die("a read of the ring");
		}
		at += done->res;
		__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	int in = argc > 2 ? open(argv[2], O_RDONLY | O_CLOEXEC |
						  (strcmp(how, "io_uring_direct") ? 0 : O_DIRECT))
			  : -1;
	struct stat st;

	if (in < 0 || fstat(in, &st) < 0)
		die(argc > 2 ? argv[2] : "usage");
	if (!strcmp(how, "sendfile"))
		all_sendfile(in, st.st_size);
	else if (!strcmp(how, "splice"))
		all_splice(in, st.st_size);
	else if (!strcmp(how, "copy_file_range") && argc > 3)
		all_copy(in, st.st_size, argv[3]);
	else if (!strncmp(how, "io_uring", 8))
		all_uring(in, st.st_size, strcmp(how, "io_uring_worker") ? 0 : IOSQE_ASYNC);
	else if (!strcmp(how, "readahead"))
		for (off_t at = 0; at < st.st_size; at += 65536)
			readahead(in, at, 65536);
	else if (!strcmp(how, "fadvise"))
		posix_fadvise(in, 0, 0, POSIX_FADV_WILLNEED);
	else
		return 2;
	return 0;
}
