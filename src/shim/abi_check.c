/* SPDX-License-Identifier: Apache-2.0 */
/* With --with-cuda=DIR: our declarations held against cuda.h. Without it, nothing. */
#include "shim/abi.h"

#ifdef HAVE_CUDA_H
#include <cuda.h>

#define SAME_SIZE(ours, theirs)                                                                    \
	_Static_assert(sizeof(ours) == sizeof(theirs), #ours " is not " #theirs)
#define SAME_PLACE(ours, field, theirs, their)                                                     \
	_Static_assert(offsetof(ours, field) == offsetof(theirs, their),                           \
		       #ours "." #field " is not " #their)

SAME_SIZE(abi_dptr, CUdeviceptr);
SAME_SIZE(abi_device, CUdevice);
SAME_SIZE(abi_handle, CUcontext);
SAME_SIZE(int, CUresult);
SAME_SIZE(struct abi_ipc_handle, CUipcMemHandle);
SAME_SIZE(struct abi_copy2d, CUDA_MEMCPY2D);
SAME_PLACE(struct abi_copy2d, src_type, CUDA_MEMCPY2D, srcMemoryType);
SAME_PLACE(struct abi_copy2d, src_host, CUDA_MEMCPY2D, srcHost);
SAME_PLACE(struct abi_copy2d, src_device, CUDA_MEMCPY2D, srcDevice);
SAME_PLACE(struct abi_copy2d, dst_type, CUDA_MEMCPY2D, dstMemoryType);
SAME_PLACE(struct abi_copy2d, dst_device, CUDA_MEMCPY2D, dstDevice);
SAME_PLACE(struct abi_copy2d, width_bytes, CUDA_MEMCPY2D, WidthInBytes);
SAME_SIZE(struct abi_copy3d, CUDA_MEMCPY3D);
SAME_PLACE(struct abi_copy3d, src_type, CUDA_MEMCPY3D, srcMemoryType);
SAME_PLACE(struct abi_copy3d, src_device, CUDA_MEMCPY3D, srcDevice);
SAME_PLACE(struct abi_copy3d, dst_type, CUDA_MEMCPY3D, dstMemoryType);
SAME_PLACE(struct abi_copy3d, dst_device, CUDA_MEMCPY3D, dstDevice);
SAME_PLACE(struct abi_copy3d, width_bytes, CUDA_MEMCPY3D, WidthInBytes);
#define SAME_VALUE(ours, theirs)                                                                   \
	_Static_assert((int)(ours) == (int)(theirs), #ours " is not " #theirs)
SAME_VALUE(ABI_HOST, CU_MEMORYTYPE_HOST);
SAME_VALUE(ABI_DEVICE, CU_MEMORYTYPE_DEVICE);
SAME_VALUE(ABI_ARRAY, CU_MEMORYTYPE_ARRAY);
SAME_VALUE(ABI_UNIFIED, CU_MEMORYTYPE_UNIFIED);
#if CUDA_VERSION >= 11080
SAME_SIZE(struct abi_launch_config, CUlaunchConfig);
SAME_PLACE(struct abi_launch_config, stream, CUlaunchConfig, hStream);
#endif
#if CUDA_VERSION >= 12020
SAME_SIZE(abi_location, CUmemLocation);
#endif
#endif

extern int abi_check_is_not_empty;
