/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth engine: a small model server that does what a large one does, and says when it did it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../fakecuda/fakecuda.h"

/* The steps of a start, in order; --slow and --crash name them. */
#define STEPS(X)                                                                                   \
	X(process_init, "process_init")                                                            \
	X(cuda_context, "cuda_context")                                                            \
	X(allocator, "allocator")                                                                  \
	X(other, "other")                                                                          \
	X(weights, "weights")                                                                      \
	X(jit, "graphs_jit")                                                                       \
	X(graphs, "graphs_jit")                                                                    \
	X(serving_up, "serving_up")

enum step {
#define X(name, item) STEP_##name,
	STEPS(X)
#undef X
		STEP_COUNT
};

enum loader { LOAD_MMAP, LOAD_MMAP_RANDOM, LOAD_READ, LOAD_DIRECT, LOAD_THREADS };
enum route { ROUTE_GPA, ROUTE_DLSYM, ROUTE_ELF };
enum jit { JIT_NONE, JIT_CC, JIT_NVRTC };
enum style { STYLE_PLAIN, STYLE_VLLM };
enum spawn { SPAWN_FORK, SPAWN_EXEC };

struct options {
	const char *truth, *model, *jit_cache, *driver;
	enum loader loader;
	enum route route;
	enum jit jit;
	enum style style;
	enum spawn spawn;
	int ranks, port, graphs, kernels, kv_mib;
	bool listen_early;
	unsigned init_ms, slow_ms[STEP_COUNT];
	int late_rank; /* -1: none */
	unsigned late_ms;
	int crash; /* enum step, -1: none */
	/* Told by the parent to a rank that it executed: */
	int rank, rank_fd; /* -1: this is no such rank */
	uint64_t born_ns;
	char **argv;
};

extern struct options opt;

/* --- truth.c: the log. One write a line, so that a rank killed at any time leaves whole lines. */
uint64_t now_ns(void);
void truth_open(const char *path);
/* The calling process began at born_ns with this step. */
void truth_begin(enum step step, uint64_t born_ns);
/*
 * End the present step and begin the next at the same
 * instant. Also crashes here when --crash says so.
 */
void truth_step(enum step step);
/* End the last step. */
void truth_end(void);
/* A piece of work inside a step, on the calling thread. bytes 0: it has none. */
void truth_work(const char *item, const char *sub, uint64_t start_ns, uint64_t end_ns,
		uint64_t bytes);
/*
 * A child that the calling thread waited for, not yet reaped: what it waited for a CPU counts to the next line. It is
 * off its CPU between its end, as others see it, and the moment at which its parent can know.
 */
void truth_child_delay(pid_t pid);
/* Something that happened at a moment between the two. */
void truth_between(const char *item, const char *sub, uint64_t start_ns, uint64_t end_ns);
void truth_event(const char *item, const char *sub, uint64_t at_ns);
const char *step_name(enum step step);
const char *step_item(enum step step);
/* What the last ended step of this kind took. */
double step_seconds(enum step step);
/* Use the CPU for so long. */
void burn_ms(unsigned ms);
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Die as a bug would, at once, when --crash names this step. */
void crash_at(enum step step);

/* --- model.c: safetensors files. */
struct tensor {
	uint64_t offset, bytes; /* in the file */
};

struct shard {
	char path[4096];
	struct tensor *tensors;
	size_t n;
	uint64_t bytes; /* of the file */
};

struct model {
	struct shard *shards;
	size_t n;
	uint64_t bytes; /* of all tensors */
};

void model_make(uint64_t bytes, const char *dir);
void model_read_headers(const char *dir, struct model *ret_model);

/* --- device.c: the driver by one of three routes, context, memory. */
extern struct cuda_api cu;
void device_find(void);
void device_context(int rank);
CUdeviceptr device_alloc(const char *sub, size_t bytes);
void *device_pinned(size_t bytes);
void device_kv_cache(size_t bytes);
void device_use_on_this_thread(void);
#define CU(call) device_check(call, #call)
void device_check(CUresult r, const char *what);

/* --- loader.c */
/* Room on the device and for staging: the allocator's step. */
void loader_prepare(const struct model *m, int rank);
void loader_run(const struct model *m);
/* FNV-1a of the first bytes of this rank's weights, read back from the device. */
uint64_t loader_fingerprint(void);

/* --- jit.c */
void jit_run(void);
/* The function that graphs launch. */
CUfunction jit_kernel(void);
extern volatile int jit_child; /* a running compiler, 0: none */

/* --- graphs.c */
void graphs_run(void);

/* --- say.c: what the server prints. */
enum who { WHO_API, WHO_ENGINE, WHO_RANK };
void say(enum who who, int rank, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void say_raw(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_step_done(enum step step, int rank, const struct model *m);

/* --- server.c */
void server_listen(void);
/* From now on the answer is 200. */
void server_ready(void);
void server_close(void);

/* --- ranks.c */
int ranks_run(void);
int rank_child(int rank, int fd, uint64_t born_ns);
uint64_t ranks_fingerprint(void);
