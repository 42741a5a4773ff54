/* SPDX-License-Identifier: Apache-2.0 */
/* This process's place in the session's memory: the constructor, the entry, the slots. */
#include "shim/shim.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "wire/session.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct local *guest_local;
struct wire_header *guest_header;
struct layout guest_layout;

#define PR_GET_NAME	  16 /* sys/prctl.h would declare a function that we define otherwise */
#define ADDRESS_SPACE_MIN (UINT64_C(256) * WIRE_SIZE_MAX)

static __thread struct thread_state thread __attribute__((tls_model("initial-exec")));

static struct wire_process *entry(uint32_t index)
{
	unsigned char *table = (unsigned char *)guest_header + guest_layout.process_offset;

	return (struct wire_process *)table + index;
}

/* Take an entry of the table, or raise the loss. */
static struct wire_process *take_entry(uint32_t *ret_index)
{
	uint32_t index;

	if (__atomic_load_n(&guest_header->next_process, __ATOMIC_RELAXED) <
	    guest_layout.process_max) {
		index = __atomic_fetch_add(&guest_header->next_process, 1, __ATOMIC_RELAXED);
		if (index < guest_layout.process_max) {
			*ret_index = index;
			return entry(index);
		}
	}
	__atomic_fetch_add(&guest_header->lost_processes, 1, __ATOMIC_RELAXED);
	return NULL;
}

static bool claim(struct local *l, uint64_t start_ns, uint32_t flags)
{
	struct wire_process *p;
	uint32_t index = 0;

	p = take_entry(&index);
	if (!p) {
		__atomic_store_n(&l->state, LOCAL_REFUSED, __ATOMIC_RELEASE);
		return false;
	}
	p->flags = flags;
	p->pid = (int32_t)sys3(SYS_getpid, 0, 0, 0);
	p->ppid = (int32_t)sys3(SYS_getppid, 0, 0, 0);
	p->start_ns = start_ns;
	sys3(SYS_prctl, PR_GET_NAME, p->comm, 0);
	l->process = p;
	l->index = index;
	return true;
}

static void open_entry(struct local *l)
{
	__atomic_store_n(&l->process->state, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&l->state, LOCAL_READY, __ATOMIC_RELEASE);
}

struct local *guest_self(void)
{
	struct local *l = __atomic_load_n(&guest_local, __ATOMIC_ACQUIRE);
	uint32_t state;

	if (!l) /* it left since the hook asked */
		return NULL;
	state = __atomic_load_n(&l->state, __ATOMIC_ACQUIRE);
	if (__builtin_expect(state == LOCAL_READY, 1))
		return l;
	/*
	 * A fork child at its first event. Another thread that
	 * is at this already keeps the place: ours is lost.
	 */
	if (state == LOCAL_NEW &&
	    __atomic_compare_exchange_n(&l->state, &state, LOCAL_CLAIMING, false, __ATOMIC_ACQUIRE,
					__ATOMIC_ACQUIRE)) {
		if (!claim(l, l->fork_ns ? l->fork_ns : sys_now_ns(), 0))
			return NULL;
		open_entry(l);
		return l;
	}
	__atomic_fetch_add(&guest_header->lost_records, 1, __ATOMIC_RELAXED);
	return NULL;
}

struct thread_state *guest_thread(struct local *l)
{
	struct thread_state *t = &thread;

	if (t->owner != l->index + 1) { /* a new thread, or what a fork copied */
		*t = (struct thread_state){.owner = l->index + 1};
		t->tid = (int32_t)sys3(SYS_gettid, 0, 0, 0);
	}
	return t;
}

static struct wire_chunk *take_chunk(struct local *l, bool bulk)
{
	struct wire_chunk *c = __atomic_exchange_n(&l->spare, NULL, __ATOMIC_ACQUIRE);
	uint32_t next, limit = bulk ? guest_layout.chunk_reserve : guest_layout.chunk_max;

	if (c)
		return c;
	next = __atomic_load_n(&guest_header->next_chunk, __ATOMIC_RELAXED);
	if (next >= limit)
		return NULL;
	next = __atomic_fetch_add(&guest_header->next_chunk, 1, __ATOMIC_RELAXED);
	if (next >= guest_layout.chunk_max)
		return NULL;
	c = (struct wire_chunk *)((unsigned char *)guest_header + guest_layout.chunk_offset +
				  (size_t)next * WIRE_CHUNK_SIZE);
	c->next = 1;
	__atomic_store_n(&c->process, l->index + 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&l->process->chunks, 1, __ATOMIC_RELAXED);
	return c;
}

static void *lost(struct local *l, bool bulk)
{
	__atomic_fetch_add(&guest_header->lost_records, 1, __ATOMIC_RELAXED);
	if (bulk)
		__atomic_fetch_add(&guest_header->lost_bulk, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&l->process->lost_records, 1, __ATOMIC_RELAXED);
	return NULL;
}

void *guest_slots(struct local *l, unsigned n, bool bulk)
{
	for (;;) {
		struct wire_chunk *c = __atomic_load_n(&l->chunk, __ATOMIC_ACQUIRE), *fresh;

		/* Asked first, so that adds to a full chunk never run round. */
		if (c && __atomic_load_n(&c->next, __ATOMIC_RELAXED) < WIRE_CHUNK_SLOTS) {
			uint32_t at = __atomic_fetch_add(&c->next, n, __ATOMIC_RELAXED);

			if (at <= WIRE_CHUNK_SLOTS - n && at > 0)
				return (unsigned char *)c + (size_t)at * WIRE_SLOT_SIZE;
		}
		fresh = take_chunk(l, bulk);
		if (!fresh)
			return lost(l, bulk);
		if (!__atomic_compare_exchange_n(&l->chunk, &c, fresh, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
			__atomic_store_n(&l->spare, fresh, __ATOMIC_RELEASE);
	}
}

static const char *find_env(char **envp, const char *name)
{
	for (; envp && *envp; envp++) {
		const char *e = *envp, *n = name;

		while (*n && *e == *n)
			e++, n++;
		if (!*n && *e == '=')
			return e + 1;
	}
	return NULL;
}

static void keep_command(struct wire_process *p, int argc, char **argv)
{
	const char *exe = (const char *)getauxval(AT_EXECFN);
	uint32_t n = 0;

	for (size_t i = 0; exe && exe[i] && i < sizeof(p->exe) - 1; i++)
		p->exe[i] = exe[i];
	for (int i = 0; i < argc && argv[i]; i++) {
		for (const char *s = argv[i];; s++) {
			if (n == sizeof(p->argv) - 1) {
				p->argv_cut = 1;
				goto out;
			}
			p->argv[n++] = *s;
			if (!*s)
				break;
		}
	}
out:
	p->argv_bytes = n;
}

/*
 * Runs in the child after fork(), not after vfork or a bare
 * clone: those find the wiped page at their first event.
 */
static void after_fork(void)
{
	struct local *l = guest_local;

	if (l && guest_live() && l->state == LOCAL_NEW)
		l->fork_ns = sys_now_ns();
}

extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *dso);
extern void *__dso_handle __attribute__((visibility("hidden")));

/*
 * Where every byte of address space is counted, our mapping
 * could be what makes an allocation of the guest fail.
 */
static bool address_space_is_scarce(void)
{
	struct {
		uint64_t now, most;
	} limit;

	return sys4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) == 0 &&
	       limit.now < ADDRESS_SPACE_MIN;
}

__attribute__((constructor)) static void start(int argc, char **argv, char **envp)
{
	uint64_t start_ns = sys_now_ns();
	const char *text = find_env(envp, SESSION_ENV);
	struct local *l;
	bool by_socket;
	long at;

	resolve_libc();
	if (!text || guest_local)
		return;
	guest_header = attach_session(text, &guest_layout, &by_socket);
	if (!guest_header)
		return;
	if (address_space_is_scarce()) {
		__atomic_fetch_add(&guest_header->left, 1, __ATOMIC_RELAXED);
		sys3(SYS_munmap, guest_header, guest_layout.size_bytes, 0);
		return;
	}
	at = sys6(SYS_mmap, 0, sizeof(struct local), PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at < 0 && at > -4096)
		return;
	if (sys3(SYS_madvise, at, sizeof(struct local), MADV_WIPEONFORK) != 0) {
		sys3(SYS_munmap, at, sizeof(struct local), 0);
		return;
	}
	l = (struct local *)at;
	__atomic_fetch_add(by_socket ? &guest_header->attached_socket
				     : &guest_header->attached_proc,
			   1, __ATOMIC_RELAXED);
	if (!claim(l, start_ns, WIRE_PROCESS_EXEC | (by_socket ? WIRE_PROCESS_SOCKET : 0)))
		return;
	keep_command(l->process, argc, argv);
	open_entry(l);
	__atomic_store_n(&guest_local, l, __ATOMIC_RELEASE);
	__register_atfork(NULL, NULL, after_fork, &__dso_handle);
}

void guest_end(void)
{
	struct local *l = guest_local;

	/* A vfork child shares our memory and is not us. */
	if (l && guest_live() && l->state == LOCAL_READY &&
	    l->process->pid == (int32_t)sys3(SYS_getpid, 0, 0, 0))
		__atomic_store_n(&l->process->end_ns, sys_now_ns(), __ATOMIC_RELAXED);
}

/* The links of /proc/PID/task are 2 and its threads. */
static bool single_threaded(void)
{
	struct stat st;

	return sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0) == 0 && st.st_nlink == 3;
}

void guest_leave(bool unmap)
{
	struct local *l = guest_local;

	if (unmap && !single_threaded())
		return;
	if (!l || !__atomic_compare_exchange_n(&guest_local, &l, NULL, false, __ATOMIC_ACQ_REL,
					       __ATOMIC_RELAXED))
		return;
	__atomic_fetch_add(&guest_header->left, 1, __ATOMIC_RELAXED);
	if (!unmap)
		return;
	sys3(SYS_munmap, guest_header, guest_layout.size_bytes, 0);
	sys3(SYS_munmap, l, sizeof(*l), 0);
}

__attribute__((destructor)) static void finish(void)
{
	guest_end();
}
