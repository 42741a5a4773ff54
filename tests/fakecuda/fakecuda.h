/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the CUDA driver's binary interface that the fake driver implements and the truth
 * engine calls, in declarations of our own: names, argument widths and order are the contract, so
 * that no CUDA toolkit is needed.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUlib_st *CUlibrary;
typedef struct CUfunc_st *CUfunction;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUevent_st *CUevent;
typedef struct CUpool_st *CUmemoryPool;
typedef unsigned long long CUhandle; /* a generic allocation of the VMM calls */

enum {
	CUDA_OK = 0,
	CUDA_INVALID_VALUE = 1,
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_NOT_INITIALIZED = 3,
	CUDA_NO_DEVICE = 100,
	CUDA_INVALID_DEVICE = 101,
	CUDA_INVALID_CONTEXT = 201,
	CUDA_FILE_NOT_FOUND = 301,
	CUDA_INVALID_HANDLE = 400,
	CUDA_NOT_FOUND = 500,
};

enum { GPA_FLAG_LEGACY = 1, GPA_FLAG_PER_THREAD = 2 };
enum { GPA_FOUND = 0, GPA_NO_SYMBOL = 1, GPA_VERSION_TOO_LOW = 2 };
enum { CAPTURE_GLOBAL = 0, CAPTURE_THREAD_LOCAL = 1, CAPTURE_RELAXED = 2 };
enum { POINTER_MEMORY_TYPE = 2, MEMORY_HOST = 1, MEMORY_DEVICE = 2 };

struct cu_location {
	int type; /* 1: a device */
	int id;
};

struct cu_alloc_prop {
	int type; /* 1: pinned device memory */
	int handle_types;
	struct cu_location location;
	void *win32;
	unsigned char flags[8];
};

struct cu_access {
	struct cu_location location;
	int flags; /* 3: read and write */
};

/*
 * Every entry that the truth engine uses: field, base name for cuGetProcAddress, version to ask
 * for, exported symbol, arguments.
 */
#define CUDA_ENTRIES(X)                                                                            \
	X(init, cuInit, 2000, cuInit, (unsigned))                                                  \
	X(driver_version, cuDriverGetVersion, 2020, cuDriverGetVersion, (int *))                   \
	X(device_count, cuDeviceGetCount, 2000, cuDeviceGetCount, (int *))                         \
	X(device_get, cuDeviceGet, 2000, cuDeviceGet, (CUdevice *, int))                           \
	X(device_name, cuDeviceGetName, 2000, cuDeviceGetName, (char *, int, CUdevice))            \
	X(ctx_retain, cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain,                    \
	  (CUcontext *, CUdevice))                                                                 \
	X(ctx_set_current, cuCtxSetCurrent, 4000, cuCtxSetCurrent, (CUcontext))                    \
	X(ctx_sync, cuCtxSynchronize, 2000, cuCtxSynchronize, (void))                              \
	X(mem_info, cuMemGetInfo, 3020, cuMemGetInfo_v2, (size_t *, size_t *))                     \
	X(mem_alloc, cuMemAlloc, 3020, cuMemAlloc_v2, (CUdeviceptr *, size_t))                     \
	X(mem_free, cuMemFree, 3020, cuMemFree_v2, (CUdeviceptr))                                  \
	X(host_alloc, cuMemHostAlloc, 2020, cuMemHostAlloc, (void **, size_t, unsigned))           \
	X(host_free, cuMemFreeHost, 2000, cuMemFreeHost, (void *))                                 \
	X(address_reserve, cuMemAddressReserve, 10020, cuMemAddressReserve,                        \
	  (CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long))                        \
	X(mem_create, cuMemCreate, 10020, cuMemCreate,                                             \
	  (CUhandle *, size_t, const struct cu_alloc_prop *, unsigned long long))                  \
	X(mem_map, cuMemMap, 10020, cuMemMap,                                                      \
	  (CUdeviceptr, size_t, size_t, CUhandle, unsigned long long))                             \
	X(mem_access, cuMemSetAccess, 10020, cuMemSetAccess,                                       \
	  (CUdeviceptr, size_t, const struct cu_access *, size_t))                                 \
	X(h2d, cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))           \
	X(h2d_async, cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2,                                \
	  (CUdeviceptr, const void *, size_t, CUstream))                                           \
	X(d2h, cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                 \
	X(module_load_data, cuModuleLoadData, 2000, cuModuleLoadData, (CUmodule *, const void *))  \
	X(module_function, cuModuleGetFunction, 2000, cuModuleGetFunction,                         \
	  (CUfunction *, CUmodule, const char *))                                                  \
	X(launch, cuLaunchKernel, 4000, cuLaunchKernel,                                            \
	  (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,       \
	   CUstream, void **, void **))                                                            \
	X(stream_create, cuStreamCreate, 2000, cuStreamCreate, (CUstream *, unsigned))             \
	X(stream_sync, cuStreamSynchronize, 2000, cuStreamSynchronize, (CUstream))                 \
	X(begin_capture, cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2, (CUstream, int))    \
	X(end_capture, cuStreamEndCapture, 10000, cuStreamEndCapture, (CUstream, CUgraph *))       \
	X(graph_nodes, cuGraphGetNodes, 10000, cuGraphGetNodes,                                    \
	  (CUgraph, CUgraphNode *, size_t *))                                                      \
	X(instantiate, cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags,            \
	  (CUgraphExec *, CUgraph, unsigned long long))                                            \
	X(graph_upload, cuGraphUpload, 11010, cuGraphUpload, (CUgraphExec, CUstream))              \
	X(graph_launch, cuGraphLaunch, 10000, cuGraphLaunch, (CUgraphExec, CUstream))

struct cuda_api {
#define X(field, base, version, symbol, args) CUresult(*field) args;
	CUDA_ENTRIES(X)
#undef X
};

typedef CUresult (*gpa_fn)(const char *base, void **fn, int version, unsigned long long flags);
typedef CUresult (*gpa_v2_fn)(const char *base, void **fn, int version, unsigned long long flags,
			      int *status);
