/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What crosses from the kernel probes to coldprof, through one ring buffer. Pids and tids are those
 * of coldprof's own pid namespace, devices the kernel's own encoding (MAJOR << 20 | MINOR), times
 * CLOCK_MONOTONIC nanoseconds. Both ends are built together, so there is no version; the sizes are
 * asserted.
 */
#pragma once
#ifdef __bpf__
#include "kernel_types.h"
#else
#include <stdint.h>
#endif

/* No aggregated record begins its last operation later than this after its first. */
#define KERNEL_BIN_NS	    10000000u
#define KERNEL_TIMES_MAX_NS 100000000u /* nor one of states that are shorter than a bin */
#define KERNEL_PATH_BYTES   1024u      /* names of one path */
#define KERNEL_NAME_MAX	    256u       /* one name, NUL included */
#define KERNEL_COMMAND_MAX  1024u      /* bytes of a command line that are kept */
#define KERNEL_LOG_CALM_NS  5000000u   /* a write of log wakes coldprof once in so long */
#define KERNEL_LOG_MAX	    4096u      /* bytes of one write that are kept as log */
#define KERNEL_COMM_MAX	    16u

enum kernel_kind {
	KERNEL_FORK = 1,
	KERNEL_EXEC,
	KERNEL_EXIT,
	KERNEL_NAME,
	KERNEL_LISTEN,
	KERNEL_FAULTS,
	KERNEL_IO,
	KERNEL_POPULATE,
	KERNEL_TIMES,
	KERNEL_PATH,
	KERNEL_LOG,
	KERNEL_MAP,
	KERNEL_THREAD,
};

struct kernel_head {
	uint32_t kind;
	int32_t pid, tid;
	uint32_t value; /* FORK: parent; EXIT: wait status; LISTEN: port; LOG: descriptor */
	uint64_t at_ns; /* of the event, or begin of the first operation */
};

/* How the entry of an observed thread begins, as coldprof writes that of the root; the rest is 0. */
struct kernel_thread {
	int32_t pid, tid;
};

/* EXIT: the head alone. */

/*
 * FORK: a new process. THREAD: one more thread, told only where it lives in
 * another pid namespace than coldprof.
 */
struct kernel_fork {
	struct kernel_head head;
	uint32_t pid_ns; /* inode of its own pid namespace */
	int32_t number;	 /* of the process or thread in there */
};

struct kernel_name {
	struct kernel_head head;
	char comm[KERNEL_COMM_MAX];
};

/*
 * A path as the kernel holds it: the names from the file up to the root, each with its NUL, so that
 * the reader joins them backwards. `bytes` of `names` are used; a path that did not fit lacks its
 * first parts (`cut`).
 */
struct kernel_names {
	uint16_t bytes, cut;
	uint32_t reserved;
	char names[KERNEL_PATH_BYTES + KERNEL_NAME_MAX];
};

struct kernel_exec {
	struct kernel_head head;
	uint64_t dev, ino; /* of the program (for a script its interpreter) */
	uint32_t command_bytes;
	char comm[KERNEL_COMM_MAX];
	char command[KERNEL_COMMAND_MAX]; /* argv, NUL between its words */
	uint32_t reserved;
	struct kernel_names path;
};

struct kernel_path {
	struct kernel_head head;
	uint64_t dev, ino, size_bytes;
	uint64_t magic; /* of the file system */
	struct kernel_names path;
};

struct kernel_listen {
	struct kernel_head head;
	uint32_t family; /* AF_INET, AF_INET6 */
	uint32_t reserved;
	uint8_t address[16];
};

/*
 * Faults of one thread in one region. By address: the file is found by the mappings; dev and ino are
 * of a file that was filled meanwhile, 0 none was. By file: `min` and `max` are offsets in dev and ino.
 */
struct kernel_faults {
	struct kernel_head head;
	uint64_t end_ns;
	uint64_t min, max; /* of the first bytes that were asked for */
	uint64_t wait_ns;
	uint64_t fill_bytes; /* put into the page cache meanwhile */
	uint64_t dev, ino;
	uint32_t faults, by_file;
};

/* A mapping of a file that a huge page fits in: its faults come by address. */
struct kernel_map {
	struct kernel_head head;
	uint64_t dev, ino;
	uint64_t address, bytes, offset;
};

enum kernel_io_mode {
	KERNEL_READ = 1,
	KERNEL_DIRECT = 2,
	KERNEL_WRITE = 4,
	KERNEL_FILL = 8, /* filled outside of any read or fault: readahead asked for, exec */
};

struct kernel_io {
	struct kernel_head head;
	uint64_t end_ns;
	uint64_t dev, ino;
	uint64_t bytes, fill_bytes;
	uint64_t busy_ns;
	uint64_t min_offset, max_offset;
	uint32_t ops, mode; /* enum kernel_io_mode */
};

/* One MAP_POPULATE, mlock or MADV_POPULATE_*: no fault tells of these. */
struct kernel_populate {
	struct kernel_head head;
	uint64_t end_ns;
	uint64_t address, bytes; /* the range; 0 bytes: all of the process (mlockall) */
	uint64_t dev, ino;	 /* of the mapped or the filled file; 0 unknown */
	uint64_t offset; /* of the range in the file, where dev and ino come from the call */
	uint64_t fill_bytes;
	uint32_t from_call; /* 1: dev, ino and offset are those of the call's descriptor */
	uint32_t reserved;
};

/* What a thread did in [head.at_ns, end_ns). */
struct kernel_times {
	struct kernel_head head;
	uint64_t end_ns;
	uint64_t cpu_ns, runnable_ns, io_wait_ns, sleep_ns;
	uint64_t yields;
};

struct kernel_log {
	struct kernel_head head;
	uint32_t bytes; /* kept of the write */
	uint32_t cut;	/* 1: it was longer */
	char text[KERNEL_LOG_MAX];
};

/* Counters that the programs keep; read at the end. */
enum kernel_counter {
	KERNEL_LOST_RECORDS,   /* the ring was full */
	KERNEL_LOST_THREADS,   /* no memory for the entry of a thread */
	KERNEL_FAULT_ENDS,     /* faults, of files and others */
	KERNEL_FAULTS_UNTIMED, /* an end without its start */
	KERNEL_UNSEEN_MAPS,    /* mappings of files whose faults no program sees */
	KERNEL_LOST_LINES,     /* writes of log that were left out to keep room in the ring */
	KERNEL_COUNTERS,
};

_Static_assert(sizeof(struct kernel_head) == 24, "wire");
_Static_assert(sizeof(struct kernel_fork) == 32, "wire");
_Static_assert(sizeof(struct kernel_faults) == 88, "wire");
_Static_assert(sizeof(struct kernel_io) == 96, "wire");
_Static_assert(sizeof(struct kernel_times) == 72, "wire");
_Static_assert(sizeof(struct kernel_exec) % 8 == 0, "wire");
