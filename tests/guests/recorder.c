/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that does nothing but tell who called: every function of hooks.def under its exact name,
 * with the arguments that came and a result that is an error of its own, so that the shim looks
 * into no argument.
 */
#include <stdint.h>
#include <string.h>

#include "shim/abi.h"
#include "recorder.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT __attribute__((visibility("default")))

EXPORT struct recorded recorder_last;

static int told(int hook, const char *symbol, const uint64_t *args, unsigned n)
{
	recorder_last.calls++;
	recorder_last.symbol = symbol;
	recorder_last.count = n;
	memcpy(recorder_last.arg, args, n * sizeof(*args));
	return RECORDER_RESULT + hook;
}

/* An argument's first eight bytes, whatever its type. */
#define BITS(x)                                                                                    \
	({                                                                                         \
		uint64_t bits_ = 0;                                                                \
		__typeof__(x) value_ = (x);                                                        \
		memcpy(&bits_, &value_, sizeof(value_) < 8 ? sizeof(value_) : 8);                  \
		bits_;                                                                             \
	})
#define NTH(a, b, c, d, e, f, g, h, i, j, k, l, name, ...) name
#define B1(a)						   BITS(a)
#define B2(a, ...)					   BITS(a), B1(__VA_ARGS__)
#define B3(a, ...)					   BITS(a), B2(__VA_ARGS__)
#define B4(a, ...)					   BITS(a), B3(__VA_ARGS__)
#define B5(a, ...)					   BITS(a), B4(__VA_ARGS__)
#define B6(a, ...)					   BITS(a), B5(__VA_ARGS__)
#define B7(a, ...)					   BITS(a), B6(__VA_ARGS__)
#define B8(a, ...)					   BITS(a), B7(__VA_ARGS__)
#define B9(a, ...)					   BITS(a), B8(__VA_ARGS__)
#define B10(a, ...)					   BITS(a), B9(__VA_ARGS__)
#define B11(a, ...)					   BITS(a), B10(__VA_ARGS__)
#define B12(a, ...)					   BITS(a), B11(__VA_ARGS__)
#define B0(a)						   0
#define ALL(...)                                                                                   \
	NTH(__VA_ARGS__ __VA_OPT__(, ) B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0, B0)  \
	(__VA_ARGS__)

enum {
#define CALL(symbol, ...)    HOOK_##symbol,
#define COPY(symbol, ...)    HOOK_##symbol,
#define SPECIAL(symbol, ...) HOOK_##symbol,
#include "shim/hooks.def"
	HOOK_COUNT
};

#define DEFINE(symbol, params, args)                                                               \
	EXPORT int symbol params                                                                   \
	{                                                                                          \
		uint64_t all[] = {ALL args};                                                       \
                                                                                                   \
		return told(HOOK_##symbol, #symbol, all, sizeof(all) / sizeof(*all));              \
	}
#define CALL(symbol, cls, params, args, ...) DEFINE(symbol, params, args)
#define COPY(symbol, params, args, ...)	     DEFINE(symbol, params, args)
#include "shim/hooks.def"

/* A variant that is in no list yet. */
EXPORT int cuMemAlloc_v9(void)
{
	return told(-1, "cuMemAlloc_v9", NULL, 0);
}

/*
 * The resolvers answer with the function of number `version`,
 * under any name: only the address tells what it is.
 */
static void *const addresses[] = {
#define CALL(symbol, ...)		   (void *)symbol,
#define COPY(symbol, ...)		   (void *)symbol,
#define SPECIAL(symbol, cls, params, args) NULL,
#include "shim/hooks.def"
	(void *)cuMemAlloc_v9,
};

EXPORT void *recorder_address(int hook)
{
	return addresses[hook];
}

static int answer(const char *name, void **ret_fn, int version)
{
	if (!name || !*name) {
		*ret_fn = NULL;
		return 1;
	}
	*ret_fn = addresses[version];
	return *ret_fn ? 0 : 500;
}

EXPORT int cuGetProcAddress(const char *name, void **ret_fn, int version, uint64_t flags)
{
	(void)flags;
	return answer(name, ret_fn, version);
}

EXPORT int cuGetProcAddress_v2(const char *name, void **ret_fn, int version, uint64_t flags,
			       int *status)
{
	(void)flags;
	if (status)
		*status = 0;
	return answer(name, ret_fn, version);
}

#define ENTRY(symbol)                                                                              \
	EXPORT int symbol(const char *name, void **ret_fn, unsigned long long flags, int *status)  \
	{                                                                                          \
		(void)status;                                                                      \
		return answer(name, ret_fn, (int)flags);                                           \
	}
#define ENTRY_VERSION(symbol)                                                                      \
	EXPORT int symbol(const char *name, void **ret_fn, unsigned version,                       \
			  unsigned long long flags, int *status)                                   \
	{                                                                                          \
		(void)flags;                                                                       \
		(void)status;                                                                      \
		return answer(name, ret_fn, (int)version);                                         \
	}
ENTRY(cudaGetDriverEntryPoint)
ENTRY(cudaGetDriverEntryPoint_ptsz)
ENTRY_VERSION(cudaGetDriverEntryPointByVersion)
ENTRY_VERSION(cudaGetDriverEntryPointByVersion_ptsz)

/* Names that a prefix would catch, and nothing may. */
EXPORT int cudnnCreate(void)
{
	return 1;
}

EXPORT int cublasCreate_v2(void)
{
	return 2;
}

EXPORT int curl_easy_init(void)
{
	return 3;
}
