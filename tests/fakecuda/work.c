/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, modules, launches and graphs. */
#include "fake.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct CUfunc_st {
	atomic_bool loaded;
};

struct CUmod_st {
	char kernels; /* only its address matters */
};

struct CUgraph_st {
	size_t nodes;
};

struct CUgraphExec_st {
	size_t nodes;
};

#define MAX_STREAMS 256
static struct CUstream_st legacy, streams[MAX_STREAMS];
static atomic_uint stream_count;
static __thread struct CUstream_st per_thread_default;

struct CUstream_st *fake_stream(CUstream s, bool per_thread)
{
	if ((uintptr_t)s == 2 || (!s && per_thread))
		return &per_thread_default;
	return (uintptr_t)s <= 1 ? &legacy : s;
}

CUresult fake_stream_wait(struct CUstream_st *s)
{
	if (s->capturing)
		return CUDA_INVALID_HANDLE;
	fake_spend(s->busy_until_ns, 0, FAKE_SLEEP);
	return CUDA_OK;
}

bool fake_captured(struct CUstream_st *s)
{
	if (s->capturing)
		s->capturing->nodes++;
	return s->capturing != NULL;
}

void fake_wait_all(void)
{
	unsigned n = atomic_load(&stream_count);

	fake_stream_wait(&legacy);
	fake_stream_wait(&per_thread_default);
	for (unsigned i = 0; i < n && i < MAX_STREAMS; i++)
		fake_stream_wait(&streams[i]);
}

EXPORT CUresult cuStreamCreate(CUstream *s, unsigned flags)
{
	CUresult r = fake_ready("cuStreamCreate", true);
	unsigned i;

	(void)flags;
	if (r != CUDA_OK)
		return r;
	i = atomic_fetch_add(&stream_count, 1);
	if (i >= MAX_STREAMS)
		return CUDA_OUT_OF_MEMORY;
	*s = &streams[i];
	return CUDA_OK;
}

EXPORT CUresult cuStreamSynchronize(CUstream s)
{
	CUresult r = fake_ready("cuStreamSynchronize", true);

	return r == CUDA_OK ? fake_stream_wait(fake_stream(s, false)) : r;
}

EXPORT CUresult cuStreamSynchronize_ptsz(CUstream s)
{
	CUresult r = fake_ready("cuStreamSynchronize_ptsz", true);

	return r == CUDA_OK ? fake_stream_wait(fake_stream(s, true)) : r;
}

static CUresult load(const char *symbol, void **ret, const void *image)
{
	uint64_t start = fake_now();
	CUresult r = fake_ready(symbol, true);

	if (r != CUDA_OK)
		return r;
	if (!image)
		return CUDA_INVALID_VALUE;
	*ret = calloc(1, sizeof(struct CUmod_st));
	fake_spend(start, fake_model()->module, FAKE_SPIN);
	return CUDA_OK;
}

EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	return load("cuModuleLoadData", (void **)module, image);
}

EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, int *options,
				   void **values)
{
	(void)n, (void)options, (void)values;
	return load("cuModuleLoadDataEx", (void **)module, image);
}

EXPORT CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	return load("cuModuleLoadFatBinary", (void **)module, image);
}

EXPORT CUresult cuModuleLoad(CUmodule *module, const char *path)
{
	char buf[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return CUDA_FILE_NOT_FOUND;
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	return load("cuModuleLoad", (void **)module, path);
}

EXPORT CUresult cuModuleUnload(CUmodule module)
{
	free(module);
	return CUDA_OK;
}

EXPORT CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *options, void **values,
				  unsigned n, int *lib_options, void **lib_values, unsigned lib_n)
{
	(void)options, (void)values, (void)n, (void)lib_options, (void)lib_values, (void)lib_n;
	return load("cuLibraryLoadData", (void **)library, code);
}

EXPORT CUresult cuLibraryUnload(CUlibrary library)
{
	free(library);
	return CUDA_OK;
}

static CUresult function(const char *symbol, void **ret)
{
	CUresult r = fake_ready(symbol, true);

	if (r == CUDA_OK)
		*ret = calloc(1, sizeof(struct CUfunc_st));
	return r;
}

EXPORT CUresult cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
	(void)module, (void)name;
	return function("cuModuleGetFunction", (void **)f);
}

EXPORT CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	(void)library, (void)name;
	return function("cuLibraryGetKernel", (void **)kernel);
}

EXPORT CUresult cuKernelGetFunction(CUfunction *f, CUkernel kernel)
{
	*f = (CUfunction)kernel;
	return CUDA_OK;
}

static CUresult launch(const char *symbol, CUfunction f, struct CUstream_st *s)
{
	const struct fake_model *m = fake_model();
	uint64_t start = fake_now();
	CUresult r = fake_ready(symbol, true);

	if (r != CUDA_OK)
		return r;
	if (!f)
		return CUDA_INVALID_HANDLE;
	/* Lazy loading happens at the first launch, captured or not. */
	fake_spend(start, atomic_exchange(&f->loaded, true) ? m->launch : m->first_launch,
		   FAKE_SPIN);
	if (!fake_captured(s) && s->busy_until_ns < start)
		s->busy_until_ns = start;
	return CUDA_OK;
}

#define LAUNCH(symbol, per_thread)                                                                 \
	EXPORT CUresult symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,   \
			       unsigned by, unsigned bz, unsigned shared, CUstream s, void **args, \
			       void **extra)                                                       \
	{                                                                                          \
		(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;          \
		(void)args, (void)extra;                                                           \
		return launch(#symbol, f, fake_stream(s, per_thread));                             \
	}
LAUNCH(cuLaunchKernel, false)
LAUNCH(cuLaunchKernel_ptsz, true)

static CUresult begin_capture(const char *symbol, struct CUstream_st *s)
{
	CUresult r = fake_ready(symbol, true);

	if (r != CUDA_OK)
		return r;
	if (s->capturing || s == &legacy)
		return CUDA_INVALID_HANDLE;
	s->capturing = calloc(1, sizeof(*s->capturing));
	return CUDA_OK;
}

EXPORT CUresult cuStreamBeginCapture_v2(CUstream s, int mode)
{
	(void)mode;
	return begin_capture("cuStreamBeginCapture_v2", fake_stream(s, false));
}

EXPORT CUresult cuStreamBeginCapture_v2_ptsz(CUstream s, int mode)
{
	(void)mode;
	return begin_capture("cuStreamBeginCapture_v2_ptsz", fake_stream(s, true));
}

static CUresult end_capture(const char *symbol, struct CUstream_st *s, CUgraph *graph)
{
	uint64_t start = fake_now();
	CUresult r = fake_ready(symbol, true);

	if (r != CUDA_OK)
		return r;
	if (!s->capturing)
		return CUDA_INVALID_HANDLE;
	*graph = s->capturing;
	s->capturing = NULL;
	fake_spend(start, fake_model()->capture, FAKE_SPIN);
	return CUDA_OK;
}

EXPORT CUresult cuStreamEndCapture(CUstream s, CUgraph *graph)
{
	return end_capture("cuStreamEndCapture", fake_stream(s, false), graph);
}

EXPORT CUresult cuStreamEndCapture_ptsz(CUstream s, CUgraph *graph)
{
	return end_capture("cuStreamEndCapture_ptsz", fake_stream(s, true), graph);
}

EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	(void)nodes;
	*count = graph->nodes;
	return CUDA_OK;
}

static CUresult instantiate(const char *symbol, CUgraphExec *exec, CUgraph graph)
{
	uint64_t start = fake_now();
	CUresult r = fake_ready(symbol, true);

	if (r != CUDA_OK)
		return r;
	*exec = calloc(1, sizeof(**exec));
	(*exec)->nodes = graph->nodes;
	fake_spend(start, fake_model()->instantiate, FAKE_SPIN);
	return CUDA_OK;
}

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
					    unsigned long long flags)
{
	(void)flags;
	return instantiate("cuGraphInstantiateWithFlags", exec, graph);
}

EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *node,
				      char *log, size_t size)
{
	(void)node, (void)log, (void)size;
	return instantiate("cuGraphInstantiate_v2", exec, graph);
}

static CUresult upload(const char *symbol)
{
	uint64_t start = fake_now();
	CUresult r = fake_ready(symbol, true);

	if (r == CUDA_OK)
		fake_spend(start, fake_model()->upload, FAKE_SPIN);
	return r;
}

EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream s)
{
	(void)exec, (void)s;
	return upload("cuGraphUpload");
}

EXPORT CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream s)
{
	(void)exec, (void)s;
	return upload("cuGraphUpload_ptsz");
}

static CUresult replay(const char *symbol, struct CUstream_st *s)
{
	uint64_t now = fake_now();
	CUresult r = fake_ready(symbol, true);

	if (r == CUDA_OK)
		s->busy_until_ns =
			(now > s->busy_until_ns ? now : s->busy_until_ns) + fake_model()->replay;
	return r;
}

EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream s)
{
	(void)exec;
	return replay("cuGraphLaunch", fake_stream(s, false));
}

EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream s)
{
	(void)exec;
	return replay("cuGraphLaunch_ptsz", fake_stream(s, true));
}

EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	free(exec);
	return CUDA_OK;
}

EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
	free(graph);
	return CUDA_OK;
}
