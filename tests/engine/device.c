/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: found, reached by the chosen route, and set up. */
#include "engine.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KV_CHUNK (2ull << 20) /* the granularity of VMM allocations on every device so far */

struct cuda_api cu;
static CUcontext context;
static CUdevice device;

void device_check(CUresult r, const char *what)
{
	if (r != CUDA_OK)
		die("the driver answers %d to %.60s", r, what);
}

/*
 * A file of the build tree, beside the program or in the folder above; libtool runs it from .libs.
 */
static const char *near_program(const char *file, char *buf, size_t size)
{
	static const char *const up[] = {"", "../"};
	char self[PATH_MAX], *dir;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return NULL;
	self[n] = '\0';
	dir = dirname(self);
	for (size_t i = 0; i < 2; i++) {
		snprintf(buf, size, "%.3000s/%s%s", dir, up[i], file);
		if (!access(buf, R_OK))
			return buf;
	}
	return NULL;
}

static void *open_driver(void)
{
	char buf[PATH_MAX];
	const char *path = opt.driver, *fake;
	void *lib;

	/* A libcuda without a device node belongs to a machine whose GPU is elsewhere. */
	if (!strcmp(path, "auto"))
		path = access("/dev/nvidiactl", F_OK) ? "fake" : "real";
	if (!strcmp(path, "fake")) {
		fake = near_program("../fakecuda/.libs/libcuda.so.1", buf, sizeof(buf));
		path = fake ? fake : "libcuda.so.1";
	} else if (!strcmp(path, "real")) {
		path = "libcuda.so.1";
	}
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		die("no driver: %s", dlerror());
	return lib;
}

static void by_dlsym(void *lib)
{
#define X(field, base, version, symbol, args)                                                      \
	cu.field = (CUresult(*) args)dlsym(lib, #symbol);                                          \
	if (!cu.field)                                                                             \
		die("the driver has no " #symbol);
	CUDA_ENTRIES(X)
#undef X
}

static void by_gpa(void *lib)
{
	gpa_v2_fn gpa = (gpa_v2_fn)dlsym(lib, "cuGetProcAddress_v2");
	void *fn = NULL;
	int status;

	if (!gpa)
		die("the driver has no cuGetProcAddress_v2");
	/* As libcudart does: ask the resolver for itself, and use what it answers. */
	CU(gpa("cuGetProcAddress", &fn, 12000, 0, &status));
	gpa = (gpa_v2_fn)fn;
#define X(field, base, version, symbol, args)                                                      \
	if (gpa(#base, &fn, version, 0, &status) != CUDA_OK || !fn)                                \
		die("cuGetProcAddress knows no " #base);                                           \
	cu.field = (CUresult(*) args)fn;
	CUDA_ENTRIES(X)
#undef X
}

static void by_elf(void)
{
	char buf[PATH_MAX];
	const char *path = near_program(".libs/route-elf.so", buf, sizeof(buf));
	void (*fill)(struct cuda_api *);
	void *lib;

	if (!path)
		path = near_program("route-elf.so", buf, sizeof(buf));
	lib = dlopen(path ? path : "route-elf.so", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		die("%s", dlerror());
	fill = (void (*)(struct cuda_api *))dlsym(lib, "route_elf");
	fill(&cu);
}

void device_find(void)
{
	void *lib = open_driver();

	if (opt.route == ROUTE_ELF)
		by_elf();
	else if (opt.route == ROUTE_DLSYM)
		by_dlsym(lib);
	else
		by_gpa(lib);
}

void device_use_on_this_thread(void)
{
	CU(cu.ctx_set_current(context));
}

void device_context(int rank)
{
	uint64_t start = now_ns(), end;
	char name[128];
	int count;

	CU(cu.init(0));
	end = now_ns();
	truth_work("cuda_context", "cu_init", start, end, 0);
	CU(cu.driver_version(&count));
	CU(cu.device_count(&count));
	CU(cu.device_get(&device, rank % count));
	CU(cu.device_name(name, sizeof(name), device));
	start = now_ns();
	CU(cu.ctx_retain(&context, device));
	truth_work("cuda_context", "context", start, now_ns(), 0);
	device_use_on_this_thread();
	burn_ms(opt.slow_ms[STEP_cuda_context]);
}

CUdeviceptr device_alloc(const char *sub, size_t bytes)
{
	uint64_t start = now_ns();
	CUdeviceptr p;

	CU(cu.mem_alloc(&p, bytes));
	truth_work("allocator", sub, start, now_ns(), bytes);
	return p;
}

void *device_pinned(size_t bytes)
{
	uint64_t start = now_ns();
	void *p;

	CU(cu.host_alloc(&p, bytes, 0));
	truth_work("allocator", "pinned", start, now_ns(), bytes);
	return p;
}

/* One address range, backed chunk by chunk, as the allocators of the engines do. */
void device_kv_cache(size_t bytes)
{
	struct cu_alloc_prop prop = {.type = 1, .location = {1, device}};
	struct cu_access access = {{1, device}, 3};
	size_t n = (bytes + KV_CHUNK - 1) / KV_CHUNK;
	uint64_t start = now_ns(), until;
	CUdeviceptr base;
	CUhandle handle;

	if (!n)
		return;
	CU(cu.address_reserve(&base, n * KV_CHUNK, 0, 0, 0));
	for (size_t i = 0; i < n; i++) {
		CU(cu.mem_create(&handle, KV_CHUNK, &prop, 0));
		CU(cu.mem_map(base + i * KV_CHUNK, KV_CHUNK, 0, handle, 0));
	}
	CU(cu.mem_access(base, n * KV_CHUNK, &access, 1));
	truth_work("allocator", "kv_cache", start, now_ns(), n * KV_CHUNK);
	/* A slow allocator is one that is called more often: only its calls are its time. */
	start = now_ns();
	until = start + opt.slow_ms[STEP_allocator] * 1000000ull;
	while (now_ns() < until)
		CU(cu.mem_create(&handle, KV_CHUNK, &prop, 0));
	if (opt.slow_ms[STEP_allocator])
		truth_work("allocator", "slow", start, now_ns(), 0);
}
