/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's ABI, declared here so that no toolkit is needed to build; abi_check.c holds it
 * against cuda.h where one is found. Handles are opaque pointers, enums int, CUresult int. Only
 * what a wrapper looks into is spelt out.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef uint64_t abi_dptr;  /* CUdeviceptr */
typedef uint32_t abi_dptr1; /* CUdeviceptr before 3.2 */
typedef int abi_device;
typedef void *abi_handle;      /* CUcontext, CUmodule, CUstream, CUgraph, … */
typedef uint64_t abi_location; /* CUmemLocation by value: two ints in one register */

/* CUmemorytype */
enum abi_memory { ABI_HOST = 1, ABI_DEVICE, ABI_ARRAY, ABI_UNIFIED };

/* CUipcMemHandle, by value */
struct abi_ipc_handle {
	char reserved[64];
};

/* ncclUniqueId, by value */
struct abi_nccl_id {
	char internal[128];
};

/* CUDA_MEMCPY2D since 3.2 */
struct abi_copy2d {
	size_t src_x_bytes, src_y;
	int src_type;
	const void *src_host;
	abi_dptr src_device;
	abi_handle src_array;
	size_t src_pitch;
	size_t dst_x_bytes, dst_y;
	int dst_type;
	void *dst_host;
	abi_dptr dst_device;
	abi_handle dst_array;
	size_t dst_pitch;
	size_t width_bytes, height;
};

/* CUDA_MEMCPY3D since 3.2 */
struct abi_copy3d {
	size_t src_x_bytes, src_y, src_z, src_lod;
	int src_type;
	const void *src_host;
	abi_dptr src_device;
	abi_handle src_array;
	void *reserved0;
	size_t src_pitch, src_height;
	size_t dst_x_bytes, dst_y, dst_z, dst_lod;
	int dst_type;
	void *dst_host;
	abi_dptr dst_device;
	abi_handle dst_array;
	void *reserved1;
	size_t dst_pitch, dst_height;
	size_t width_bytes, height, depth;
};

/* CUlaunchConfig */
struct abi_launch_config {
	unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
	abi_handle stream;
	void *attrs;
	unsigned attrs_count;
};
