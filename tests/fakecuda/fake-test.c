/* SPDX-License-Identifier: Apache-2.0 */
/* The fake driver itself: names, versions, real copies, modelled time, states. */
#include "fakecuda.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../tap.h"

static void *lib;
static gpa_v2_fn gpa;

#define X(field, base, version, symbol, args) static CUresult(*c_##field) args;
CUDA_ENTRIES(X)
#undef X

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void *by_gpa(const char *base, int version, unsigned long long flags)
{
	void *fn;

	return gpa(base, &fn, version, flags, NULL) == CUDA_OK ? fn : NULL;
}

static void test_names(void)
{
	void *fn = &fn;
	int status = -1, wrong = 0, missing = 0;

	gpa = (gpa_v2_fn)dlsym(lib, "cuGetProcAddress_v2");
#define X(field, base, version, symbol, args)                                                      \
	c_##field = (CUresult(*) args)dlsym(lib, #symbol);                                         \
	missing += !c_##field;                                                                     \
	wrong += by_gpa(#base, version, 0) != (void *)c_##field;
	CUDA_ENTRIES(X)
#undef X
	is_int(missing, 0, "every entry of fakecuda.h is exported");
	is_int(wrong, 0, "cuGetProcAddress gives the address of the exported symbol");
	ok(by_gpa("cuMemAlloc", 2000, 0) == dlsym(lib, "cuMemAlloc"),
	   "an old version is the old ABI");
	ok(by_gpa("cuMemAlloc", 13000, 0) == dlsym(lib, "cuMemAlloc_v2"), "a new one the newest");
	ok(by_gpa("cuCtxCreate", 11040, 0) == dlsym(lib, "cuCtxCreate_v3"),
	   "the third version is _v3");
	ok(by_gpa("cuMemcpyHtoDAsync", 12000, GPA_FLAG_PER_THREAD) ==
		   dlsym(lib, "cuMemcpyHtoDAsync_v2_ptsz"),
	   "flag 2 picks the _ptsz twin");
	ok(by_gpa("cuMemcpyHtoD", 12000, GPA_FLAG_PER_THREAD) == dlsym(lib, "cuMemcpyHtoD_v2_ptds"),
	   "and _ptds of a synchronous call");
	ok(by_gpa("cuInit", 12000, GPA_FLAG_PER_THREAD) == (void *)c_init, "which cuInit has not");
	is_int(gpa("", &fn, 0, 0, &status), CUDA_NOT_FOUND, "an empty name is answered");
	ok(!fn && status == GPA_NO_SYMBOL, "with no address and its status");
	gpa("cuMemCreate", &fn, 9000, 0, &status);
	ok(!fn && status == GPA_VERSION_TOO_LOW, "a version too low is told apart");
	ok(by_gpa("cuGetProcAddress", 11030, 0) == dlsym(lib, "cuGetProcAddress") &&
		   by_gpa("cuGetProcAddress", 12000, 0) == (void *)gpa,
	   "it answers for itself");
	ok(dlsym(lib, "cuGetExportTable") && dlsym(lib, "cuLinkComplete"), "stubs are exported");
}

/* What coldprof hooks must be there to be hooked. */
static void test_hooked_names(void)
{
	static const char *const hooked[] = {
#define HOOKS_DRIVER_ONLY
#define CALL(symbol, cls, params, args, bytes, handle, aux, extra)		  #symbol,
#define COPY(symbol, params, args, bytes, destination, stream, source, direction) #symbol,
#define SPECIAL(symbol, cls, params, args)					  #symbol,
#include "shim/hooks.def"
	};
	size_t n = sizeof(hooked) / sizeof(*hooked), there = 0;

	for (size_t i = 0; i < n; i++) {
		if (dlsym(lib, hooked[i]))
			there++;
		else
			diag("%s is hooked, but not exported here", hooked[i]);
	}
	is_int((int64_t)there, (int64_t)n, "every name of the driver that coldprof hooks");
}

static void test_states(void)
{
	CUcontext ctx;
	CUdeviceptr p;
	CUdevice dev;
	int count, status;

	is_int(c_device_count(&count), CUDA_NOT_INITIALIZED, "a question before cuInit");
	is_int(c_init(0), CUDA_OK, "cuInit");
	is_int(c_device_count(&count), CUDA_OK, "a question after it");
	is_int(count, 2, "the devices that FAKECUDA asked for");
	is_int(c_device_get(&dev, 2), CUDA_INVALID_DEVICE, "a device that is not there");
	is_int(c_mem_alloc(&p, 4096), CUDA_INVALID_CONTEXT, "an allocation without a context");
	c_device_get(&dev, 0);
	is_int(c_ctx_retain(&ctx, dev), CUDA_OK, "primary context");
	is_int(c_ctx_set_current(ctx), CUDA_OK, "made current");
	if (!fork())
		_exit(c_device_count(&count) == CUDA_NOT_INITIALIZED ? 0 : 1);
	wait(&status);
	is_int(status, 0, "a child forked after cuInit has no driver");
}

static void test_copies(void)
{
	enum { SIZE = 8 << 20 };
	char *host = malloc(SIZE), *back = calloc(1, SIZE);
	uint64_t start, sync_ns, call_ns, wait_ns;
	size_t available, available_after, total;
	CUdeviceptr p = 0;
	CUstream s;
	void *pinned = NULL;

	for (int i = 0; i < SIZE; i++)
		host[i] = (char)(i * 31 + (i >> 12));
	c_mem_info(&available, &total);
	is_int(c_mem_alloc(&p, SIZE), CUDA_OK, "device memory");
	c_mem_info(&available_after, &total);
	is_int((int64_t)(available - available_after), SIZE, "is taken from the free memory");
	start = now_ns();
	is_int(c_h2d(p, host, SIZE), CUDA_OK, "a pageable copy");
	sync_ns = now_ns() - start;
	ok(sync_ns >= SIZE, "takes the time of 1 GB/s (%" PRIu64 " ns)", sync_ns);
	start = now_ns();
	c_d2h(back, p, SIZE);
	sync_ns = now_ns() - start;
	ok(!memcmp(host, back, SIZE), "and its bytes come back");
	ok(sync_ns >= 15000000 + SIZE, "in the time that such a call takes (%" PRIu64 " ns)",
	   sync_ns);
	is_int(c_host_alloc(&pinned, SIZE, 0), CUDA_OK, "pinned memory");
	memset(pinned, 7, SIZE);
	c_stream_create(&s, 0);
	start = now_ns();
	c_h2d_async(p, pinned, SIZE, s);
	call_ns = now_ns() - start;
	c_stream_sync(s);
	wait_ns = now_ns() - start;
	ok(wait_ns >= 20 * (uint64_t)SIZE, "an asynchronous copy is over after a wait");
	ok(call_ns < wait_ns / 2, "and not before its call returns");
	c_d2h(back, p, SIZE);
	ok(back[0] == 7 && back[SIZE - 1] == 7, "and its bytes are there");
	is_int(c_mem_free(p), CUDA_OK, "freed");
	is_int(c_mem_free(p), CUDA_INVALID_VALUE, "but once");
	is_int(c_mem_alloc(&p, (size_t)3 << 30), CUDA_OUT_OF_MEMORY, "more than there is");
}

static void test_graphs(void)
{
	CUgraphExec exec;
	CUfunction f;
	CUmodule m;
	CUgraph g;
	CUstream s;
	size_t nodes = 0;
	uint64_t start, first_ns, second_ns;

	c_stream_create(&s, 0);
	start = now_ns();
	is_int(c_module_load_data(&m, "image"), CUDA_OK, "a module");
	ok(now_ns() - start >= 4000000, "takes its time");
	c_module_function(&f, m, "k");
	is_int(c_begin_capture(s, CAPTURE_GLOBAL), CUDA_OK, "capture begins");
	is_int(c_begin_capture(s, CAPTURE_GLOBAL), CUDA_INVALID_HANDLE, "once");
	start = now_ns();
	c_launch(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
	first_ns = now_ns() - start;
	start = now_ns();
	c_launch(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
	second_ns = now_ns() - start;
	ok(first_ns >= 2000000 && second_ns < first_ns, "the first launch loads lazily");
	is_int(c_end_capture(s, &g), CUDA_OK, "and ends");
	c_graph_nodes(g, NULL, &nodes);
	is_int((int64_t)nodes, 2, "with a node a launch");
	is_int(c_instantiate(&exec, g, 0), CUDA_OK, "instantiated");
	is_int(c_graph_upload(exec, s), CUDA_OK, "uploaded");
	is_int(c_graph_launch(exec, s), CUDA_OK, "launched");
	is_int(c_ctx_sync(), CUDA_OK, "and waited for");
}

static void test_failure(void)
{
	int status;

	if (!fork()) {
		setenv("FAKECUDA", "cuInit=0,devices=0", 1);
		execl("/proc/self/exe", "fake-test", "init", NULL);
		_exit(1);
	}
	wait(&status);
	is_int(WEXITSTATUS(status), CUDA_NO_DEVICE, "no device: cuInit says so");
	if (!fork()) {
		setenv("FAKECUDA", "cuInnit=0", 1);
		dup2(STDOUT_FILENO, STDERR_FILENO);
		execl("/proc/self/exe", "fake-test", "init", NULL);
		_exit(1);
	}
	wait(&status);
	is_int(WEXITSTATUS(status), 99, "a misspelt word ends the program");
}

int main(int argc, char **argv)
{
	const char *top = getenv("top_builddir");
	char path[4096];

	(void)argv;
	if (argc == 1)
		setenv("FAKECUDA",
		       "cuInit=1ms,ctx=1ms,d2h=15ms,pageable_gbps=1,h2d_gbps=0.05,module=4ms,"
		       "first_launch=2ms,devices=2,mem_gb=1",
		       1);
	snprintf(path, sizeof(path), "%s/tests/fakecuda/.libs/libcuda.so.1", top ? top : ".");
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		bail("%s", dlerror());
	if (argc > 1)
		return ((CUresult(*)(unsigned))dlsym(lib, "cuInit"))(0);
	ok(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == lib, "its soname is libcuda.so.1");
	test_names();
	test_hooked_names();
	test_states();
	test_copies();
	test_graphs();
	test_failure();
	return done_testing();
}
