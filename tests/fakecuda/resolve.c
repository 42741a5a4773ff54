/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a name becomes an address: the version rule of
 * cuGetProcAddress, the stubs, the private tables.
 */
#include "fake.h"

#include <string.h>

struct entry {
	const char *base;
	int version;
	const void *fn, *twin;
};

/*
 * CODED names are defined elsewhere with their real arguments; here they are addresses. STUB ones
 * are defined here: success, whatever the arguments.
 */
#define CODED(base, version, symbol)	    extern const char ref_##symbol[] __asm__(#symbol);
#define CODED2(base, version, symbol, twin) CODED(base, version, symbol) CODED(base, version, twin)
#define STUB(base, version, symbol)                                                                \
	EXPORT CUresult symbol(void)                                                               \
	{                                                                                          \
		return CUDA_OK;                                                                    \
	}                                                                                          \
	CODED(base, version, symbol)
#define STUB2(base, version, symbol, twin) STUB(base, version, symbol) STUB(base, version, twin)
#include "entries.def"
#undef CODED
#undef CODED2
#undef STUB
#undef STUB2

#define CODED(base, version, symbol)	    {#base, version, ref_##symbol, NULL},
#define CODED2(base, version, symbol, twin) {#base, version, ref_##symbol, ref_##twin},
#define STUB(base, version, symbol)	    CODED(base, version, symbol)
#define STUB2(base, version, symbol, twin)  CODED2(base, version, symbol, twin)
/* In order of version within a name. */
static const struct entry entries[] = {
#include "entries.def"
};

/* The newest entry of this name that the asked version knows. */
EXPORT CUresult cuGetProcAddress_v2(const char *base, void **fn, int version,
				    unsigned long long flags, int *status)
{
	const struct entry *best = NULL;
	bool known = false;

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		if (strcmp(entries[i].base, base ? base : ""))
			continue;
		known = true;
		if (entries[i].version <= version)
			best = &entries[i];
	}
	if (status)
		*status = best ? GPA_FOUND : known ? GPA_VERSION_TOO_LOW : GPA_NO_SYMBOL;
	*fn = (void *)(!best					   ? NULL
		       : flags & GPA_FLAG_PER_THREAD && best->twin ? best->twin
								   : best->fn);
	return best ? CUDA_OK : CUDA_NOT_FOUND;
}

EXPORT CUresult cuGetProcAddress(const char *base, void **fn, int version, unsigned long long flags)
{
	return cuGetProcAddress_v2(base, fn, version, flags, NULL);
}

EXPORT CUresult cuGetErrorString(CUresult error, const char **text)
{
	*text = error == CUDA_OK ? "no error" : "an error of the fake driver";
	return CUDA_OK;
}

EXPORT CUresult cuGetErrorName(CUresult error, const char **text)
{
	*text = error == CUDA_OK ? "CUDA_SUCCESS" : "CUDA_ERROR";
	return CUDA_OK;
}

EXPORT CUresult cuGetExportTable(const void **table, const void *uuid)
{
	(void)uuid;
	*table = NULL;
	return CUDA_NOT_FOUND;
}
