/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers of the driver, made from hooks.def: the real call first, its result unchanged. */
#include "shim/shim.h"

/* Every wrapper is exported under the driver's name: no header of ours may declare it. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define IN(p)  ((uint64_t)(uintptr_t)(p))
#define OUT(p) ((p) ? (uint64_t)(uintptr_t) * (p) : 0)

typedef int attribute_fn(void *ret, int attribute, abi_dptr at);
typedef int nodes_fn(abi_handle graph, abi_handle *nodes, size_t *ret_count);

/* A driver function that we use and do not wrap. */
static void *helper(void **cache, const char *name)
{
	void *fn = __atomic_load_n(cache, __ATOMIC_ACQUIRE);

	if (!fn) {
		fn = elf_any(name);
		__atomic_store_n(cache, fn, __ATOMIC_RELEASE);
	}
	return fn;
}

static unsigned memory_type(abi_dptr at)
{
	static void *cache;
	attribute_fn *fn = (attribute_fn *)helper(&cache, "cuPointerGetAttribute");
	unsigned type = 0;

	if (!fn)
		return 0;
	/*
	 * 2: CU_POINTER_ATTRIBUTE_MEMORY_TYPE; memory that the
	 * driver never saw is an error, and pageable host.
	 */
	return fn(&type, 2, at) == 0 ? type : ABI_HOST;
}

static uint8_t direction_of(unsigned to, unsigned from)
{
	bool to_host = to == ABI_HOST, from_host = from == ABI_HOST;

	if (to == 0 || from == 0)
		return WIRE_DIRECTION_UNKNOWN;
	if (to_host)
		return from_host ? WIRE_HOST_TO_HOST : WIRE_TO_HOST;
	return from_host ? WIRE_TO_DEVICE : WIRE_DEVICE_TO_DEVICE;
}

static uint8_t copy_direction(abi_dptr to, abi_dptr from)
{
	return direction_of(memory_type(to), memory_type(from));
}

static uint64_t first_of(const abi_dptr *list, size_t n)
{
	return list && n ? list[0] : 0;
}

static uint8_t direction_batch(const abi_dptr *to, const abi_dptr *from, size_t n)
{
	return to && from && n ? copy_direction(to[0], from[0]) : WIRE_DIRECTION_UNKNOWN;
}

static uint64_t bytes_batch(const size_t *sizes, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; sizes && i < n; i++)
		sum += sizes[i];
	return sum;
}

#define TYPE(c, end)                                                                               \
	((c)->end##_type == ABI_UNIFIED ? memory_type((c)->end##_device)                           \
					: (unsigned)(c)->end##_type)
#define ADDRESS(c, end)                                                                            \
	((c)->end##_type == ABI_HOST	? IN((c)->end##_host)                                      \
	 : (c)->end##_type == ABI_ARRAY ? IN((c)->end##_array)                                     \
					: (c)->end##_device)

static uint64_t bytes_2d(const struct abi_copy2d *c)
{
	return (uint64_t)c->width_bytes * c->height;
}

static uint64_t to_2d(const struct abi_copy2d *c)
{
	return ADDRESS(c, dst);
}

static uint64_t from_2d(const struct abi_copy2d *c)
{
	return ADDRESS(c, src);
}

static uint8_t direction_2d(const struct abi_copy2d *c)
{
	return direction_of(TYPE(c, dst), TYPE(c, src));
}

static uint64_t bytes_3d(const struct abi_copy3d *c)
{
	return (uint64_t)c->width_bytes * c->height * c->depth;
}

static uint64_t to_3d(const struct abi_copy3d *c)
{
	return ADDRESS(c, dst);
}

static uint64_t from_3d(const struct abi_copy3d *c)
{
	return ADDRESS(c, src);
}

static uint8_t direction_3d(const struct abi_copy3d *c)
{
	return direction_of(TYPE(c, dst), TYPE(c, src));
}

static uint64_t graph_nodes(uint64_t graph)
{
	static void *cache;
	nodes_fn *fn = (nodes_fn *)helper(&cache, "cuGraphGetNodes");
	size_t n = 0;

	return fn && graph && fn((abi_handle)(uintptr_t)graph, NULL, &n) == 0 ? n : UINT64_MAX;
}

enum keeping { KEEP_CALL, KEEP_FIRST, KEEP_LONG, KEEP_COUNT };
static const uint8_t keeping[] = {
#define X(id, word, how) KEEP_##how,
	WIRE_CLASSES(X)
#undef X
};

/*
 * Written out in every wrapper with a constant `cls`:
 * the compiler leaves the one branch that applies.
 */
#define KEEP(cls)    (keeping[cls])
#define LONG_NS(cls) ((cls) == WIRE_CLASS_FUNCTION ? WIRE_LONG_FUNCTION_NS : WIRE_LONG_SYNC_NS)

#define WRAP(symbol, class_, params, args, bytes_, handle_, aux_, extra_, direction_)              \
	EXPORT int symbol params                                                                   \
	{                                                                                          \
		int(*fn) params = (int(*) params)resolve_real(HOOK_##symbol);                      \
		struct call call = {.cls = class_};                                                \
                                                                                                   \
		if (__builtin_expect(!fn, 0))                                                      \
			return resolve_nothing(HOOK_##symbol);                                     \
		if (!guest_live())                                                                 \
			return fn args;                                                            \
		if (KEEP(class_) == KEEP_COUNT ||                                                  \
		    (KEEP(class_) == KEEP_FIRST && !record_first((uint64_t)(handle_)))) {          \
			record_count(HOOK_##symbol, class_,                                        \
				     KEEP(class_) == KEEP_COUNT ? (bytes_) : 0);                   \
			return fn args;                                                            \
		}                                                                                  \
		call.start_ns = sys_now_ns();                                                      \
		call.result = fn args;                                                             \
		if (call.result == 0) {                                                            \
			call.bytes = (bytes_);                                                     \
			call.handle = (uint64_t)(handle_);                                         \
			call.aux = (aux_);                                                         \
			call.extra = (extra_);                                                     \
			call.direction = (direction_);                                             \
			if (class_ == WIRE_CLASS_GRAPH_DESTROY)                                    \
				record_forget(call.handle);                                        \
		}                                                                                  \
		if (KEEP(class_) == KEEP_LONG)                                                     \
			record_long(HOOK_##symbol, &call, LONG_NS(class_));                        \
		else                                                                               \
			record_call(HOOK_##symbol, &call);                                         \
		return call.result;                                                                \
	}

#define CALL(symbol, cls, params, args, bytes, handle, aux, extra)                                 \
	WRAP(symbol, WIRE_CLASS_##cls, params, args, bytes, handle, aux, extra,                    \
	     WIRE_CLASS_##cls == WIRE_CLASS_H2D ? WIRE_TO_DEVICE : WIRE_DIRECTION_UNKNOWN)
#define COPY(symbol, params, args, bytes, destination, stream, source, direction)                  \
	WRAP(symbol, WIRE_CLASS_COPY, params, args, bytes, destination, stream, source, direction)
#include "shim/hooks.def"

/* A resolver: the real one answers, and only what it found may be replaced. */
#define RESOLVER(symbol, route, params, args)                                                      \
	EXPORT int symbol params                                                                   \
	{                                                                                          \
		int(*fn) params = (int(*) params)resolve_real(HOOK_##symbol);                      \
		int result;                                                                        \
                                                                                                   \
		if (__builtin_expect(!fn, 0))                                                      \
			return resolve_nothing(HOOK_##symbol);                                     \
		result = fn args;                                                                  \
		if (!guest_live())                                                                 \
			return result;                                                             \
		record_count(HOOK_##symbol, WIRE_CLASS_RESOLVE, 0);                                \
		if (result == 0 && ret_fn && *ret_fn)                                              \
			*ret_fn = resolve_substitute(*ret_fn, name, route);                        \
		return result;                                                                     \
	}

#define ROUTE_OF(symbol)                                                                           \
	(sizeof(#symbol) > sizeof("cuGetProcAddress_v2") ? WIRE_ROUTE_ENTRY : WIRE_ROUTE_PROC)
#define SPECIAL(symbol, cls, params, args) RESOLVER(symbol, ROUTE_OF(symbol), params, args)
#include "shim/hooks.def"

static void *const wrappers[] = {
#define CALL(symbol, ...)    (void *)symbol,
#define COPY(symbol, ...)    (void *)symbol,
#define SPECIAL(symbol, ...) (void *)symbol,
#include "shim/hooks.def"
};

void *hook_wrapper(unsigned hook)
{
	return wrappers[hook];
}
