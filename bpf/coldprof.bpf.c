/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One object, so that the subjects share their maps;
 * each program is still loaded or left out on its own.
 */
#include "tree.bpf.c"
#include "times.bpf.c"
#include "listen.bpf.c"
#include "fault.bpf.c"
#include "mapped.bpf.c"
#include "fill.bpf.c"
#include "io.bpf.c"
#include "uring.bpf.c"
#include "finish.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
