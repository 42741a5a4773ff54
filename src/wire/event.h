/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What crosses from a guest to coldprof: one memory file, written by every process of the tree.
 *
 *	header page | process table | chunks
 *
 * A process takes one entry of the table and, at its first record, a chunk; both by an atomic add.
 * A record is one slot of 64 bytes, or several in a row where it carries text. It counts once its
 * tag was stored (release, last), so that a writer killed at any moment leaves whole records and
 * holes, never half a record. A READ or a COUNTER goes on growing in place after that. Memory
 * starts as zeroes and nothing is ever reused.
 *
 * All times are CLOCK_MONOTONIC nanoseconds. A device number is MAJOR << 20 | MINOR. Handles and
 * addresses are those of the guest and mean something only inside their process.
 */
#pragma once
#include <stdint.h>

#define WIRE_MAGIC	 UINT64_C(0x314652504c4f4370) /* "pCOLPRF1" */
#define WIRE_VERSION	 2u
#define WIRE_SIZE_MAX	 (UINT64_C(16) << 20)
#define WIRE_HEADER_SIZE 4096u
#define WIRE_SLOT_SIZE	 64u
#define WIRE_CHUNK_SIZE	 8192u
#define WIRE_CHUNK_SLOTS (WIRE_CHUNK_SIZE / WIRE_SLOT_SIZE) /* slot 0 is struct wire_chunk */
#define WIRE_TEXT_MAX	 480u				    /* bytes of text in one record */
#define WIRE_NO_PROCESS	 UINT32_MAX

/* wire_header.flags */
enum wire_flag {
	WIRE_OFF = 1, /* the run is over: every hook is a pass-through */
};

struct wire_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_size;
	uint64_t nonce;
	uint64_t size_bytes; /* of the whole file */
	uint32_t process_offset, process_size, process_max;
	uint32_t chunk_offset, chunk_size, chunk_max;
	/* From here on chunks are kept for what is not bulk (reads, mappings, yields). */
	uint32_t chunk_reserve;
	/*
	 * coldprof's pid namespace, and the session (setsid) of who holds the memory open for the
	 * guests: to whom that process is of this session is of this namespace. 0: not known.
	 */
	uint32_t pid_ns;
	int32_t holder_sid;
	uint64_t created_ns;
	/*
	 * The files behind the root's stdout and stderr: only writes to these are log. ino 0: none.
	 */
	uint64_t log_dev[2], log_ino[2];

	/* Written by guests, on a line of its own. */
	uint32_t flags __attribute__((aligned(64))); /* enum wire_flag; read at every hook */

	/* These two may run past process_max and chunk_max: the rest was lost. */
	uint32_t next_process __attribute__((aligned(64)));
	uint32_t next_chunk;
	uint64_t lost_processes;  /* no entry was left */
	uint64_t lost_records;	  /* no slot was left */
	uint64_t lost_bulk;	  /* of them, bulk that found only the reserve */
	uint64_t attached_proc;	  /* images that came by /proc/PID/fd */
	uint64_t attached_socket; /* images that came by the socket */
	uint64_t left;		  /* images that shut us out, or whose address space is small */
};

/* wire_process.flags */
enum wire_process_flag {
	/* A new image: argv and exe are its own. Else a fork child that went on without exec. */
	WIRE_PROCESS_EXEC = 1,
	/* The memory was reached by the socket. */
	WIRE_PROCESS_SOCKET = 2,
	/* Forked after its parent had called cuInit: CUDA is dead in it. */
	WIRE_PROCESS_CUDA_FORK = 4,
};

/*
 * One image of one process: an exec makes a new entry under the same pid. The pids are those of the
 * guest's own pid namespace, which has an inode by which the kernel tells it from all others.
 */
struct wire_process {
	uint32_t state; /* 1 once pid to exe are whole (release) */
	uint32_t flags; /* enum wire_process_flag */
	int32_t pid, ppid;
	uint64_t start_ns; /* our constructor ran, or the fork returned in the child */
	uint64_t end_ns; /* exit or _exit was called; 0 unknown (a signal, an exec, still alive) */
	uint32_t chunks;
	uint32_t unhooked; /* names of a known family resolved to something that we do not wrap */
	uint64_t lost_records;
	char comm[16];
	uint32_t argv_bytes; /* stored of argv, NUL between the words */
	uint32_t argv_cut;   /* 1: there was more */
	uint32_t pid_ns;     /* inode of the pid namespace; 0 unknown: no /proc */
	uint32_t reserved;
	char exe[152]; /* the path as exec was given it; cut where longer */
	char argv[280];
};

/* Slot 0 of a chunk. */
struct wire_chunk {
	uint32_t process; /* index in the table + 1 (release, last) */
	uint32_t next;	  /* next free slot; may run past WIRE_CHUNK_SLOTS */
	uint64_t reserved[7];
};

/* Kinds of records; those that grow do so in place. */
enum wire_kind {
	WIRE_EMPTY,
	WIRE_MORE,     /* text that goes on from the slot before */
	WIRE_CALL,     /* wire_call */
	WIRE_COUNTER,  /* wire_counter: what a symbol did in this process; grows */
	WIRE_UNHOOKED, /* wire_text: a name of a known family, not wrapped; `code`: its route */
	WIRE_LOG,      /* wire_text: one line; `code` is the descriptor, 1 or 2 */
	WIRE_FILE,     /* wire_file: the first time a process meets a file */
	WIRE_READ,     /* wire_read: reads of one thread in one file within 10 ms; grows */
	WIRE_MAP,      /* wire_map: mmap of a regular file */
	WIRE_POPULATE, /* wire_map: a call that brings pages in without a fault */
	WIRE_YIELD,    /* wire_yield: sched_yield of one thread within 100 ms; grows */
	WIRE_KIND_COUNT
};

/* Flags of a record, by kind. */
enum wire_record_flag {
	WIRE_LOG_CUT = 1,     /* LOG: longer than WIRE_TEXT_MAX, the rest is not kept */
	WIRE_LOG_OPEN = 2,    /* LOG: the write ended without an end of line */
	WIRE_LOG_CR = 4,      /* LOG: ended by \r (a progress bar) */
	WIRE_TEXT_CUT = 1,    /* FILE, UNHOOKED: the text was longer */
	WIRE_READ_DIRECT = 1, /* READ: the descriptor has O_DIRECT */
	WIRE_MAP_SHARED = 1,  /* MAP: MAP_SHARED */
};

/* kind | slots << 8 | flags << 16 */
#define WIRE_TAG(kind, slots, flags)                                                               \
	((uint32_t)(kind) | (uint32_t)(slots) << 8 | (uint32_t)(flags) << 16)
#define WIRE_TAG_KIND(tag)  ((tag)&0xff)
#define WIRE_TAG_SLOTS(tag) ((tag) >> 8 & 0xff)
#define WIRE_TAG_FLAGS(tag) ((tag) >> 16)

/*
 * What a hooked call is: id, word, and how it is kept. CALL: a record each time; FIRST: counted,
 * and a record for the first call with a handle; LONG: counted and timed, and a record when it took
 * WIRE_LONG_…_NS; COUNT: counted alone.
 */
#define WIRE_CLASSES(X)                                                                            \
	X(INIT, "init", CALL)	    /* cuInit */                                                   \
	X(CONTEXT, "context", CALL) /* contexts, primary contexts, limits */                       \
	X(DEVICE, "device", COUNT)  /* questions to a device: count, current context */            \
	X(PEER, "peer", CALL)                                                                      \
	X(ALLOC, "alloc", CALL) /* device, managed and array memory */                             \
	X(FREE, "free", CALL)                                                                      \
	X(VMM, "vmm", CALL) /* reserve, create, map, set access, and their undoing */              \
	X(POOL, "pool", CALL)                                                                      \
	X(PINNED, "pinned", CALL)    /* host memory made or registered, and its undoing */         \
	X(IPC, "ipc", CALL)	     /* memory of another process or API taken in */               \
	X(MEMINFO, "meminfo", COUNT) /* cuMemGetInfo */                                            \
	X(H2D, "h2d", CALL)                                                                        \
	X(COPY, "copy", CALL) /* any direction: see wire_call.direction */                         \
	X(D2H, "d2h", COUNT)                                                                       \
	X(D2D, "d2d", COUNT)                                                                       \
	X(PREFETCH, "prefetch", CALL)                                                              \
	X(MODULE, "module", CALL)     /* module and library load and unload */                     \
	X(FUNCTION, "function", LONG) /* where lazy loading runs */                                \
	X(LINK, "link", CALL)                                                                      \
	X(CAPTURE_BEGIN, "capture_begin", CALL)                                                    \
	X(CAPTURE_END, "capture_end", CALL)                                                        \
	X(INSTANTIATE, "instantiate", CALL)                                                        \
	X(UPLOAD, "upload", CALL)                                                                  \
	X(GRAPH_UPDATE, "graph_update", CALL)                                                      \
	X(GRAPH_DESTROY, "graph_destroy", CALL)                                                    \
	X(GRAPH_NODE, "graph_node", COUNT)                                                         \
	X(GRAPH_LAUNCH, "graph_launch", FIRST)                                                     \
	X(LAUNCH, "launch", FIRST)                                                                 \
	X(LAUNCH_OTHER, "launch_other", COUNT)                                                     \
	X(SYNC, "sync", LONG)                                                                      \
	X(QUERY, "query", COUNT)                                                                   \
	X(COMPILE, "compile", CALL)	  /* NVRTC, nvJitLink */                                   \
	X(COLLECTIVE, "collective", CALL) /* NCCL set-up */                                        \
	X(RESOLVE, "resolve", COUNT)	  /* cuGetProcAddress, cudaGetDriverEntryPoint */

/*
 * From here on a LONG call gets a record of its own:
 * a wait; a look-up, which is long where it loads.
 */
#define WIRE_LONG_SYNC_NS     UINT64_C(1000000)
#define WIRE_LONG_FUNCTION_NS UINT64_C(20000)

enum wire_class {
#define X(id, word, how) WIRE_CLASS_##id,
	WIRE_CLASSES(X)
#undef X
		WIRE_CLASS_COUNT
};

/* How a guest came by a symbol: bits of wire_counter.routes, `code` of UNHOOKED. */
enum wire_route {
	WIRE_ROUTE_ELF = 1, /* bound by the dynamic linker */
	WIRE_ROUTE_DLSYM = 2,
	WIRE_ROUTE_PROC = 4,  /* cuGetProcAddress */
	WIRE_ROUTE_ENTRY = 8, /* cudaGetDriverEntryPoint */
};

/* Of a COPY; H2D is always TO_DEVICE. */
enum wire_direction {
	WIRE_DIRECTION_UNKNOWN,
	WIRE_TO_DEVICE,
	WIRE_TO_HOST,
	WIRE_DEVICE_TO_DEVICE,
	WIRE_HOST_TO_HOST
};

struct wire_head {
	uint32_t tag;
	int32_t tid;
};

/*
 * A call, whole: it is written when the call returns. What `handle`, `aux` and `extra` are:
 *
 *	class				handle				aux	extra
 *	ALLOC VMM POOL PINNED IPC	address or handle, made/undone	stream or pool
 *	H2D COPY			destination			stream	source
 *	MODULE FUNCTION LINK		module, library, function or		image given
 *					link state
 *	CAPTURE_BEGIN			stream
 *	CAPTURE_END			stream				graph	nodes of the graph
 *	INSTANTIATE			graph exec			graph
 *	UPLOAD GRAPH_LAUNCH		graph exec			stream
 *	GRAPH_UPDATE GRAPH_DESTROY	graph exec
 *	LAUNCH				function			stream
 *	SYNC				stream or event
 *
 * Nodes that could not be counted are UINT64_MAX.
 */
struct wire_call {
	struct wire_head head;
	uint64_t start_ns, end_ns;
	uint64_t bytes; /* 0 where the call has none; UINT64_MAX not known */
	uint64_t handle, aux, extra;
	int32_t result;	   /* 0 success, as the driver returned it */
	uint16_t symbol;   /* of a COUNTER of the same process */
	uint8_t cls;	   /* enum wire_class */
	uint8_t direction; /* enum wire_direction */
};

/*
 * Two slots: the second holds the name behind a head of
 * kind MORE. One for each symbol that a process met.
 */
struct wire_counter {
	struct wire_head head;
	uint64_t calls;
	uint64_t failed;   /* of them, returned other than 0 */
	uint64_t total_ns; /* of those that were timed; COUNT and later FIRST calls are not */
	uint64_t timed;	   /* how many were timed */
	uint64_t bytes;	   /* of those that succeeded */
	uint32_t routes;   /* enum wire_route */
	uint16_t symbol;
	uint8_t cls;
	uint8_t hooked;
	uint64_t reserved;
	struct wire_head more;
	char name[56];
};

struct wire_text {
	struct wire_head head;
	uint64_t at_ns;
	uint32_t code;
	uint32_t bytes; /* of the text, here and in the slots behind */
	char text[40];
};

struct wire_file {
	struct wire_head head;
	uint64_t dev, ino, size_bytes;
	uint32_t file;	   /* number of this file in this process, from 1 */
	uint32_t fs_magic; /* f_type of statfs; 0 unknown */
	uint32_t bytes;	   /* of the path */
	char text[20];	   /* the path as the guest's /proc/self/fd tells it */
};

struct wire_read {
	struct wire_head head;
	uint32_t file, ops;
	uint64_t start_ns, end_ns;	 /* first begin, last end */
	uint64_t bytes;			 /* returned */
	uint64_t busy_ns;		 /* inside the calls */
	uint64_t min_offset, max_offset; /* UINT64_MAX and 0: the calls gave none (read, readv) */
};

enum wire_populate { WIRE_POPULATE_MMAP = 1, WIRE_POPULATE_MLOCK, WIRE_POPULATE_MADVISE };

struct wire_map {
	struct wire_head head;
	uint32_t file; /* 0: not known, or no regular file */
	uint16_t how;  /* enum wire_populate; 0 for MAP */
	uint16_t prot;
	uint64_t start_ns, end_ns;
	uint64_t address, size_bytes;
	uint64_t offset;
	int32_t result; /* 0 or errno */
	uint32_t flags; /* of mmap */
};

struct wire_yield {
	struct wire_head head;
	uint64_t start_ns, end_ns;
	uint64_t calls; /* within 15 of the truth */
	uint64_t reserved[4];
};

/* MORE: the text goes on. */
struct wire_more {
	struct wire_head head;
	char text[56];
};

_Static_assert(sizeof(struct wire_header) <= WIRE_HEADER_SIZE, "header fits its page");
_Static_assert(sizeof(struct wire_process) == 512, "process entry");
_Static_assert(sizeof(struct wire_chunk) == WIRE_SLOT_SIZE, "chunk head");
_Static_assert(sizeof(struct wire_call) == WIRE_SLOT_SIZE, "call");
_Static_assert(sizeof(struct wire_counter) == 2 * WIRE_SLOT_SIZE, "counter");
_Static_assert(sizeof(struct wire_text) == WIRE_SLOT_SIZE, "text");
_Static_assert(sizeof(struct wire_file) == WIRE_SLOT_SIZE, "file");
_Static_assert(sizeof(struct wire_read) == WIRE_SLOT_SIZE, "read");
_Static_assert(sizeof(struct wire_map) == WIRE_SLOT_SIZE, "map");
_Static_assert(sizeof(struct wire_yield) == WIRE_SLOT_SIZE, "yield");
_Static_assert(sizeof(struct wire_more) == WIRE_SLOT_SIZE, "more");

/* st_dev as stat(2) of this machine gives it → MAJOR << 20 | MINOR. */
static inline uint64_t wire_dev(uint64_t st_dev)
{
	uint64_t major = (st_dev >> 8 & 0xfff) | (st_dev >> 32 & 0xfffff000);
	uint64_t minor = (st_dev & 0xff) | (st_dev >> 12 & 0xffffff00);

	return major << 20 | minor;
}
