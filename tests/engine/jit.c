/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels: out of the cache, or really compiled by a
 * child compiler or by NVRTC; then loaded as modules.
 */
#include "engine.h"

#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
volatile int jit_child;

/* What every device since Volta can load. */
static const char ptx[] = ".version 6.4\n.target sm_70\n.address_size 64\n"
			  ".visible .entry k()\n{\n\tret;\n}\n";
static CUfunction kernel;

static void load_module(const char *image)
{
	uint64_t start = now_ns();
	CUmodule module;

	CU(cu.module_load_data(&module, image));
	truth_work("graphs_jit", "module_load", start, now_ns(), 0);
	CU(cu.module_function(&kernel, module, "k"));
}

CUfunction jit_kernel(void)
{
	if (!kernel)
		load_module(ptx);
	return kernel;
}

static char *read_cached(const char *path)
{
	uint64_t start = now_ns();
	FILE *f = fopen(path, "re");
	char *data = NULL;
	struct stat st;

	if (!f)
		return NULL;
	if (!fstat(fileno(f), &st) && (data = calloc(1, (size_t)st.st_size + 1)) &&
	    fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		die("cannot read %s", path);
	fclose(f);
	truth_work("graphs_jit", "cache_io", start, now_ns(), (uint64_t)st.st_size);
	return data;
}

/* Written beside and renamed, so that a killed rank leaves no half of a file in the cache. */
static void write_cached(const char *path, const char *data, size_t n)
{
	uint64_t start = now_ns();
	char part[4200];
	FILE *f;

	snprintf(part, sizeof(part), "%s.%d", path, (int)getpid());
	f = fopen(part, "we");
	if (!f || fwrite(data, 1, n, f) != n || fclose(f) || rename(part, path))
		die("cannot write %s: %s", path, strerror(errno));
	truth_work("graphs_jit", "cache_io", start, now_ns(), n);
}

/* Enough C for a compiler to chew on, and little enough for three at once on two CPUs. */
#define FUNCTIONS 8
static void write_source(const char *path, int k)
{
	FILE *f = fopen(path, "we");

	if (!f)
		die("cannot write %s: %s", path, strerror(errno));
	for (int i = 0; i < FUNCTIONS; i++)
		fprintf(f,
			"static double f%d(double *a, int n)\n{\n\tdouble s = %d;\n"
			"\tfor (int i = 0; i < n; i++)\n\t\tfor (int j = i; j < n; j += %d)\n"
			"\t\t\ts += a[i] * a[j] - s / (a[j] + %d);\n\treturn s;\n}\n",
			i, k + i, i % 7 + 1, i + 2);
	fputs("double kernel(double *a, int n)\n{\n\tdouble s = 0;\n", f);
	for (int i = 0; i < FUNCTIONS; i++)
		fprintf(f, "\ts += f%d(a, n);\n", i);
	fputs("\treturn s;\n}\n", f);
	if (fclose(f))
		die("cannot write %s: %s", path, strerror(errno));
}

static void compile(const char *source, const char *target)
{
	const char *cc = getenv("CC") && *getenv("CC") ? getenv("CC") : "cc";
	char command[13000];
	char *argv[] = {(char *)"sh", (char *)"-c", command, NULL};
	uint64_t start = now_ns();
	siginfo_t ended;
	int status;
	pid_t pid;

	/* CC may hold words: `gcc -std=gnu17`. */
	snprintf(command, sizeof(command), "exec %.1000s -O2 -shared -fPIC -o '%.4200s' '%.4200s'",
		 cc, target, source);
	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ))
		die("cannot start a compiler");
	jit_child = pid;
	while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	truth_child_delay(pid);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	jit_child = 0;
	truth_work("graphs_jit", "compiler", start, now_ns(), 0);
	if (status)
		die("%s failed on %s", cc, source);
}

static void run_object(const char *path)
{
	double a[64], (*fn)(double *, int);
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		die("%s", dlerror());
	for (int i = 0; i < 64; i++)
		a[i] = i + 1;
	fn = (double (*)(double *, int))dlsym(lib, "kernel");
	if (!fn || fn(a, 64) == 0)
		die("%s computes nothing", path);
}

static void with_cc(const char *dir, int k)
{
	char object[4100], source[4150], part[4150], *data;

	snprintf(object, sizeof(object), "%s/kernel-%d.so", dir, k);
	data = read_cached(object);
	if (!data) {
		snprintf(source, sizeof(source), "%s.%d.c", object, (int)getpid());
		snprintf(part, sizeof(part), "%s.%d", object, (int)getpid());
		write_source(source, k);
		compile(source, part);
		if (rename(part, object))
			die("cannot write %s: %s", object, strerror(errno));
		unlink(source);
	}
	free(data);
	run_object(object);
	load_module(ptx);
}

struct nvrtc {
	int (*create)(void **, const char *, const char *, int, const char *const *,
		      const char *const *);
	int (*compile)(void *, int, const char *const *);
	int (*ptx_size)(void *, size_t *);
	int (*ptx)(void *, char *);
};

static void nvrtc_open(struct nvrtc *n)
{
	static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
					    "libnvrtc.so"};
	void *lib = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !lib; i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		die("--jit nvrtc: no libnvrtc.so is installed (wheel nvidia-cuda-nvrtc, or --jit "
		    "cc)");
	n->create = dlsym(lib, "nvrtcCreateProgram");
	n->compile = dlsym(lib, "nvrtcCompileProgram");
	n->ptx_size = dlsym(lib, "nvrtcGetPTXSize");
	n->ptx = dlsym(lib, "nvrtcGetPTX");
	if (!n->create || !n->compile || !n->ptx_size || !n->ptx)
		die("libnvrtc lacks what it should export");
}

static void with_nvrtc(const char *dir, int k)
{
	static const char *const options[] = {"--gpu-architecture=compute_90"};
	char path[4100], source[512], *data;
	struct nvrtc n;
	uint64_t start;
	void *program;
	size_t size;

	snprintf(path, sizeof(path), "%s/kernel-%d.ptx", dir, k);
	data = read_cached(path);
	if (!data) {
		nvrtc_open(&n);
		snprintf(source, sizeof(source),
			 "extern \"C\" __global__ void k(float *a) { float s = %d;"
			 " for (int i = 0; i < 1000; i++) s += a[i] * s; a[threadIdx.x] = s; }",
			 k);
		start = now_ns();
		if (n.create(&program, source, "k.cu", 0, NULL, NULL) ||
		    n.compile(program, 1, options) || n.ptx_size(program, &size))
			die("NVRTC does not compile");
		data = calloc(1, size + 1);
		n.ptx(program, data);
		truth_work("graphs_jit", "compile", start, now_ns(), 0);
		write_cached(path, data, strlen(data));
	}
	load_module(data);
	free(data);
	load_module(ptx); /* the kernel without arguments that the graphs launch */
}

/* Ranks share no cache, as in the engines: one does not wait for what another compiles. */
static const char *folder_of_rank(const char *dir, char *buf, size_t size)
{
	snprintf(buf, size, "%s/rank_%d", dir, opt.rank < 0 ? 0 : opt.rank);
	if ((mkdir(dir, 0755) && errno != EEXIST) || (mkdir(buf, 0755) && errno != EEXIST))
		die("cannot make %s: %s", buf, strerror(errno));
	return buf;
}

void jit_run(void)
{
	char own[] = "/tmp/truth-engine-jit.XXXXXX", of_rank[4000];
	const char *dir = opt.jit_cache;

	if (opt.jit != JIT_NONE)
		dir = dir ? folder_of_rank(dir, of_rank, sizeof(of_rank)) : mkdtemp(own);
	if (opt.jit != JIT_NONE && !dir)
		die("cannot make %s: %s", own, strerror(errno));
	for (int k = 0; k < opt.kernels && opt.jit != JIT_NONE; k++) {
		if (opt.jit == JIT_CC)
			with_cc(dir, k);
		else
			with_nvrtc(dir, k);
		if (!opt.jit_cache) {
			char path[4100];

			snprintf(path, sizeof(path), "%s/kernel-%d.%s", dir, k,
				 opt.jit == JIT_CC ? "so" : "ptx");
			unlink(path);
		}
	}
	if (opt.jit != JIT_NONE && !opt.jit_cache)
		rmdir(own);
	jit_kernel();
	burn_ms(opt.slow_ms[STEP_jit]);
}
