/* SPDX-License-Identifier: Apache-2.0 */
/* Device, contexts, and memory: real pages. */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_DEVICES 16

struct CUctx_st {
	CUdevice device;
	unsigned refs;
};

struct range {
	const char *base;
	size_t size;
	enum fake_kind kind;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges;
static size_t range_count, range_room;
static size_t used_bytes;
static struct CUctx_st contexts[MAX_DEVICES];
static __thread CUcontext current;

CUcontext fake_current(void)
{
	return current;
}

void fake_range_add(const void *base, size_t size, enum fake_kind kind)
{
	pthread_mutex_lock(&lock);
	if (range_count == range_room) {
		range_room = range_room ? 2 * range_room : 64;
		ranges = realloc(ranges, range_room * sizeof(*ranges));
		if (!ranges)
			abort();
	}
	ranges[range_count++] = (struct range){base, size, kind};
	if (kind == FAKE_DEVICE)
		used_bytes += size;
	pthread_mutex_unlock(&lock);
}

size_t fake_range_take(const void *base, enum fake_kind kind)
{
	size_t size = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < range_count; i++)
		if (ranges[i].base == base && ranges[i].kind == kind) {
			size = ranges[i].size;
			ranges[i] = ranges[--range_count];
			if (kind == FAKE_DEVICE)
				used_bytes -= size;
			break;
		}
	pthread_mutex_unlock(&lock);
	return size;
}

int fake_range_kind(const void *p)
{
	int kind = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < range_count && !kind; i++)
		if ((const char *)p >= ranges[i].base &&
		    (const char *)p < ranges[i].base + ranges[i].size)
			kind = ranges[i].kind;
	pthread_mutex_unlock(&lock);
	return kind;
}

EXPORT CUresult cuInit(unsigned flags)
{
	uint64_t start = fake_now();

	if (flags)
		return CUDA_INVALID_VALUE;
	if (fake_ready("cuInit", false) == CUDA_OK)
		return CUDA_OK; /* a second call is free */
	if (!strcmp(fake_model()->fail, "cuInit"))
		return CUDA_NO_DEVICE;
	fake_spend(start, fake_model()->cuInit, FAKE_SLEEP);
	if (!fake_model()->devices)
		return CUDA_NO_DEVICE;
	fake_initialised();
	return CUDA_OK;
}

EXPORT CUresult cuDriverGetVersion(int *version)
{
	*version = (int)fake_model()->version;
	return CUDA_OK;
}

EXPORT CUresult cuDeviceGetCount(int *count)
{
	CUresult r = fake_ready("cuDeviceGetCount", false);

	if (r == CUDA_OK)
		*count = (int)fake_model()->devices;
	return r;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult r = fake_ready("cuDeviceGet", false);

	if (r != CUDA_OK)
		return r;
	if (ordinal < 0 || (uint64_t)ordinal >= fake_model()->devices || ordinal >= MAX_DEVICES)
		return CUDA_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_OK;
}

EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	CUresult r = fake_ready("cuDeviceGetName", false);

	if (r == CUDA_OK && size > 0)
		snprintf(name, (size_t)size, "fake GPU %d", device);
	return r;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	CUresult r = fake_ready("cuDeviceTotalMem_v2", false);

	(void)device;
	if (r == CUDA_OK)
		*bytes = (size_t)fake_model()->mem_gb << 30;
	return r;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
	CUresult r = fake_ready("cuDeviceGetAttribute", false);

	(void)device;
	if (r == CUDA_OK)
		*value = attribute == 75 ? 9 : attribute == 76 ? 0 : 1; /* compute capability 9.0 */
	return r;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
	uint64_t start = fake_now();
	CUresult r = fake_ready("cuDevicePrimaryCtxRetain", false);
	bool first;

	if (r != CUDA_OK)
		return r;
	if (device < 0 || device >= MAX_DEVICES)
		return CUDA_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	first = !contexts[device].refs++;
	contexts[device].device = device;
	pthread_mutex_unlock(&lock);
	if (first)
		fake_spend(start, fake_model()->ctx, FAKE_SLEEP);
	*ctx = &contexts[device];
	return CUDA_OK;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	if (device < 0 || device >= MAX_DEVICES)
		return CUDA_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	if (contexts[device].refs)
		contexts[device].refs--;
	pthread_mutex_unlock(&lock);
	return CUDA_OK;
}

EXPORT CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice device)
{
	CUresult r = cuDevicePrimaryCtxRetain(ctx, device);

	(void)flags;
	if (r == CUDA_OK)
		current = *ctx;
	return r;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext ctx)
{
	CUresult r = fake_ready("cuCtxSetCurrent", false);

	if (r == CUDA_OK)
		current = ctx;
	return r;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	*ctx = current;
	return CUDA_OK;
}

EXPORT CUresult cuCtxSynchronize(void)
{
	CUresult r = fake_ready("cuCtxSynchronize", true);

	if (r == CUDA_OK)
		fake_wait_all();
	return r;
}

EXPORT CUresult cuMemGetInfo_v2(size_t *available, size_t *total)
{
	CUresult r = fake_ready("cuMemGetInfo_v2", true);

	if (r != CUDA_OK)
		return r;
	*total = (size_t)fake_model()->mem_gb << 30;
	pthread_mutex_lock(&lock);
	*available = *total - used_bytes;
	pthread_mutex_unlock(&lock);
	return CUDA_OK;
}

static CUresult alloc(const char *symbol, CUdeviceptr *ptr, size_t size, uint64_t cost_ns)
{
	uint64_t start = fake_now();
	CUresult r = fake_ready(symbol, true);
	void *p;

	if (r != CUDA_OK)
		return r;
	if (!size)
		return CUDA_INVALID_VALUE;
	if (used_bytes + size > (size_t)fake_model()->mem_gb << 30)
		return CUDA_OUT_OF_MEMORY;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	if (p == MAP_FAILED)
		return CUDA_OUT_OF_MEMORY;
	fake_range_add(p, size, FAKE_DEVICE);
	fake_spend(start, cost_ns, FAKE_SPIN);
	*ptr = (CUdeviceptr)(uintptr_t)p;
	return CUDA_OK;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t size)
{
	return alloc("cuMemAlloc_v2", ptr, size, fake_model()->alloc);
}

EXPORT CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t size, unsigned flags)
{
	(void)flags;
	return alloc("cuMemAllocManaged", ptr, size, fake_model()->alloc);
}

EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
				   unsigned element)
{
	(void)element;
	*pitch = (width + 511) & ~(size_t)511;
	return alloc("cuMemAllocPitch_v2", ptr, *pitch * height, fake_model()->alloc);
}

EXPORT CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t size, CUstream s)
{
	(void)s;
	return alloc("cuMemAllocAsync", ptr, size, fake_model()->pool);
}

EXPORT CUresult cuMemAllocAsync_ptsz(CUdeviceptr *ptr, size_t size, CUstream s)
{
	(void)s;
	return alloc("cuMemAllocAsync_ptsz", ptr, size, fake_model()->pool);
}

EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t size, CUmemoryPool pool,
					CUstream s)
{
	(void)pool, (void)s;
	return alloc("cuMemAllocFromPoolAsync", ptr, size, fake_model()->pool);
}

EXPORT CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *ptr, size_t size, CUmemoryPool pool,
					     CUstream s)
{
	(void)pool, (void)s;
	return alloc("cuMemAllocFromPoolAsync_ptsz", ptr, size, fake_model()->pool);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	size_t size = fake_range_take((void *)(uintptr_t)ptr, FAKE_DEVICE);

	if (!size)
		return CUDA_INVALID_VALUE;
	munmap((void *)(uintptr_t)ptr, size);
	return CUDA_OK;
}

EXPORT CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream s)
{
	(void)s;
	return cuMemFree_v2(ptr);
}

EXPORT CUresult cuMemFreeAsync_ptsz(CUdeviceptr ptr, CUstream s)
{
	(void)s;
	return cuMemFree_v2(ptr);
}

EXPORT CUresult cuMemHostAlloc(void **ptr, size_t size, unsigned flags)
{
	uint64_t start = fake_now();
	CUresult r = fake_ready("cuMemHostAlloc", true);
	void *p;

	(void)flags;
	if (r != CUDA_OK)
		return r;
	/* Pinning makes every page present: so does this. */
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
		 0);
	if (p == MAP_FAILED)
		return CUDA_OUT_OF_MEMORY;
	fake_range_add(p, size, FAKE_PINNED);
	fake_spend(start, fake_model()->pinned + fake_rate_ns(size, fake_model()->pinned_gbps),
		   FAKE_SPIN);
	*ptr = p;
	return CUDA_OK;
}

EXPORT CUresult cuMemAllocHost_v2(void **ptr, size_t size)
{
	return cuMemHostAlloc(ptr, size, 0);
}

EXPORT CUresult cuMemFreeHost(void *ptr)
{
	size_t size = fake_range_take(ptr, FAKE_PINNED);

	if (!size)
		return CUDA_INVALID_VALUE;
	munmap(ptr, size);
	return CUDA_OK;
}

EXPORT CUresult cuMemHostRegister_v2(void *ptr, size_t size, unsigned flags)
{
	uint64_t start = fake_now();
	CUresult r = fake_ready("cuMemHostRegister_v2", true);

	(void)flags;
	if (r != CUDA_OK)
		return r;
#ifdef MADV_POPULATE_READ
	/* As pinning does: every page in, without one fault of the caller. */
	madvise(ptr, size, MADV_POPULATE_READ);
#endif
	fake_range_add(ptr, size, FAKE_REGISTERED);
	fake_spend(start, fake_model()->pinned + fake_rate_ns(size, fake_model()->pinned_gbps),
		   FAKE_SPIN);
	return CUDA_OK;
}

EXPORT CUresult cuMemHostUnregister(void *ptr)
{
	return fake_range_take(ptr, FAKE_REGISTERED) ? CUDA_OK : CUDA_INVALID_VALUE;
}

EXPORT CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr ptr)
{
	int kind = fake_range_kind((void *)(uintptr_t)ptr);

	if (!kind || attribute != POINTER_MEMORY_TYPE)
		return CUDA_INVALID_VALUE;
	*(unsigned *)value =
		kind == FAKE_PINNED || kind == FAKE_REGISTERED ? MEMORY_HOST : MEMORY_DEVICE;
	return CUDA_OK;
}

/*
 * The VMM calls: a reservation is address space, a handle is a size, access makes the pages usable.
 */
EXPORT CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t align, CUdeviceptr want,
				    unsigned long long flags)
{
	CUresult r = fake_ready("cuMemAddressReserve", true);
	void *p;

	(void)align, (void)want, (void)flags;
	if (r != CUDA_OK)
		return r;
	p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return CUDA_OUT_OF_MEMORY;
	fake_range_add(p, size, FAKE_RESERVED);
	*ptr = (CUdeviceptr)(uintptr_t)p;
	return CUDA_OK;
}

EXPORT CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	if (!fake_range_take((void *)(uintptr_t)ptr, FAKE_RESERVED))
		return CUDA_INVALID_VALUE;
	munmap((void *)(uintptr_t)ptr, size);
	return CUDA_OK;
}

EXPORT CUresult cuMemCreate(CUhandle *handle, size_t size, const struct cu_alloc_prop *prop,
			    unsigned long long flags)
{
	uint64_t start = fake_now();
	CUresult r = fake_ready("cuMemCreate", true);

	(void)flags;
	if (r != CUDA_OK)
		return r;
	if (!prop || prop->type != 1 || !size)
		return CUDA_INVALID_VALUE;
	*handle = size;
	fake_spend(start, fake_model()->vmm, FAKE_SPIN);
	return CUDA_OK;
}

EXPORT CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUhandle handle,
			 unsigned long long flags)
{
	uint64_t start = fake_now();
	CUresult r = fake_ready("cuMemMap", true);

	(void)flags;
	if (r != CUDA_OK)
		return r;
	if (offset + size > handle || fake_range_kind((void *)(uintptr_t)ptr) != FAKE_RESERVED)
		return CUDA_INVALID_VALUE;
	fake_spend(start, fake_model()->vmm, FAKE_SPIN);
	return CUDA_OK;
}

EXPORT CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const struct cu_access *access,
			       size_t count)
{
	uint64_t start = fake_now();
	CUresult r = fake_ready("cuMemSetAccess", true);

	if (r != CUDA_OK)
		return r;
	if (!count || access->flags != 3 ||
	    mprotect((void *)(uintptr_t)ptr, size, PROT_READ | PROT_WRITE))
		return CUDA_INVALID_VALUE;
	fake_spend(start, fake_model()->vmm, FAKE_SPIN);
	return CUDA_OK;
}
