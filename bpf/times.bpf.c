/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What each thread does: runs, waits for a processor, waits for I/O, sleeps. */
#include "mapped.bpf.h"
#include "times.bpf.h"

SEC("tp_btf/sched_switch")
int BPF_PROG(times_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread *out, *in;
	uint32_t state = SLEEP;
	uint64_t now = 0;

	if (detached)
		return 0;
	out = thread_of(prev);
	if (out) {
		now = bpf_ktime_get_ns();
		if (preempt || prev->__state == 0)
			state = RUNNABLE;
		else if (BPF_CORE_READ_BITFIELD(prev, in_iowait))
			state = IO_WAIT;
		times_move(out, state, now);
		thread_out(out, prev, now);
	}
	in = thread_of(next);
	if (in) {
		now = now ? now : bpf_ktime_get_ns();
		times_move(in, RUN, now);
		if (mapped_goes_on(in, next))
			in->mapped.end_ns = now;
	}
	return 0;
}

static __always_inline int woken(struct task_struct *task)
{
	struct thread *th;

	if (detached)
		return 0;
	th = thread_of(task);
	if (th && th->state != RUN && th->state != RUNNABLE)
		times_move(th, RUNNABLE, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(times_wakeup, struct task_struct *task)
{
	return woken(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(times_wakeup_new, struct task_struct *task)
{
	return woken(task);
}
