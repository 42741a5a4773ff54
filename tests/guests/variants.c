/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest of the recorder driver: every symbol of hooks.def, by dlsym, by both cuGetProcAddress and
 * by the four cudaGetDriverEntryPoint. Under the shim each must be a wrapper of its own which calls
 * the function of exactly that name with the arguments and the result unchanged. Prints TAP.
 *
 *	variants RECORDER shim|bare
 */
#include <dlfcn.h>
#include <stddef.h>

#include "../tap.h"
#include "recorder.h"
#include "shim/abi.h"

static const char *const names[] = {
#define CALL(symbol, ...)    #symbol,
#define COPY(symbol, ...)    #symbol,
#define SPECIAL(symbol, ...) #symbol,
#include "shim/hooks.def"
};

static const char *const params[] = {
#define CALL(symbol, cls, params, ...) #params,
#define COPY(symbol, params, ...)      #params,
#define SPECIAL(symbol, ...)	       "",
#include "shim/hooks.def"
};

/* Written by hand, with arguments that mean something: not to be called with rubbish. */
static bool is_resolver(unsigned i)
{
	return !*params[i];
}

/* A structure by value does not travel one argument a register. */
static bool is_wide(unsigned i)
{
	return strstr(params[i], "struct abi_ipc_handle ") ||
	       strstr(params[i], "struct abi_nccl_id ");
}

#define COUNT (sizeof(names) / sizeof(*names))

typedef int twelve(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
		   uint64_t, uint64_t, uint64_t, uint64_t);
typedef int resolver(const char *, void **, int, uint64_t, int *);
typedef int entry(const char *, void **, unsigned long long, int *);
typedef int entry_version(const char *, void **, unsigned, unsigned long long, int *);

static struct recorded *last;
static void *(*raw_address)(int);
static void *recorder;
static bool hooked;

static char memory[16 * 256];

static uint64_t value(unsigned i)
{
	return (uint64_t)(uintptr_t)(memory + i * 256);
}

static bool same_args(void)
{
	if (last->count == 1 && last->arg[0] == 0) /* a function without arguments */
		return true;
	for (unsigned i = 0; i < last->count; i++)
		if (last->arg[i] != value(i) && last->arg[i] != (uint32_t)value(i))
			return false;
	return true;
}

/* Call `fn` as symbol `i`. Returns: whether exactly that symbol got exactly that. */
static bool calls_through(void *fn, unsigned i)
{
	uint64_t before = last->calls;
	int result;

	result = ((twelve *)fn)(value(0), value(1), value(2), value(3), value(4), value(5),
				value(6), value(7), value(8), value(9), value(10), value(11));
	if (last->calls != before + 1 || strcmp(last->symbol, names[i]) != 0 ||
	    result != RECORDER_RESULT + (int)i || (!is_wide(i) && !same_args())) {
		diag("%s: reached %s, result %d", names[i], last->symbol ? last->symbol : "nothing",
		     result);
		return false;
	}
	return true;
}

static bool right_place(void *fn, unsigned i)
{
	if ((fn != raw_address((int)i)) == hooked)
		return true;
	diag("%s: %s", names[i], hooked ? "is not hooked" : "is not the driver's");
	return false;
}

static void by_dlsym(void)
{
	bool places = true, calls = true, again = true, apart = true;
	static void *seen[COUNT];

	for (unsigned i = 0; i < COUNT; i++) {
		void *fn = dlsym(recorder, names[i]);

		if (is_resolver(i))
			continue;
		places &= right_place(fn, i);
		calls &= calls_through(fn, i);
		again &= dlsym(recorder, names[i]) == fn;
		for (unsigned k = 0; k < i; k++)
			apart &= seen[k] != fn;
		seen[i] = fn;
	}
	ok(places, "dlsym: every symbol is %s", hooked ? "hooked" : "the driver's");
	ok(calls, "dlsym: every variant calls its own function, arguments and result unchanged");
	ok(again, "dlsym: asked again, the same answer");
	ok(apart, "dlsym: no two symbols share a function");
}

static int ask(const char *route, const char *name, void **fn, int number)
{
	void *p = dlsym(recorder, route);
	int status = -1;

	if (strstr(route, "ByVersion"))
		return ((entry_version *)p)(name, fn, (unsigned)number, 0, &status);
	if (strstr(route, "EntryPoint"))
		return ((entry *)p)(name, fn, (unsigned long long)number, &status);
	return ((resolver *)p)(name, fn, number, 0, &status);
}

static void by_resolver(const char *route)
{
	bool places = true, calls = true;
	void *fn = &fn;

	for (unsigned i = 0; i < COUNT; i++) {
		if (is_resolver(i))
			continue;
		if (ask(route, "a name that says nothing", &fn, (int)i) != 0)
			fn = NULL;
		places &= right_place(fn, i);
		calls &= calls_through(fn, i);
	}
	ok(places, "%s: every address is %s", route, hooked ? "replaced" : "the driver's");
	ok(calls, "%s: every variant calls its own function", route);
	is_int(ask(route, "", &fn, 0), 1, "%s: an empty name", route);
	ok(!fn, "%s: and nothing is put in its place", route);
	ask(route, "cuMemAlloc", &fn, COUNT);
	ok(fn == raw_address(COUNT), "%s: an unknown variant passes through", route);
}

int main(int argc, char **argv)
{
	static const char *const strange[] = {"cudnnCreate", "cublasCreate_v2", "curl_easy_init"};
	static const char *const routes[] = {"cuGetProcAddress",
					     "cuGetProcAddress_v2",
					     "cudaGetDriverEntryPoint",
					     "cudaGetDriverEntryPoint_ptsz",
					     "cudaGetDriverEntryPointByVersion",
					     "cudaGetDriverEntryPointByVersion_ptsz"};

	if (argc != 3)
		bail("usage: variants RECORDER shim|bare");
	hooked = !strcmp(argv[2], "shim");
	ok(!dlsym(RTLD_DEFAULT, "cuInit"), "what no library has stays unfound");
	ok(dlerror() != NULL, "and dlerror tells");
	recorder = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!recorder)
		bail("%s", dlerror());
	last = dlsym(recorder, "recorder_last");
	*(void **)&raw_address = dlsym(recorder, "recorder_address");
	by_dlsym();
	for (unsigned i = 0; i < sizeof(routes) / sizeof(*routes); i++)
		by_resolver(routes[i]);
	for (int i = 0; i < 3; i++) {
		int (*fn)(void) = (int (*)(void))dlsym(recorder, strange[i]);

		ok(fn && fn() == i + 1, "%s is untouched", strange[i]);
	}
	ok(!dlsym(recorder, "cuNoSuchThing") && dlerror(),
	   "an unknown name is an error, and dlerror tells");
	ok(!dlsym(recorder, ""), "an empty name is not found");
	ok(dlsym(recorder, "cuMemAlloc_v9") == raw_address(COUNT),
	   "an unknown variant is the driver's own");
	return done_testing();
}
