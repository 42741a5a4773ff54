/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest of the fake driver which makes a prime number of calls of each class and knows what it
 * did.
 *
 *	cuda-guest elf|dlsym|proc|proc2 [thread]
 *
 * "thread": cuGetProcAddress is asked for the per-thread default stream (flags = 2).
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fakecuda/fakecuda.h"

/* Bound by the dynamic linker where the program is linked with the driver. */
#define X(field, base, version, symbol, args) extern CUresult symbol args __attribute__((weak));
CUDA_ENTRIES(X)
#undef X
extern CUresult cuMemcpy(CUdeviceptr, CUdeviceptr, size_t) __attribute__((weak));
extern CUresult cuGraphExecDestroy(CUgraphExec) __attribute__((weak));
extern CUresult cuStreamQuery(CUstream) __attribute__((weak));

static struct cuda_api api;
static CUresult (*copy_any)(CUdeviceptr, CUdeviceptr, size_t);
static CUresult (*exec_destroy)(CUgraphExec);
static CUresult (*stream_query)(CUstream);

static void *driver(void)
{
	void *h = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!h) {
		fprintf(stderr, "cuda-guest: %s\n", dlerror());
		exit(3);
	}
	return h;
}

static void by_elf(void)
{
#define X(field, base, version, symbol, args) api.field = symbol;
	CUDA_ENTRIES(X)
#undef X
	copy_any = cuMemcpy;
	exec_destroy = cuGraphExecDestroy;
	stream_query = cuStreamQuery;
}

static void by_dlsym(void)
{
	void *h = driver();

#define X(field, base, version, symbol, args) *(void **)&api.field = dlsym(h, #symbol);
	CUDA_ENTRIES(X)
#undef X
	*(void **)&copy_any = dlsym(h, "cuMemcpy");
	*(void **)&exec_destroy = dlsym(h, "cuGraphExecDestroy");
	*(void **)&stream_query = dlsym(h, "cuStreamQuery");
}

static void *ask(int second, const char *base, int version, unsigned long long flags)
{
	static void *first;
	gpa_v2_fn v2;
	gpa_fn v1;
	void *fn = NULL;

	if (!first) {
		first = dlsym(driver(), second ? "cuGetProcAddress_v2" : "cuGetProcAddress");
		/* As cudart does: ask for itself, and go on with what came back. */
		*(void **)&v1 = first;
		if (!second && v1("cuGetProcAddress", &fn, 11030, 0) == 0 && fn)
			first = fn;
	}
	*(void **)&v1 = first;
	*(void **)&v2 = first;
	if (second ? v2(base, &fn, version, flags, NULL) : v1(base, &fn, version, flags))
		return NULL;
	return fn;
}

static void by_proc(int second, unsigned long long flags)
{
#define X(field, base, version, symbol, args)                                                      \
	*(void **)&api.field = ask(second, #base, version, flags);
	CUDA_ENTRIES(X)
#undef X
	*(void **)&copy_any = ask(second, "cuMemcpy", 4000, flags);
	*(void **)&exec_destroy = ask(second, "cuGraphExecDestroy", 10000, flags);
	*(void **)&stream_query = ask(second, "cuStreamQuery", 2000, flags);
}

static void must(CUresult got, CUresult want, const char *what)
{
	if (got != want) {
		fprintf(stderr, "cuda-guest: %s: %d, not %d\n", what, got, want);
		exit(1);
	}
}

#define TIMES(n) for (int i = 0; i < (n); i++)

static void copies(CUdeviceptr memory, CUstream stream)
{
	static char host[1 << 20];
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)host;

	TIMES(13) must(api.h2d(memory, host, 1000 + (size_t)i), CUDA_OK, "h2d");
	TIMES(17) must(api.h2d_async(memory, host, 4099, stream), CUDA_OK, "h2d_async");
	TIMES(3) must(copy_any(memory, at, 5003), CUDA_OK, "to the device");
	TIMES(5) must(copy_any(at, memory, 7001), CUDA_OK, "to the host");
	TIMES(2) must(copy_any(at + 8192, at, 101), CUDA_OK, "host to host");
	TIMES(7) must(api.d2h(host, memory, 9001), CUDA_OK, "d2h");
}

static void graphs(CUstream stream, CUfunction function)
{
	CUgraphExec exec[3];
	CUgraph graph;
	size_t nodes;

	for (int k = 0; k < 3; k++) {
		must(api.begin_capture(stream, CAPTURE_RELAXED), CUDA_OK, "begin");
		TIMES(2 * k + 3)
		must(api.launch(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), CUDA_OK,
		     "launch");
		must(api.end_capture(stream, &graph), CUDA_OK, "end");
		must(api.graph_nodes(graph, NULL, &nodes), CUDA_OK, "nodes");
		must(api.instantiate(&exec[k], graph, 0), CUDA_OK, "instantiate");
		must(api.graph_upload(exec[k], stream), CUDA_OK, "upload");
		printf("graph %zu\n", nodes);
	}
	TIMES(11) must(api.graph_launch(exec[i % 3], stream), CUDA_OK, "replay");
	must(api.stream_sync(stream), CUDA_OK, "sync");
	must(exec_destroy(exec[0]), CUDA_OK, "destroy");
}

static void work(void)
{
	CUdeviceptr memory = 0, other;
	CUfunction function[2];
	CUmodule module;
	CUstream stream;
	CUcontext ctx;
	size_t a, b;
	int count;

	must(api.mem_alloc(&other, 1), CUDA_NOT_INITIALIZED, "before cuInit");
	must(api.init(0), CUDA_OK, "init");
	TIMES(5) must(api.device_count(&count), CUDA_OK, "count");
	must(api.ctx_retain(&ctx, 0), CUDA_OK, "retain");
	TIMES(3) must(api.ctx_set_current(ctx), CUDA_OK, "current");
	must(api.stream_create(&stream, 0), CUDA_OK, "stream");
	TIMES(7) must(api.mem_alloc(i ? &other : &memory, 1 << 20), CUDA_OK, "alloc");
	must(api.mem_alloc(&other, (size_t)1 << 60), CUDA_OUT_OF_MEMORY, "too much");
	must(api.mem_free(other), CUDA_OK, "free");
	TIMES(2) must(api.mem_info(&a, &b), CUDA_OK, "info");
	copies(memory, stream);
	must(api.module_load_data(&module, "no image"), CUDA_OK, "module");
	TIMES(2)
	must(api.module_function(&function[i], module, i ? "one" : "two"), CUDA_OK, "function");
	TIMES(19)
	must(api.launch(function[i % 2], 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), CUDA_OK,
	     "launch");
	TIMES(23) stream_query(stream);
	graphs(stream, function[0]);
	must(api.ctx_sync(), CUDA_OK, "ctx_sync");
	printf("memory %llx context %lx\n", memory, (unsigned long)(uintptr_t)ctx);
}

int main(int argc, char **argv)
{
	unsigned long long flags = argc > 2 ? GPA_FLAG_PER_THREAD : 0;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "elf"))
		by_elf();
	else if (!strcmp(argv[1], "dlsym"))
		by_dlsym();
	else
		by_proc(!strcmp(argv[1], "proc2"), flags);
	if (!api.init) {
		fprintf(stderr, "cuda-guest: no driver this way\n");
		return 3;
	}
	work();
	return 0;
}
