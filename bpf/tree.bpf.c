/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The process tree: fork, exec, exit, names. */
#include "mapped.bpf.h"
#include "path.bpf.h"
#include "times.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kernel_exec);
} exec_room SEC(".maps");

SEC("tp_btf/sched_process_fork")
int BPF_PROG(tree_fork, struct task_struct *parent, struct task_struct *child)
{
	struct kernel_fork r;
	struct thread *from;
	uint64_t now;
	int32_t pid;
	bool thread;

	if (detached)
		return 0;
	from = thread_of(parent);
	if (!from)
		return 0;
	now = bpf_ktime_get_ns();
	pid = pid_of(child);
	r.head.tid = tid_of(child);
	thread_add(child, pid, r.head.tid, now);
	thread = child->pid != child->tgid;
	r.number = inner_number(child, &r.pid_ns);
	if (thread && r.pid_ns == pidns_inum)
		return 0;
	r.head.kind = thread ? KERNEL_THREAD : KERNEL_FORK;
	r.head.pid = pid;
	r.head.value = (uint32_t)from->pid;
	r.head.at_ns = now;
	emit(&r, sizeof(r), !thread);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(tree_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct kernel_exec *room;
	struct thread *th;
	struct file *exe;
	struct mm_struct *mm;
	uint64_t start, n;
	uint32_t zero = 0;

	if (detached)
		return 0;
	th = thread_of(task);
	if (!th)
		return 0;
	thread_flush(th);
	/*
	 * A thread that is not the first called exec: it
	 * takes over the number of the first, which is gone.
	 */
	if (th->tid != th->pid) {
		times_close(th, bpf_ktime_get_ns());
		th->tid = th->pid;
	}
	room = bpf_map_lookup_elem(&exec_room, &zero);
	if (!room)
		return 0;
	head_fill(&room->head, KERNEL_EXEC, th, bpf_ktime_get_ns());
	bpf_probe_read_kernel(room->comm, sizeof(room->comm), task->comm);
	mm = PEEK(task_struct, task, mm);
	exe = BPF_CORE_READ(mm, exe_file);
	room->dev = BPF_CORE_READ(exe, f_inode, i_sb, s_dev);
	room->ino = BPF_CORE_READ(exe, f_inode, i_ino);
	path_walk(exe, &room->path);
	start = BPF_CORE_READ(mm, arg_start);
	n = BPF_CORE_READ(mm, arg_end) - start;
	if (n > KERNEL_COMMAND_MAX)
		n = KERNEL_COMMAND_MAX;
	if (bpf_probe_read_user(room->command, n, (void *)start) < 0)
		n = 0;
	room->command_bytes = (uint32_t)n;
	emit(room, sizeof(*room), true);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(tree_exit, struct task_struct *task)
{
	struct kernel_head r;
	struct thread *th;
	int status;

	if (detached)
		return 0;
	th = thread_of(task);
	if (!th)
		return 0;
	thread_sum(th, task);
	head_fill(&r, KERNEL_EXIT, th, bpf_ktime_get_ns());
	times_close(th, r.at_ns);
	bpf_task_storage_delete(&threads, task);
	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return 0;
	status = BPF_CORE_READ(task, signal, group_exit_code);
	r.tid = r.pid;
	r.value = (uint32_t)(status ? status : task->exit_code);
	emit(&r, sizeof(r), true);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(tree_rename, struct task_struct *task, const char *comm)
{
	struct kernel_name r = {};
	struct thread *th;

	if (detached || task->pid != task->tgid)
		return 0;
	th = thread_of(task);
	if (!th)
		return 0;
	head_fill(&r.head, KERNEL_NAME, th, bpf_ktime_get_ns());
	bpf_probe_read_kernel_str(r.comm, sizeof(r.comm), comm);
	emit(&r, sizeof(r), false);
	return 0;
}
