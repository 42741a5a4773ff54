/* SPDX-License-Identifier: Apache-2.0 */
/* This process's place in the session's memory: the entry, the slots. */
#include "shim/shim.h"

#include <fcntl.h>
#include <sys/stat.h>

struct local *guest_local;
struct wire_header *guest_header;
struct layout guest_layout;

#define PR_GET_NAME 16 /* sys/prctl.h would declare a function that we define otherwise */

__thread struct thread_state guest_this_thread;

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

/* 0: /proc is not mounted here. */
static uint32_t pid_namespace(void)
{
	struct stat st;

	if (sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &st, 0) != 0)
		return 0;
	return (uint32_t)st.st_ino;
}

bool guest_claim(struct local *l, uint64_t start_ns, uint32_t flags, uint32_t pid_ns)
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
	p->pid_ns = pid_ns ? pid_ns : pid_namespace();
	p->start_ns = start_ns;
	sys3(SYS_prctl, PR_GET_NAME, p->comm, 0);
	l->process = p;
	l->index = index;
	return true;
}

void guest_open(struct local *l)
{
	__atomic_store_n(&l->process->state, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&l->state, LOCAL_READY, __ATOMIC_RELEASE);
}

struct local *guest_self_now(struct local *l)
{
	uint32_t state = __atomic_load_n(&l->state, __ATOMIC_ACQUIRE);

	if (state == LOCAL_READY)
		return l;
	/*
	 * A fork child at its first event. Another thread that
	 * is at this already keeps the place: ours is lost.
	 */
	if (state == LOCAL_NEW &&
	    __atomic_compare_exchange_n(&l->state, &state, LOCAL_CLAIMING, false, __ATOMIC_ACQUIRE,
					__ATOMIC_ACQUIRE)) {
		if (!guest_claim(l, l->fork_ns ? l->fork_ns : sys_now_ns(), 0, 0))
			return NULL;
		guest_open(l);
		return l;
	}
	__atomic_fetch_add(&guest_header->lost_records, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Or one that a fork copied. */
void guest_new_thread(struct local *l)
{
	guest_this_thread = (struct thread_state){.owner = l->index + 1};
	guest_this_thread.tid = (int32_t)sys3(SYS_gettid, 0, 0, 0);
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
	/* Read first: such a fault maps the pages around that are there already, a write maps one. */
	__atomic_load_n((volatile uint32_t *)&c->process, __ATOMIC_RELAXED);
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

void guest_end(void)
{
	struct local *l = guest_local;

	/* A vfork child shares our memory and is not us. */
	if (l && guest_live() && l->state == LOCAL_READY &&
	    l->process->pid == (int32_t)sys3(SYS_getpid, 0, 0, 0))
		__atomic_store_n(&l->process->end_ns, sys_now_ns(), __ATOMIC_RELAXED);
}
