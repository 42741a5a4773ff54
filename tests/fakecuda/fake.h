/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the fake driver share. */
#pragma once
#include <stdbool.h>

#include "fakecuda.h"

#define EXPORT __attribute__((visibility("default")))

/* The modelled costs; the words are those of FAKECUDA (tests/fakecuda/README). */
#define FAKE_TIMES(X)                                                                              \
	X(cuInit, 50000000)                                                                        \
	X(ctx, 120000000)                                                                          \
	X(alloc, 100000)                                                                           \
	X(vmm, 100000)                                                                             \
	X(pool, 50000)                                                                             \
	X(pinned, 500000)                                                                          \
	X(h2d, 5000)                                                                               \
	X(d2h, 5000)                                                                               \
	X(module, 3000000)                                                                         \
	X(first_launch, 500000)                                                                    \
	X(launch, 3000)                                                                            \
	X(capture, 50000)                                                                          \
	X(instantiate, 2000000)                                                                    \
	X(upload, 300000)                                                                          \
	X(replay, 20000)

/* In 1e9 bytes a second; 0: as fast as the machine is. */
#define FAKE_RATES(X)                                                                              \
	X(h2d_gbps, 0)                                                                             \
	X(pageable_gbps, 0)                                                                        \
	X(pinned_gbps, 0)

#define FAKE_COUNTS(X)                                                                             \
	X(devices, 1)                                                                              \
	X(mem_gb, 80)                                                                              \
	X(version, 13000)

struct fake_model {
#define X(word, def) uint64_t word;
	FAKE_TIMES(X)
	FAKE_COUNTS(X)
#undef X
#define X(word, def) double word;
	FAKE_RATES(X)
#undef X
	char fail[64]; /* symbol whose calls fail with CUDA_OUT_OF_MEMORY; empty: none */
};

/* How a real driver would pass the time: on the CPU, or asleep in an ioctl. */
enum fake_how { FAKE_SPIN, FAKE_SLEEP };

const struct fake_model *fake_model(void);
uint64_t fake_now(void);
/* Pass what is left until start_ns + cost_ns. */
void fake_spend(uint64_t start_ns, uint64_t cost_ns, enum fake_how how);
uint64_t fake_rate_ns(size_t bytes, double gbps);
/*
 * What a call may find before it does anything: not
 * initialised (or forked since), no context, told to fail.
 */
CUresult fake_ready(const char *symbol, bool needs_context);
void fake_initialised(void);

enum fake_kind { FAKE_DEVICE = 1, FAKE_PINNED, FAKE_RESERVED, FAKE_REGISTERED };
void fake_range_add(const void *base, size_t size, enum fake_kind kind);
/* The size of the range that begins at base, which is forgotten; 0: there is none. */
size_t fake_range_take(const void *base, enum fake_kind kind);
/* The kind of memory that holds p, or 0. */
int fake_range_kind(const void *p);

struct CUstream_st {
	uint64_t busy_until_ns;
	struct CUgraph_st *capturing;
};

/* The stream behind a handle, 0 and the two special handles included. */
struct CUstream_st *fake_stream(CUstream s, bool per_thread);
CUresult fake_stream_wait(struct CUstream_st *s);
/* True when the stream captures: then the work became a node of the graph. */
bool fake_captured(struct CUstream_st *s);
void fake_wait_all(void);
