/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What each thread does: runs, waits for a processor, waits for I/O, sleeps. */
#include "slots.bpf.h"

static __always_inline void times_emit(struct thread *th, uint64_t end_ns)
{
	struct kernel_times r;

	head_fill(&r.head, KERNEL_TIMES, th, th->bin_ns);
	r.end_ns = end_ns;
	r.cpu_ns = th->spent_ns[RUN];
	r.runnable_ns = th->spent_ns[RUNNABLE];
	r.io_wait_ns = th->spent_ns[IO_WAIT];
	r.sleep_ns = th->spent_ns[SLEEP];
	r.yields = th->yields;
	emit(&r, sizeof(r), false);
	th->spent_ns[RUN] = th->spent_ns[RUNNABLE] = th->spent_ns[IO_WAIT] = th->spent_ns[SLEEP] =
		0;
	th->yields = 0;
	th->bin_ns = end_ns;
}

/*
 * The present state ends now. A long state gets a
 * record of its own, so that its place in time is kept.
 */
static __always_inline void times_move(struct thread *th, uint32_t state, uint64_t now)
{
	uint64_t took = now - th->since_ns;

	if (took >= KERNEL_BIN_NS && th->since_ns > th->bin_ns)
		times_emit(th, th->since_ns);
	switch (th->state) {
	case RUN:
		th->spent_ns[RUN] += took;
		break;
	case RUNNABLE:
		th->spent_ns[RUNNABLE] += took;
		break;
	case IO_WAIT:
		th->spent_ns[IO_WAIT] += took;
		break;
	default:
		th->spent_ns[SLEEP] += took;
	}
	th->since_ns = now;
	th->state = state;
	if (now - th->bin_ns >= KERNEL_BIN_NS)
		times_emit(th, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(times_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread *th;
	uint64_t now;

	if (detached)
		return 0;
	th = thread_find((uint32_t)prev->pid);
	if (th) {
		uint32_t state = SLEEP;

		now = bpf_ktime_get_ns();
		if (preempt || prev->__state == 0)
			state = RUNNABLE;
		else if (BPF_CORE_READ_BITFIELD(prev, in_iowait))
			state = IO_WAIT;
		times_move(th, state, now);
		if (th->oldest_ns && now - th->oldest_ns >= KERNEL_BIN_NS)
			slots_flush(th);
	}
	th = thread_find((uint32_t)next->pid);
	if (!th && !seeded)
		th = seed(next, RUNNABLE);
	if (th)
		times_move(th, RUN, bpf_ktime_get_ns());
	return 0;
}

static __always_inline int woken(struct task_struct *task)
{
	struct thread *th;

	if (detached)
		return 0;
	th = thread_find((uint32_t)task->pid);
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
