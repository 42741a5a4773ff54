/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that copy, and take their time. */
#include "fake.h"

#include <string.h>

/* A pageable copy is staged by the caller; a pinned asynchronous one is the stream's own time. */
static CUresult copy(const char *symbol, void *to, const void *from, const void *host, size_t size,
		     struct CUstream_st *async)
{
	const struct fake_model *m = fake_model();
	uint64_t start = fake_now(), cost;
	CUresult r = fake_ready(symbol, true);
	int kind;

	if (r != CUDA_OK)
		return r;
	if (async && fake_captured(async))
		return CUDA_OK;
	kind = fake_range_kind(host);
	memcpy(to, from, size);
	if (kind == FAKE_PINNED || kind == FAKE_REGISTERED) {
		cost = fake_rate_ns(size, m->h2d_gbps);
		if (async) {
			uint64_t begin =
				start > async->busy_until_ns ? start : async->busy_until_ns;

			async->busy_until_ns = begin + cost;
			cost = 0;
		}
	} else {
		cost = fake_rate_ns(size, m->pageable_gbps);
	}
	fake_spend(start, (host == to ? m->d2h : m->h2d) + cost, FAKE_SPIN);
	return CUDA_OK;
}

#define H2D(symbol)                                                                                \
	EXPORT CUresult symbol(CUdeviceptr to, const void *from, size_t size)                      \
	{                                                                                          \
		return copy(#symbol, (void *)(uintptr_t)to, from, from, size, NULL);               \
	}
#define H2D_ASYNC(symbol, per_thread)                                                              \
	EXPORT CUresult symbol(CUdeviceptr to, const void *from, size_t size, CUstream s)          \
	{                                                                                          \
		return copy(#symbol, (void *)(uintptr_t)to, from, from, size,                      \
			    fake_stream(s, per_thread));                                           \
	}
#define D2H(symbol)                                                                                \
	EXPORT CUresult symbol(void *to, CUdeviceptr from, size_t size)                            \
	{                                                                                          \
		return copy(#symbol, to, (void *)(uintptr_t)from, to, size, NULL);                 \
	}
#define ANY(symbol)                                                                                \
	EXPORT CUresult symbol(CUdeviceptr to, CUdeviceptr from, size_t size)                      \
	{                                                                                          \
		return copy(#symbol, (void *)(uintptr_t)to, (void *)(uintptr_t)from,               \
			    (void *)(uintptr_t)from, size, NULL);                                  \
	}
#define ANY_ASYNC(symbol, per_thread)                                                              \
	EXPORT CUresult symbol(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream s)          \
	{                                                                                          \
		return copy(#symbol, (void *)(uintptr_t)to, (void *)(uintptr_t)from,               \
			    (void *)(uintptr_t)from, size, fake_stream(s, per_thread));            \
	}
H2D(cuMemcpyHtoD_v2)
H2D(cuMemcpyHtoD_v2_ptds)
H2D_ASYNC(cuMemcpyHtoDAsync_v2, false)
H2D_ASYNC(cuMemcpyHtoDAsync_v2_ptsz, true)
D2H(cuMemcpyDtoH_v2)
D2H(cuMemcpyDtoH_v2_ptds)
ANY(cuMemcpy)
ANY(cuMemcpy_ptds)
ANY_ASYNC(cuMemcpyAsync, false)
ANY_ASYNC(cuMemcpyAsync_ptsz, true)
