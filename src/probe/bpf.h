/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about the kernel programs share: bpf.c loads and attaches, bpf_end.c ends. */
#pragma once
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <coldprof.skel.h>

#include "base/vec.h"

#define FAULT_EVENTS 3

struct probe;

/* A program that the kernel did not take. */
struct refusal {
	char name[32];
	int rc;
};

struct bpf {
	struct coldprof_bpf *skel;
	struct ring_buffer *ring;
	int fault_fds[FAULT_EVENTS];
	VEC(struct refusal) refusals;
};

void bpf_close_fault_events(struct bpf *b);
