/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Run once by coldprof when the run is over, over all
 * tasks: hand over what living threads still gather.
 */
#include "mapped.bpf.h"
#include "times.bpf.h"

SEC("iter/task")
int finish(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *th = task ? thread_of(task) : NULL;
	uint64_t now;

	if (!th)
		return 0;
	now = bpf_ktime_get_ns();
	thread_sum(th, task);
	times_close(th, now);
	return 0;
}
