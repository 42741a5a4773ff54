/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands behind a wrapper, and when a wrapper takes its place: dlsym by exact exported name,
 * cuGetProcAddress and cudaGetDriverEntryPoint by the ADDRESS that the real one returned, since
 * there one name means several ABI variants. An address or a variant that is not known passes
 * through untouched, and is counted.
 */
#include "shim/shim.h"

#include <dlfcn.h>

#define TABLE	      1024u
#define ADDRESS_SHIFT 48

_Static_assert(HOOK_COUNT < TABLE / 2, "tables stay sparse");

void *hook_real[HOOK_COUNT];
/*
 * hook + 1 by the hash of its name; its address | hook
 * << 48 by that of its address. Filled once, by anybody.
 */
static uint16_t by_name[TABLE];
static uint64_t by_address[TABLE];
static bool named, addressed;

static uint32_t hash_name(const char *s)
{
	uint32_t h = 5381;

	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h;
}

static void fill_names(void)
{
	for (unsigned hook = 0; hook < HOOK_COUNT; hook++) {
		for (uint32_t at = hash_name(hook_name(hook)) % TABLE;; at = (at + 1) % TABLE) {
			uint16_t old = 0;

			if (__atomic_compare_exchange_n(&by_name[at], &old, (uint16_t)(hook + 1),
							false, __ATOMIC_RELAXED,
							__ATOMIC_RELAXED) ||
			    old == hook + 1)
				break;
		}
	}
	__atomic_store_n(&named, true, __ATOMIC_RELEASE);
}

static int find_name(const char *name)
{
	if (!__atomic_load_n(&named, __ATOMIC_ACQUIRE))
		fill_names();
	for (uint32_t at = hash_name(name) % TABLE; by_name[at]; at = (at + 1) % TABLE)
		if (text_same(hook_name(by_name[at] - 1u), name))
			return by_name[at] - 1;
	return -1;
}

static uint32_t hash_address(uint64_t a)
{
	return (uint32_t)(a * UINT64_C(0x9e3779b97f4a7c15) >> 40) % TABLE;
}

/* Where the driver that answered keeps each function that we wrap. */
static void fill_addresses(const void *inside)
{
	for (unsigned hook = 0; hook < HOOK_COUNT; hook++) {
		uint64_t fn = (uint64_t)(uintptr_t)elf_beside(inside, hook_name(hook)), value;

		if (!fn || fn >> ADDRESS_SHIFT)
			continue;
		value = fn | (uint64_t)hook << ADDRESS_SHIFT;
		for (uint32_t at = hash_address(fn);; at = (at + 1) % TABLE) {
			uint64_t old = 0;

			if (__atomic_compare_exchange_n(&by_address[at], &old, value, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			    old << (64 - ADDRESS_SHIFT) == fn << (64 - ADDRESS_SHIFT))
				break;
		}
	}
	__atomic_store_n(&addressed, true, __ATOMIC_RELEASE);
}

static int find_address(uint64_t fn)
{
	for (uint32_t at = hash_address(fn); by_address[at]; at = (at + 1) % TABLE)
		if (by_address[at] << (64 - ADDRESS_SHIFT) == fn << (64 - ADDRESS_SHIFT))
			return (int)(by_address[at] >> ADDRESS_SHIFT);
	return -1;
}

void *resolve_real_now(unsigned hook)
{
	void *fn = elf_any(hook_name(hook)), *old = NULL;

	if (!fn)
		return NULL;
	record_route(hook, hook_class(hook), WIRE_ROUTE_ELF);
	return __atomic_compare_exchange_n(&hook_real[hook], &old, fn, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE)
		       ? fn
		       : old;
}

/*
 * `fn` is what the driver has for `hook`. The wrapper stands for one real function alone: a second
 * one (a driver behind a driver, a library loaded anew) is handed on as it is.
 */
static void *take_place(unsigned hook, void *fn, uint32_t route)
{
	void *old = NULL;

	if (fn == hook_wrapper(hook))
		return fn;
	if (!__atomic_compare_exchange_n(&hook_real[hook], &old, fn, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE) &&
	    old != fn) {
		record_unhooked(hook_name(hook), route);
		return fn;
	}
	record_route(hook, hook_class(hook), route);
	return hook_wrapper(hook);
}

/* A variant of a family that we wrap: its name up to _v2, _ptsz, _ptds is a name of ours. */
static bool of_our_family(const char *name)
{
	char base[64];
	size_t n = 0;

	for (; n < sizeof(base) - 1 && name[n]; n++)
		base[n] = name[n];
	base[n] = '\0';
	for (int cut = 0; cut < 3; cut++) {
		if (find_name(base) >= 0)
			return true;
		while (n && base[n] != '_')
			n--;
		if (!n)
			return false;
		base[n] = '\0';
	}
	return false;
}

void *resolve_substitute(void *fn, const char *name, uint32_t route)
{
	int hook;

	if (!guest_live())
		return fn;
	if (!__atomic_load_n(&addressed, __ATOMIC_ACQUIRE))
		fill_addresses(fn);
	hook = find_address((uint64_t)(uintptr_t)fn);
	if (hook >= 0)
		return take_place((unsigned)hook, fn, route);
	if (name && *name && of_our_family(name) &&
	    !(find_name(name) >= 0 && fn == hook_wrapper((unsigned)find_name(name))))
		record_unhooked(name, route);
	return fn;
}

int resolve_nothing(unsigned hook)
{
	/*
	 * cuda.h: CUDA_ERROR_STUB_LIBRARY; nvrtc.h:
	 * NVRTC_ERROR_INTERNAL_ERROR, an error everywhere else too
	 */
	return hook_name(hook)[0] == 'c' ? 34 : 11;
}

struct answer {
	void *fn;
	long mine;
};

static bool may_be_ours(const char *s)
{
	if (s[0] == 'c' && s[1] == 'u')
		return (s[2] >= 'A' && s[2] <= 'Z') || (s[2] == 'd' && s[3] == 'a' && s[4] == 'G');
	return s[0] == 'n' && (s[1] == 'v' || s[1] == 'c');
}

/*
 * What the stub asks for every dlsym. Not `mine`: it jumps to the real one with the caller's own
 * return address, which RTLD_NEXT and RTLD_DEFAULT are searched from.
 */
__attribute__((visibility("hidden"))) struct answer shim_dlsym(void *handle, const char *name);
struct answer shim_dlsym(void *handle, const char *name)
{
	static const struct answer pass = {NULL, 0}, nothing = {NULL, 1};
	void *(*next)(void *, const char *) = (void *(*)(void *, const char *))shim_real_dlsym;
	void *fn;
	int hook;

	if (!next)
		next = (void *(*)(void *, const char *))resolve_libc_one(LIBC_dlsym);
	if (!next)
		return nothing;
	if (!name || !may_be_ours(name) || handle == RTLD_NEXT)
		return pass;
	hook = find_name(name);
	if (hook < 0) {
		if (guest_live() && of_our_family(name))
			record_unhooked(name, WIRE_ROUTE_DLSYM);
		return pass;
	}
	fn = next(handle, name);
	if (fn == hook_wrapper((unsigned)hook)) {
		/*
		 * A search of the whole program found our own
		 * export: true only if there is something behind it.
		 */
		fn = resolve_real((unsigned)hook);
		if (!fn) /* not found, and dlerror() says so */
			return (struct answer){next(RTLD_NEXT, name), 1};
	}
	if (fn && guest_live())
		fn = take_place((unsigned)hook, fn, WIRE_ROUTE_DLSYM);
	return (struct answer){fn, 1};
}
