/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of one start as plain data: probe and ingest make it, store keeps it, attribute reads
 * it. No I/O and no rules here. All times are CLOCK_MONOTONIC nanoseconds. Strings in a trace are
 * interned and owned by it: trace_str() gives a pointer that lives as long as the trace.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* The line items of the ledger, in the order of a start (earlier = lower). */
#define ITEMS(X)                                                                                   \
	X(PROCESS_INIT, "process_init", "process init")                                            \
	X(CUDA_CONTEXT, "cuda_context", "CUDA context")                                            \
	X(ALLOCATOR, "allocator", "allocator")                                                     \
	X(WEIGHTS, "weights", "weights")                                                           \
	X(GRAPHS_JIT, "graphs_jit", "graphs + JIT")                                                \
	X(SERVING_UP, "serving_up", "serving up")                                                  \
	X(OTHER, "other", "other")

enum item {
#define X(id, word, title) ITEM_##id,
	ITEMS(X)
#undef X
		ITEM_COUNT
};

/* Measured beats declared beats inferred. */
enum grade { GRADE_MEASURED, GRADE_DECLARED, GRADE_INFERRED, GRADE_COUNT };

/*
 * Kinds of evidence: id, the word in the store, the item (ITEM_COUNT:
 * none of its own), the sub-line. HEADER is a read of the first 8+N
 * bytes of a weight file: recorded, never weight evidence.
 */
#define EVIDENCE_KINDS(X)                                                                          \
	X(LOADER, "loader", PROCESS_INIT, "loader and interpreter")                                \
	X(IMPORT, "import", PROCESS_INIT, "imports")                                               \
	X(CONNECT, "connect", PROCESS_INIT, "network wait")                                        \
	X(HEADER, "header", COUNT, "weight file header")                                           \
	X(DEVICE_QUERY, "device_query", COUNT, "device query")                                     \
	X(CU_INIT, "cu_init", CUDA_CONTEXT, "cuInit")                                              \
	X(CONTEXT, "context", CUDA_CONTEXT, "primary context")                                     \
	X(PEER, "peer", CUDA_CONTEXT, "peer access")                                               \
	X(COLLECTIVE, "collective", CUDA_CONTEXT, "collective set-up")                             \
	X(ALLOC, "alloc", ALLOCATOR, "device memory")                                              \
	X(VMM, "vmm", ALLOCATOR, "VMM mapping")                                                    \
	X(POOL, "pool", ALLOCATOR, "memory pool")                                                  \
	X(PINNED, "pinned", ALLOCATOR, "pinned host")                                              \
	X(IPC_IMPORT, "ipc_import", ALLOCATOR, "memory import")                                    \
	X(READ_STORAGE, "read_storage", WEIGHTS, "storage read")                                   \
	X(READ_CACHE, "read_cache", WEIGHTS, "page-cache hit")                                     \
	X(READ, "read", WEIGHTS, "read")                                                           \
	X(FAULT, "fault", WEIGHTS, "fault wait")                                                   \
	X(POPULATE, "populate", WEIGHTS, "populate")                                               \
	X(STREAM, "stream", WEIGHTS, "weight stream")                                              \
	X(DESERIALISE, "deserialise", WEIGHTS, "deserialise")                                      \
	X(H2D, "h2d", WEIGHTS, "H2D")                                                              \
	X(CAPTURE, "capture", GRAPHS_JIT, "graph capture")                                         \
	X(INSTANTIATE, "instantiate", GRAPHS_JIT, "graph instantiate")                             \
	X(UPLOAD, "upload", GRAPHS_JIT, "graph upload")                                            \
	X(MODULE_LOAD, "module_load", GRAPHS_JIT, "module load")                                   \
	X(COMPILER, "compiler", GRAPHS_JIT, "compiler")                                            \
	X(COMPILE, "compile", GRAPHS_JIT, "in-process compile")                                    \
	X(CACHE_IO, "cache_io", GRAPHS_JIT, "compile-cache I/O")                                   \
	X(FIRST_LAUNCH, "first_launch", GRAPHS_JIT, "first launch")                                \
	X(WARM_UP, "warm_up", GRAPHS_JIT, "warm-up")                                               \
	X(SYNC, "sync", COUNT, "driver wait")                                                      \
	X(DEVICE_USE, "device_use", COUNT, "device use")

enum kind {
#define X(id, word, item, sub) KIND_##id,
	EVIDENCE_KINDS(X)
#undef X
		KIND_COUNT
};

/* Who saw it. */
enum source {
	SOURCE_SHIM,
	SOURCE_BPF,
	SOURCE_PERF,
	SOURCE_PROC,
	SOURCE_LOG,
	SOURCE_CUPTI,
	SOURCE_COUNT
};

/*
 * What a process is to the ledger. A VERSION_PROBE is `g++
 * --version` and the like: it begins and ends nothing.
 */
enum role { ROLE_PLAIN, ROLE_COMPILER, ROLE_VERSION_PROBE, ROLE_COUNT };

/* What a file is to a model server. */
enum file_class {
	FILE_OTHER,
	FILE_WEIGHTS,
	FILE_COMPILE_CACHE,
	FILE_LIBRARY,
	FILE_PYTHON,
	FILE_CLASS_COUNT
};

/* Absent values. A time or a count that is not known is UNKNOWN, never 0. */
#define UNKNOWN	 UINT64_MAX
#define NO_INDEX (-1)

/* What one fault can map of a file that is in the page cache (fault_around_bytes, the kernel's default). */
#define FAULT_AROUND_BYTES UINT64_C(65536)
/* Of faults that waited for nothing tier 0 sees one in so many: a prime, no stride keeps step with it. */
#define FAULTS_SAMPLED 17

struct process {
	int32_t pid, ppid; /* in coldprof's pid namespace */
	uint32_t pid_ns;   /* inode of its own pid namespace; 0 unknown; kept only in memory */
	int32_t ns_pid;	   /* its number there; 0 unknown, or the same as pid */
	int32_t parent;	   /* index in the trace, NO_INDEX for the root and for orphans seen late */
	uint64_t start_ns; /* fork; for the root its exec */
	uint64_t exec_ns;  /* last exec before its first evidence; UNKNOWN: it never called exec */
	uint64_t end_ns;   /* exit; UNKNOWN while it lives at the end of the run */
	int32_t status;	   /* as wait(2) gives it; -1 unknown */
	uint8_t role;	   /* enum role */
	bool shim;	   /* the shim reported from it */
	const char *name;  /* comm, or the title that it gave itself */
	const char *exe;   /* path; NULL unknown */
	const char *command; /* argv joined by spaces, secrets masked; NULL unknown */
	/* Why the shim is absent: a word of base/program.c, "environment cleared"; NULL. */
	const char *uncovered;
};

struct evidence {
	int32_t process; /* index */
	int32_t tid;
	uint16_t kind, source;
	int32_t file; /* index in files, NO_INDEX */
	uint64_t start_ns, end_ns;
	uint64_t bytes;	  /* 0 where the kind has none */
	uint64_t wait_ns; /* of it, waited (faults); UNKNOWN where the source cannot tell */
	const char *what; /* symbol, module, graph; NULL */
};

/* A span declared by the engine's log. `process` is the one that logged it. */
struct span {
	int32_t process;
	uint16_t item;	/* enum item */
	bool container; /* decides nothing that a span inside it could */
	uint64_t start_ns, end_ns;
	const char *name;
};

/* What one thread did in [start, end): the four add up to its length, or are UNKNOWN. */
struct thread_time {
	int32_t process, tid;
	uint64_t start_ns, end_ns;
	uint64_t cpu_ns, runnable_ns, io_wait_ns, sleep_ns;
	uint64_t yields; /* sched_yield calls */
};

struct file {
	const char *path;   /* the name that the guest used, or the best known */
	const char *target; /* where it resolves to, NULL the same */
	uint64_t dev, ino;  /* st_dev in the kernel's own encoding (MAJOR << 20 | MINOR), st_ino */
	uint64_t size_bytes;
	const char *fs;			/* file-system type */
	uint8_t cls;			/* enum file_class */
	uint64_t resident_before_bytes; /* UNKNOWN when the kernel would not tell */
};

/* One (process, file, 10 ms bin). */
struct file_io {
	int32_t process, file;
	uint64_t bin_ns; /* start of the bin */
	uint64_t asked_bytes, storage_bytes, mapped_bytes;
	uint64_t reads, faults, wait_ns; /* UNKNOWN each, as the bytes: not observed */
	uint8_t mode;			 /* enum io_mode */
};

enum io_mode {
	IO_READ = 1,
	IO_DIRECT = 2,
	IO_MAPPED = 4,
	IO_MAPPED_RANDOM = 8,
	IO_POPULATE = 16,
	IO_WRITE = 32
};

/*
 * The finest piece that a source hands over: one thread, one file, at most
 * 10 ms, kept only in memory; ingest makes evidence and file_io from these.
 */
struct access {
	int32_t process, tid, file;
	uint8_t mode;	/* one enum io_mode bit; 0: only filled, by a call that asks for no bytes */
	uint8_t source; /* enum source */
	uint64_t start_ns, end_ns;	 /* first begin, last end */
	uint64_t ops;			 /* reads or faults */
	uint64_t bytes;			 /* asked for, or touched where that is known; UNKNOWN */
	uint64_t storage_bytes;		 /* page-cache fills and direct reads */
	uint64_t busy_ns;		 /* inside the reads or faults; UNKNOWN */
	uint64_t min_offset, max_offset; /* in the file; UNKNOWN */
};

/* A thread of another pid namespace: its number here, and there. */
struct thread_number {
	int32_t process, tid, ns_tid;
};

/* An exec that succeeded. A process may have several. */
struct exec_event {
	int32_t process;
	uint64_t at_ns;
	const char *exe, *command; /* NULL unknown */
};

struct log_line {
	int32_t process;
	int32_t fd;
	uint64_t at_ns;
	const char *text;
};

struct listener {
	int32_t process; /* NO_INDEX unknown */
	uint16_t port;
	uint64_t at_ns;
	uint64_t late_ns; /* it may have been so much earlier: who looks sees it late; UNKNOWN */
	const char *address;
};

/* A readiness mark that was reached. */
struct mark {
	const char *name;
	uint64_t at_ns, late_ns; /* likewise */
};

/* Per process and driver symbol. */
struct cuda_count {
	int32_t process;
	const char *symbol;
	uint64_t calls, total_ns, bytes;
};

/* Which symbol a process resolved, by which route, and whether our wrapper stands there. */
struct coverage {
	int32_t process;
	const char *symbol;
	const char *route; /* "elf", "dlsym", …: see reports/coverage.sql */
	uint64_t calls;
	bool hooked;
};

struct graph {
	int32_t process;
	uint64_t id;
	uint64_t nodes, capture_ns, instantiate_ns, upload_ns, first_replay_ns; /* UNKNOWN each */
};

/* What a reader of the trace should know: losses, missing powers, our own cost. */
struct diagnostic {
	const char *source; /* room or probe */
	/* "info", "warning", "loss"; "cost": `count` is CPU time of ours while it recorded, in us */
	const char *severity;
	const char *text;
	uint64_t count; /* UNKNOWN where there is nothing to count */
};

struct setting {
	const char *name, *value;
};

struct run {
	int64_t id;		  /* 0 before it is stored */
	const char *command_json; /* argv as a JSON array, secrets masked */
	const char *cwd, *label, *engine, *kernel, *host;
	uint64_t wall_anchor_ns, mono_anchor_ns; /* one moment on both clocks */
	uint64_t start_ns;			 /* exec of the root */
	uint64_t ready_ns;			 /* UNKNOWN: never became ready */
	uint64_t end_ns;	/* ready, or where the run ended; UNKNOWN: begun, never finished */
	const char *ready_mark; /* e.g. "http:8000/health" */
	const char *ending;	/* "ready", "exit", "signal", "timeout", … */
	int32_t tier;		/* -1 unknown */
	int32_t status;		/* of the root as wait(2) gives it; -1 unknown */
	const char *state, *state_files, *state_caches;
};

/*
 * Facts that the kernel side observed for the whole
 * tree; what is missing here comes from a lesser source.
 */
enum saw {
	SAW_TREE = 1,	  /* fork, exec, exit */
	SAW_READS = 2,	  /* read calls with their file */
	SAW_FAULTS = 4,	  /* file faults with address and file */
	SAW_WAITS = 8,	  /* each of these, and how long it took; else some of them */
	SAW_FILLS = 16,	  /* page-cache fills: bytes from storage */
	SAW_TIMES = 32,	  /* run, runnable, io wait and sleep of threads */
	SAW_CPU = 64,	  /* only CPU and runnable of threads */
	SAW_LISTEN = 128, /* listening sockets at the moment they listen */
	SAW_LOG = 256,	  /* lines written to the root's stdout and stderr by any process */
};

struct trace {
	struct run run;
	unsigned saw;	 /* enum saw */
	bool tree_lost;	 /* records were lost: SAW_TREE may miss processes; not stored */
	uint32_t pid_ns; /* inode of coldprof's own pid namespace; 0 unknown; not stored */
	VEC(struct process) processes; /* [0] is the root */
	VEC(struct evidence) evidence;
	VEC(struct span) spans;
	VEC(struct thread_time) times;
	VEC(struct file) files;
	VEC(struct file_io) io;
	VEC(struct access) accesses;	   /* not stored */
	VEC(struct thread_number) numbers; /* not stored */
	VEC(struct exec_event) execs;
	VEC(struct log_line) log;
	VEC(struct listener) listeners;
	VEC(struct mark) marks;
	VEC(struct cuda_count) cuda;
	VEC(struct coverage) coverage;
	VEC(struct graph) graphs;
	VEC(struct diagnostic) diagnostics;
	VEC(struct setting) settings;
	struct strings *strings;
};

/* One piece of the wall partition. */
struct segment {
	uint64_t start_ns, end_ns;
	uint16_t item, grade;
	int32_t process;  /* the driver; NO_INDEX in serving_up without one */
	const char *sub;  /* the sub-line: "storage read", "imports", "weights → jit" for other */
	const char *rule; /* which rule of src/attribute/README decided, e.g. "2.1" */
	uint64_t cpu_ns, runnable_ns, io_wait_ns, sleep_ns; /* UNKNOWN each */
};

/* One row of the ledger: all segments of one (item, sub, grade), with the work view beside it. */
struct ledger_row {
	uint16_t item, grade;
	const char *sub;
	uint64_t wall_ns;
	uint64_t work_ns; /* sum over threads and processes of the busy time; UNKNOWN */
	uint64_t bytes;	  /* UNKNOWN */
	uint64_t cpu_ns, runnable_ns, io_wait_ns, sleep_ns;
};

void trace_init(struct trace *t);
void trace_done(struct trace *t);

/* Intern `s` (NULL gives NULL). Borrowed: lives as long as the trace. */
const char *trace_str(struct trace *t, const char *s);
const char *trace_strn(struct trace *t, const char *s, size_t n);
const char *trace_strf(struct trace *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Add a diagnostic row; `count` UNKNOWN where there is nothing to count. */
void trace_note(struct trace *t, const char *source, const char *severity, uint64_t count,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/*
 * The process with this pid that lived at `at_ns` (pids are reused); NO_INDEX when there is none.
 */
int32_t trace_process_at(const struct trace *t, int32_t pid, uint64_t at_ns);
/* Is `p` known to live in another pid namespace than coldprof? Its own number is then ns_pid. */
bool trace_is_foreign(const struct trace *t, const struct process *p);

const char *item_word(enum item item);	/* "process_init" */
const char *item_title(enum item item); /* "process init" */
const char *grade_word(enum grade grade);
const char *kind_word(enum kind kind);
const char *kind_sub(enum kind kind);
/* The item of a kind; ITEM_COUNT when it has none of its own. */
enum item kind_item(enum kind kind);
const char *source_word(enum source source);
const char *file_class_word(enum file_class cls);
const char *role_word(enum role role);
/* The value of a word of the store, or -1. */
int item_of(const char *word);
int grade_of(const char *word);
int kind_of(const char *word);
int source_of(const char *word);
int file_class_of(const char *word);
int role_of(const char *word);
