/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/proc.h"
#include "base/str.h"
#include "model/model.h"

struct proc *tree_find(struct probe *p, int32_t pid)
{
	struct proc *proc;

	HASH_FIND(hh, p->procs, &pid, sizeof(pid), proc);
	return proc;
}

static void drop(struct probe *p, struct proc *proc)
{
	struct thread *th, *next;

	HASH_ITER (hh, proc->threads, th, next)
		thread_gone(p, proc, th->tid);
	HASH_DEL(p->procs, proc);
	free(proc);
}

struct proc *tree_fork(struct probe *p, int32_t pid, int32_t ppid, uint64_t at_ns)
{
	struct proc *parent, *proc = tree_find(p, pid);
	struct process *it;

	if (proc)
		tree_exit(p, proc, at_ns, -1);
	parent = tree_find(p, ppid);
	it = vec_add(&p->trace->processes);
	*it = (struct process){
		.pid = pid,
		.ppid = ppid,
		.parent = parent ? parent->index : NO_INDEX,
		.start_ns = at_ns,
		.exec_ns = UNKNOWN,
		.end_ns = UNKNOWN,
		.status = -1,
	};
	if (parent) {
		const struct process *from = &p->trace->processes.v[parent->index];

		it->name = from->name;
		it->exe = from->exe;
		it->command = from->command;
	}
	proc = xcalloc(1, sizeof(*proc));
	proc->pid = pid;
	proc->ppid = ppid;
	proc->index = (int32_t)p->trace->processes.n - 1;
	HASH_ADD(hh, p->procs, pid, sizeof(proc->pid), proc);
	if (p->tree_by != TREE_BPF)
		thread_new(p, proc, pid, at_ns);
	return proc;
}

void tree_exec(struct probe *p, struct proc *proc, uint64_t at_ns, const char *exe,
	       const char *command)
{
	struct process *it = &p->trace->processes.v[proc->index];
	struct exec_event ev = {
		.process = proc->index,
		.at_ns = at_ns,
		.exe = trace_str(p->trace, exe),
		.command = trace_str(p->trace, command),
	};

	/* The root's barrier is ours: its time begins with its first exec. */
	if (proc->index == 0 && it->exec_ns == UNKNOWN)
		it->start_ns = at_ns;
	it->exec_ns = at_ns;
	it->exe = ev.exe;
	it->command = ev.command;
	proc->exe_wanted = !exe;
	vec_push(&p->trace->execs, ev);
}

void tree_exit(struct probe *p, struct proc *proc, uint64_t at_ns, int32_t status)
{
	struct process *it = &p->trace->processes.v[proc->index];

	it->end_ns = at_ns;
	it->status = status;
	maps_exit(p, proc->pid, at_ns);
	drop(p, proc);
}

void tree_gone(struct probe *p, struct proc *proc, uint64_t at_ns)
{
	struct proc_stat st;
	int32_t status = -1;

	/* As long as nobody waited for it, the kernel still shows how it ended. */
	if (proc_stat(proc->pid, &st) == 0 && st.state == 'Z')
		status = st.exit_code;
	tree_exit(p, proc, at_ns, status);
}

void tree_mapped(struct probe *p, int32_t pid, const char *path)
{
	struct proc *proc = tree_find(p, pid);
	struct process *it;

	if (!proc || !proc->exe_wanted)
		return;
	proc->exe_wanted = false;
	it = &p->trace->processes.v[proc->index];
	it->exe = path;
	for (size_t i = p->trace->execs.n; i-- > 0;)
		if (p->trace->execs.v[i].process == proc->index) {
			p->trace->execs.v[i].exe = path;
			break;
		}
}

void tree_name(struct probe *p, struct proc *proc, const char *name)
{
	struct process *it = &p->trace->processes.v[proc->index];

	/* The kernel keeps 15 bytes of a name: the longer title that begins so is the same. */
	if (it->name && strlen(name) >= 15 && str_starts(it->name, name))
		return;
	if (!it->name || strcmp(it->name, name) != 0)
		it->name = trace_str(p->trace, name);
}

void tree_free(struct probe *p)
{
	struct proc *proc, *next;

	HASH_ITER (hh, p->procs, proc, next)
		drop(p, proc);
}
