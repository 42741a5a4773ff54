/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one private header of the shim. Its files, each calling only those before it:
 *
 *	names elf libc	what is hooked; symbols by hand; what stands behind our libc wrappers
 *	guest attach leave	this process's place in the memory
 *	record record_io	what goes there
 *	resolve		what stands behind the driver's wrappers, and when they take its place (of
 *			the wrappers it knows the addresses alone)
 *	hooks_libc hooks_cuda guard exec	the wrappers
 *	start		the constructor
 *
 * The rules: nothing of the guest changes; after the constructor no allocation, stdio, locks,
 * threads or signal handlers; a failure of ours is a pass-through that is counted. Every function
 * here may be called by any thread, in a signal handler, in a fork child; none touches errno.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/event.h"
#include "shim/abi.h"
#include "shim/sys.h"

#define EXPORT __attribute__((visibility("default")))

/* What is declared from here on is ours alone, and reached without the loader's tables. */
#pragma GCC visibility push(hidden)

/* Numbers of the hooked symbols, in the order of hooks.def: wire_counter.symbol. */
enum hook {
#define CALL(symbol, ...)    HOOK_##symbol,
#define COPY(symbol, ...)    HOOK_##symbol,
#define SPECIAL(symbol, ...) HOOK_##symbol,
#include "shim/hooks.def"
	HOOK_COUNT
};

enum libc_hook {
#define LIBC(symbol) LIBC_##symbol,
#include "shim/hooks.def"
	LIBC_COUNT
};

#define KNOWN_FILES 8192u  /* files that a process may tell apart */
#define SEEN_MAX    16384u /* functions and graph execs whose first launch is told apart */

struct known_file {
	uint64_t ino, dev;
	uint32_t file;
};

/*
 * What this process knows of its place in the memory. It lies in pages that the kernel wipes in a
 * fork child, however that was made: the child finds zeroes and takes an entry and chunks of its
 * own.
 */
struct local {
	uint32_t state; /* enum local_state */
	uint32_t index;
	struct wire_process *process;
	struct wire_chunk *chunk, *spare;
	uint64_t fork_ns; /* when fork returned here; 0 unknown or no fork child */
	uint32_t files, log_lines;
	struct wire_counter *counter[HOOK_COUNT];
	struct known_file file[KNOWN_FILES];
	uint64_t seen[SEEN_MAX];
};

enum local_state { LOCAL_NEW, LOCAL_CLAIMING, LOCAL_READY, LOCAL_REFUSED };

/*
 * NULL in a process that no session reached, or that has left it: every hook
 * is a pass-through. Set by the constructor.
 */
extern struct local *guest_local;
extern struct wire_header *guest_header;

/* strcmp() == 0 that calls nothing: looking a function up must not need one looked up. */
static inline bool text_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/*
 * The header's layout as it was when it was checked:
 * what lies in the memory may be scribbled over by any guest.
 */
struct layout {
	uint32_t process_offset, process_max;
	uint32_t chunk_offset, chunk_max, chunk_reserve;
	size_t size_bytes;
};
extern struct layout guest_layout;

/* The two clauses that every hook asks. */
static inline bool guest_live(void)
{
	return __builtin_expect(guest_local != NULL, 0) &&
	       !(__atomic_load_n(&guest_header->flags, __ATOMIC_RELAXED) & WIRE_OFF);
}

struct thread_state {
	uint32_t owner; /* process index + 1 that the rest was made for */
	int32_t tid;
	struct wire_read *read; /* the record that grows */
	uint64_t read_bin;
	struct wire_yield *yield;
	uint32_t yields; /* not yet written */
	uint32_t read_file;
};

/* guest.c: this process's entry, slots. */
/*
 * Take an entry for this process, once. `pid_ns` 0: to be asked. Returns: false when there is none
 * (counted).
 */
bool guest_claim(struct local *l, uint64_t start_ns, uint32_t flags, uint32_t pid_ns);
/* The claimed entry is whole. */
void guest_open(struct local *l);
struct local *guest_self_now(struct local *l);
/* This process's place, claimed when need be; NULL when there is none to be had (counted). */
static inline struct local *guest_self(void)
{
	struct local *l = __atomic_load_n(&guest_local, __ATOMIC_ACQUIRE);

	/* NULL: it left since the hook asked. */
	if (__builtin_expect(l && __atomic_load_n(&l->state, __ATOMIC_ACQUIRE) == LOCAL_READY, 1))
		return l;
	return l ? guest_self_now(l) : NULL;
}
extern __thread struct thread_state guest_this_thread __attribute__((tls_model("initial-exec")));
void guest_new_thread(struct local *l);
static inline struct thread_state *guest_thread(struct local *l)
{
	if (__builtin_expect(guest_this_thread.owner != l->index + 1, 0))
		guest_new_thread(l);
	return &guest_this_thread;
}
/*
 * `n` free slots in a row; NULL when there are none (counted). Bulk leaves the reserve to the rest.
 */
void *guest_slots(struct local *l, unsigned n, bool bulk);
/* The process is about to exit by itself. */
void guest_end(void);
/* The last store of a record. */
static inline void guest_commit(struct wire_head *head, uint32_t tag)
{
	__atomic_store_n(&head->tag, tag, __ATOMIC_RELEASE);
}

/*
 * leave.c: from then on, and in its fork children, this process is as if no session had reached it
 * (counted).
 */
/* It closes itself in by seccomp: no system call of ours any more. */
void guest_close(void);
/* It did, or its parent before a fork. */
extern bool guest_closed;
/*
 * The memory goes too. Returns: false when another thread might be at work in it; `wait`: until none
 * is, a moment at most.
 */
bool guest_leave(bool wait);
/* All memory was locked: ours is not to count. */
void guest_unlock(void);

/* attach.c */
/*
 * Take session memory at `text` of COLDPROF_SESSION. Returns: NULL when it cannot be reached.
 * *ret_pid_ns: our pid namespace where that is clear at once, else 0.
 */
struct wire_header *attach_session(const char *text, struct layout *ret_layout, bool *ret_by_socket,
				   uint32_t *ret_pid_ns);

/* record.c */
struct call {
	uint64_t start_ns;
	uint64_t bytes, handle, aux, extra;
	int result;
	uint8_t cls, direction;
};
/* The counter of a symbol in this process; NULL when there is no room. */
struct wire_counter *record_counter(struct local *l, unsigned hook, uint8_t cls);
void record_route(unsigned hook, uint8_t cls, uint32_t route);
void record_count(unsigned hook, uint8_t cls, uint64_t bytes);
void record_call(unsigned hook, const struct call *c);
/* A LONG call: counted, timed, and a record when it took `long_ns`. */
void record_long(unsigned hook, const struct call *c, uint64_t long_ns);
/* True the first time that this process meets `handle` (never 0). */
bool record_first(uint64_t handle);
void record_forget(uint64_t handle);
void record_unhooked(const char *name, uint32_t route);

/* record_io.c */
#define READ_MIN  4096 /* smaller reads stay untouched */
#define MAP_MIN	  (1u << 20)
#define NO_OFFSET (-1L)
void record_log(int fd, const char *text, size_t n, uint64_t at_ns);
bool record_is_log(int fd);
/* `bytes` came from `fd`, at `offset` or where the descriptor stands (NO_OFFSET). */
void record_read(int fd, int64_t offset, uint64_t bytes, uint64_t start_ns);
void record_map(int fd, int prot, int flags, int64_t offset, uint64_t address, uint64_t size,
		uint64_t start_ns);
/* `fd` -1: the file is not known. `result`: 0 or errno. */
void record_populate(enum wire_populate how, int fd, int64_t offset, uint64_t address,
		     uint64_t size, int result, uint64_t start_ns);
void record_yield(void);

/* elf.c */
/* Where the loader found us, as it was told; NULL not known. */
const char *elf_own_path(void);
/* What `name` is in the first object behind this one that defines it. NULL: in none. */
void *elf_next(const char *name);
/* The same for all of `names` whose `found` is NULL, in one pass. */
void elf_next_all(const char *const *names, void **found, size_t n);
/* The version of `name` before the default one, or one without a version. NULL: in none. */
void *elf_next_old(const char *name);
/* Does the object that `address` lies in refer to that version of `name`, and to no other? */
bool elf_refers(const void *address, const char *name, const char *version);
/* In any object but this one. */
void *elf_any(const char *name);
/* In the object that `address` lies in. */
void *elf_beside(const void *address, const char *name);

/* names.c */
const char *hook_name(unsigned hook);
uint8_t hook_class(unsigned hook);
const char *libc_name(enum libc_hook hook);

/* libc.c */
extern void *libc_real[LIBC_COUNT];
/* For the assembly stub; also libc_real[LIBC_dlsym]. */
extern void *shim_real_dlsym;
void resolve_libc(void);
void *resolve_libc_one(enum libc_hook hook);
/*
 * The real function of `hook`, looked up now where our
 * constructor has not run yet; NULL: libc lacks it.
 */
static inline void *resolve_libc_get(enum libc_hook hook)
{
	void *fn = __atomic_load_n(&libc_real[hook], __ATOMIC_ACQUIRE);

	return __builtin_expect(fn != NULL, 1) ? fn : resolve_libc_one(hook);
}

/* resolve.c */
extern void *hook_real[HOOK_COUNT];
void *resolve_real_now(unsigned hook);
/* What stands behind the wrapper of `hook`; NULL when no object has it. */
static inline void *resolve_real(unsigned hook)
{
	void *fn = __atomic_load_n(&hook_real[hook], __ATOMIC_ACQUIRE);

	return __builtin_expect(fn != NULL, 1) ? fn : resolve_real_now(hook);
}
/* Our wrapper for the driver function at `fn`, else `fn`. `name`: as it was asked for. */
void *resolve_substitute(void *fn, const char *name, uint32_t route);
/* What to return for a hooked call with nothing behind it. */
int resolve_nothing(unsigned hook);

/* hooks_cuda.c */
void *hook_wrapper(unsigned hook);

#pragma GCC visibility pop
