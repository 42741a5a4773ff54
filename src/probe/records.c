/* SPDX-License-Identifier: Apache-2.0 */
/* The records of the kernel programs become the trace. */
#include "probe/inside.h"

#include <arpa/inet.h>
#include <linux/magic.h>
#include <stdlib.h>

#include "base/mask.h"
#include "base/str.h"
#include "model/model.h"
#include "wire/kernel.h"

/* The names of a path come from the file upwards. */
static const char *path_text(const struct kernel_names *names, struct str *room)
{
	const char *at[KERNEL_PATH_BYTES / 2];
	size_t n = 0, i, limit = names->bytes;

	str_clear(room);
	if (limit > sizeof(names->names))
		limit = sizeof(names->names);
	for (i = 0; i < limit && n < sizeof(at) / sizeof(at[0]); i += strlen(names->names + i) + 1)
		at[n++] = names->names + i;
	if (names->cut)
		str_add(room, "/...");
	while (n-- > 0) {
		str_add(room, "/");
		str_add(room, at[n]);
	}
	return str_get(room);
}

static void on_fork(struct probe *p, const struct kernel_fork *r)
{
	struct proc *proc = tree_fork(p, r->head.pid, (int32_t)r->head.value, r->head.at_ns);

	pidns_set(p, proc, r->pid_ns, r->number);
	if (p->faults_by_file)
		maps_fork(p, (int32_t)r->head.value, r->head.pid, r->head.at_ns);
}

static void on_thread(struct probe *p, struct proc *proc, const struct kernel_fork *r)
{
	struct thread_number n = {proc->index, r->head.tid, r->number};

	vec_push(&p->trace->numbers, n);
}

static void on_exec(struct probe *p, struct proc *proc, const struct kernel_exec *r)
{
	char *command = mask_words(r->command, r->command_bytes);
	struct str path = {0};

	tree_exec(p, proc, r->head.at_ns, path_text(&r->path, &path), command);
	free(command);
	tree_name(p, proc, r->comm);
	files_get(p, r->dev, r->ino, str_get(&path));
	if (p->faults_by_file)
		maps_exec(p, proc->pid, r->head.at_ns);
	str_free(&path);
}

static void on_listen(struct probe *p, struct proc *proc, const struct kernel_listen *r)
{
	char address[INET6_ADDRSTRLEN] = "";

	inet_ntop(r->family == AF_INET6 ? AF_INET6 : AF_INET, r->address, address, sizeof(address));
	listen_add(p, proc->index, (uint16_t)r->head.value, r->head.at_ns, 0, address);
}

static struct fault_piece piece(const struct proc *proc, const struct kernel_head *head,
				uint64_t end_ns)
{
	return (struct fault_piece){
		.process = proc->index,
		.pid = head->pid,
		.tid = head->tid,
		.start_ns = head->at_ns,
		.end_ns = end_ns,
	};
}

static void on_faults(struct probe *p, struct proc *proc, const struct kernel_faults *r)
{
	struct fault_piece f = piece(proc, &r->head, r->end_ns);

	f.min_address = r->min;
	f.max_address = r->max;
	f.wait_ns = r->wait_ns;
	f.fill_bytes = r->fill_bytes;
	f.dev = r->dev;
	f.ino = r->ino;
	f.faults = r->faults;
	if (r->by_file)
		access_mapped(p, &f);
	else if (p->faults_by_file)
		access_huge(p, &f);
	else
		vec_push(&p->pending, f);
}

static void on_map(struct probe *p, const struct kernel_map *r)
{
	maps_add(p, r->head.pid, r->head.at_ns, r->address, r->bytes, r->offset,
		 files_get(p, r->dev, r->ino, NULL));
}

static void on_populate(struct probe *p, struct proc *proc, const struct kernel_populate *r)
{
	struct fault_piece f = piece(proc, &r->head, r->end_ns);

	f.min_address = r->address;
	f.max_address = r->address + r->bytes;
	f.fill_bytes = r->fill_bytes;
	f.dev = r->dev;
	f.ino = r->ino;
	f.offset = r->offset;
	f.from_call = r->from_call;
	f.populate = true;
	if (p->faults_by_file && f.from_call)
		maps_add(p, f.pid, f.end_ns, r->address, r->bytes, r->offset,
			 files_get(p, r->dev, r->ino, NULL));
	vec_push(&p->pending, f);
}

static void on_io(struct probe *p, struct proc *proc, const struct kernel_io *r)
{
	struct access a = {
		.process = proc->index,
		.tid = r->head.tid,
		.file = files_get(p, r->dev, r->ino, NULL),
		.mode = r->mode == KERNEL_DIRECT  ? IO_DIRECT
			: r->mode == KERNEL_WRITE ? IO_WRITE
			: r->mode == KERNEL_FILL  ? 0
						  : IO_READ,
		.source = SOURCE_BPF,
		.start_ns = r->head.at_ns,
		.end_ns = r->end_ns,
		.ops = r->ops,
		.bytes = r->bytes,
		.storage_bytes = r->mode == KERNEL_WRITE ? 0 : r->fill_bytes,
		/* When a request of io_uring began is not known. */
		.busy_ns = r->busy_ns || !r->ops ? r->busy_ns : UNKNOWN,
		.min_offset = r->min_offset, /* UNKNOWN where the call told none */
		.max_offset = r->min_offset == UNKNOWN ? UNKNOWN : r->max_offset,
	};

	vec_push(&p->trace->accesses, a);
}

static void on_times(struct probe *p, struct proc *proc, const struct kernel_times *r)
{
	struct thread_time t = {
		.process = proc->index,
		.tid = r->head.tid,
		.start_ns = r->head.at_ns,
		.end_ns = r->end_ns,
		.cpu_ns = r->cpu_ns,
		.runnable_ns = r->runnable_ns,
		.io_wait_ns = r->io_wait_ns,
		.sleep_ns = r->sleep_ns,
		.yields = r->yields,
	};

	times_add(p, &t);
}

static void on_path(struct probe *p, const struct kernel_path *r)
{
	struct str path = {0};
	int32_t file = files_get(p, r->dev, r->ino, path_text(&r->path, &path));

	p->trace->files.v[file].size_bytes = r->size_bytes;
	if (r->magic == OVERLAYFS_SUPER_MAGIC)
		files_alias(p, r->ino, file);
	str_free(&path);
}

static void on_proc_record(struct probe *p, struct proc *proc, const void *data)
{
	const struct kernel_head *head = data;

	switch (head->kind) {
	case KERNEL_EXEC:
		on_exec(p, proc, data);
		break;
	case KERNEL_EXIT:
		tree_exit(p, proc, head->at_ns, (int32_t)head->value);
		break;
	case KERNEL_THREAD:
		on_thread(p, proc, data);
		break;
	case KERNEL_NAME:
		tree_name(p, proc, ((const struct kernel_name *)data)->comm);
		break;
	case KERNEL_LISTEN:
		on_listen(p, proc, data);
		break;
	case KERNEL_MAP:
		on_map(p, data);
		break;
	case KERNEL_FAULTS:
		on_faults(p, proc, data);
		break;
	case KERNEL_IO:
		on_io(p, proc, data);
		break;
	case KERNEL_POPULATE:
		on_populate(p, proc, data);
		break;
	case KERNEL_TIMES:
		/* Else the sampler tells them, and the ends of threads know nothing of their waits. */
		if (p->trace->saw & SAW_TIMES)
			on_times(p, proc, data);
		break;
	case KERNEL_LOG: {
		const struct kernel_log *r = data;

		log_add(p, proc->index, (int32_t)head->value, head->at_ns, r->text, r->bytes);
		if (r->cut)
			log_add(p, proc->index, (int32_t)head->value, head->at_ns, "\n", 1);
		break;
	}
	}
}

int records_take(void *arg, void *data, size_t size)
{
	const struct kernel_head *head = data;
	struct probe *p = arg;
	struct proc *proc;

	p->records++;
	p->record_bytes += size;
	if (head->kind == KERNEL_PATH) {
		on_path(p, data);
		return 0;
	}
	if (head->kind == KERNEL_FORK) {
		if (p->tree_by == TREE_BPF)
			on_fork(p, data);
		return 0;
	}
	if (p->tree_by != TREE_BPF && (head->kind == KERNEL_EXEC || head->kind == KERNEL_EXIT))
		return 0;
	proc = tree_find(p, head->pid);
	if (proc)
		on_proc_record(p, proc, data);
	else
		p->record_strays++;
	return 0;
}
