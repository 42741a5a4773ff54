/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/inside.h"

#include <sys/stat.h>

#include "model/model.h"

uint32_t pidns_own(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint32_t)st.st_ino : 0;
}

void pidns_set(struct probe *p, struct proc *proc, uint32_t pid_ns, int32_t number)
{
	struct process *it = &p->trace->processes.v[proc->index];

	it->pid_ns = pid_ns;
	it->ns_pid = trace_is_foreign(p->trace, it) ? number : 0;
}

/* Threads of another namespace whose number there is not known yet. */
static void look_at_threads(struct probe *p, struct proc *proc)
{
	struct thread *th, *next;

	HASH_ITER (hh, proc->threads, th, next) {
		struct thread_number n = {proc->index, th->tid, 0};

		if (th->numbered)
			continue;
		th->numbered = true;
		if (procfs_number(proc->pid, th->tid, &n.ns_tid) == 0)
			vec_push(&p->trace->numbers, n);
	}
}

void pidns_look(struct probe *p, struct proc *proc)
{
	struct process *it = &p->trace->processes.v[proc->index];
	uint32_t pid_ns;
	int32_t number = 0;

	if (p->tree_by == TREE_BPF)
		return;
	if (!it->pid_ns && procfs_pid_ns(proc->pid, &pid_ns) == 0 &&
	    (pid_ns == p->trace->pid_ns || procfs_number(proc->pid, proc->pid, &number) == 0))
		pidns_set(p, proc, pid_ns, number);
	if (trace_is_foreign(p->trace, it))
		look_at_threads(p, proc);
}
