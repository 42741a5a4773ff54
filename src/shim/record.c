/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of driver calls: counters that grow in
 * place, and one record for each call of a slow class.
 */
#include "shim/shim.h"

#define SMALL_COPY   65536 /* copies below are bulk: a start may make a million of them */
#define UNHOOKED_MAX 64	   /* names a process reports; the rest is a number */
#define SEEN_PROBES  32
#define SEEN_GONE    UINT64_C(1)

static void add(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static struct wire_counter *make_counter(struct local *l, unsigned hook, uint8_t cls)
{
	struct wire_counter *c = guest_slots(l, 2, false), *old = NULL;
	const char *name = hook_name(hook);

	if (!c)
		return NULL;
	c->head.tid = guest_thread(l)->tid;
	c->symbol = (uint16_t)hook;
	c->cls = cls;
	c->hooked = 1;
	for (size_t i = 0; i < sizeof(c->name) - 1 && name[i]; i++)
		c->name[i] = name[i];
	guest_commit(&c->more, WIRE_TAG(WIRE_MORE, 1, 0));
	if (!__atomic_compare_exchange_n(&l->counter[hook], &old, c, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return old;
	guest_commit(&c->head, WIRE_TAG(WIRE_COUNTER, 2, 0));
	return c;
}

struct wire_counter *record_counter(struct local *l, unsigned hook, uint8_t cls)
{
	struct wire_counter *c = __atomic_load_n(&l->counter[hook], __ATOMIC_ACQUIRE);

	return __builtin_expect(c != NULL, 1) ? c : make_counter(l, hook, cls);
}

void record_route(unsigned hook, uint8_t cls, uint32_t route)
{
	struct wire_counter *c;
	struct local *l;

	if (!guest_live())
		return;
	l = guest_self();
	c = l ? record_counter(l, hook, cls) : NULL;
	if (c)
		__atomic_fetch_or(&c->routes, route, __ATOMIC_RELAXED);
}

void record_count(unsigned hook, uint8_t cls, uint64_t bytes)
{
	struct local *l = guest_self();
	struct wire_counter *c = l ? record_counter(l, hook, cls) : NULL;

	if (!c)
		return;
	add(&c->calls, 1);
	if (bytes)
		add(&c->bytes, bytes);
}

static void count_timed(struct wire_counter *c, const struct call *call, uint64_t ns)
{
	add(&c->calls, 1);
	add(&c->timed, 1);
	add(&c->total_ns, ns);
	if (call->result != 0)
		add(&c->failed, 1);
	else if (call->bytes != 0 && call->bytes != UINT64_MAX)
		add(&c->bytes, call->bytes);
}

static void write_call(struct local *l, unsigned hook, const struct call *call, uint64_t end_ns)
{
	bool copy = call->cls == WIRE_CLASS_H2D || call->cls == WIRE_CLASS_COPY;
	struct wire_call *r = guest_slots(l, 1, copy && call->bytes < SMALL_COPY);

	if (!r)
		return;
	r->head.tid = guest_thread(l)->tid;
	r->start_ns = call->start_ns;
	r->end_ns = end_ns;
	r->bytes = call->bytes;
	r->handle = call->handle;
	r->aux = call->aux;
	r->extra = call->extra;
	r->result = call->result;
	r->symbol = (uint16_t)hook;
	r->cls = call->cls;
	r->direction = call->direction;
	guest_commit(&r->head, WIRE_TAG(WIRE_CALL, 1, 0));
}

void record_call(unsigned hook, const struct call *call)
{
	record_long(hook, call, 0);
}

void record_long(unsigned hook, const struct call *call, uint64_t long_ns)
{
	uint64_t end_ns = sys_now_ns();
	struct local *l = guest_self();
	struct wire_counter *c;

	if (!l)
		return;
	c = record_counter(l, hook, call->cls);
	if (c)
		count_timed(c, call, end_ns - call->start_ns);
	if (end_ns - call->start_ns >= long_ns)
		write_call(l, hook, call, end_ns);
}

static unsigned place(uint64_t handle)
{
	return (unsigned)((handle * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % SEEN_MAX;
}

bool record_first(uint64_t handle)
{
	struct local *l = guest_self();
	uint64_t *free_slot = NULL, old;

	if (!l || handle <= SEEN_GONE)
		return false;
	for (unsigned i = 0, at = place(handle); i < SEEN_PROBES; i++, at = (at + 1) % SEEN_MAX) {
		old = __atomic_load_n(&l->seen[at], __ATOMIC_RELAXED);
		if (__builtin_expect(old == handle, 1))
			return false;
		if (!free_slot && old <= SEEN_GONE)
			free_slot = &l->seen[at];
		if (old == 0)
			break;
	}
	if (!free_slot) /* the table is full hereabouts: its first launch is not told apart */
		return false;
	old = __atomic_load_n(free_slot, __ATOMIC_RELAXED);
	return old <= SEEN_GONE && __atomic_compare_exchange_n(free_slot, &old, handle, false,
							       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void record_forget(uint64_t handle)
{
	struct local *l = guest_self();

	if (!l || handle <= SEEN_GONE)
		return;
	for (unsigned i = 0, at = place(handle); i < SEEN_PROBES; i++, at = (at + 1) % SEEN_MAX) {
		if (l->seen[at] == 0)
			return;
		if (l->seen[at] == handle)
			__atomic_store_n(&l->seen[at], SEEN_GONE, __ATOMIC_RELAXED);
	}
}

void record_unhooked(const char *name, uint32_t route)
{
	struct wire_text *r;
	struct local *l;
	uint32_t n = 0;

	if (!guest_live())
		return;
	l = guest_self();
	if (!l || __atomic_fetch_add(&l->process->unhooked, 1, __ATOMIC_RELAXED) >= UNHOOKED_MAX)
		return;
	r = guest_slots(l, 1, true);
	if (!r)
		return;
	for (; n < sizeof(r->text) && name[n]; n++)
		r->text[n] = name[n];
	r->head.tid = guest_thread(l)->tid;
	r->at_ns = sys_now_ns();
	r->code = route;
	r->bytes = n;
	guest_commit(&r->head, WIRE_TAG(WIRE_UNHOOKED, 1, name[n] ? WIRE_TEXT_CUT : 0));
}
