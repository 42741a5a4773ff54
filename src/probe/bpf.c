/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel programs: load each that the kernel takes, attach, and turn their records into the
 * trace. */
#include "probe/inside.h"

#include <errno.h>

#ifndef HAVE_BPF
int bpf_open(struct probe *p)
{
	(void)p;
	return -ENOSYS;
}

void bpf_drain(struct probe *p)
{
	(void)p;
}

void bpf_finish(struct probe *p)
{
	(void)p;
}

void bpf_close(struct probe *p)
{
	(void)p;
}
#else
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "model/model.h"
#include "wire/kernel.h"

#include "bpf/coldprof.skel.h"

#define FAULT_EVENTS 3

struct bpf {
	struct coldprof_bpf *skel;
	struct ring_buffer *ring;
	int fault_fds[FAULT_EVENTS];
	uint64_t records, bytes;
	uint64_t strays; /* of processes that are not known, or not any more */
};

/* Which facts need which programs: all of a row's must be attached. */
static const struct {
	unsigned saw;
	const char *what;
	const char *programs[3];
} facts[] = {
	{SAW_TREE, "the process tree", {"tree_fork", "tree_exec", "tree_exit"}},
	{0, "names of processes", {"tree_rename"}},
	{SAW_READS | SAW_LOG, "reads and log lines", {"io_sys_enter", "io_sys_exit"}},
	{SAW_FILLS, "page-cache fills", {"fill_add"}},
	{SAW_TIMES, "what threads do", {"times_switch", "times_wakeup", "times_wakeup_new"}},
	{SAW_LISTEN, "listening sockets", {"listen_state"}},
	{SAW_FAULTS | SAW_WAITS,
	 "page faults",
	 {"fault_start", "fault_end_minor", "fault_end_major"}},
};

#define FACTS (sizeof(facts) / sizeof(facts[0]))

/* libbpf's words about the last failure: the program it was loading. Set while a load runs. */
static char refused[64];

static int hear(enum libbpf_print_level level, const char *format, va_list ap)
{
	char line[512], name[64];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), format, ap);
	if (getenv("COLDPROF_BPF_DEBUG"))
		fprintf(stderr, "%s", line);
	if (!refused[0] && sscanf(line, "libbpf: prog '%63[^']'", name) == 1)
		snprintf(refused, sizeof(refused), "%s", name);
	return 0;
}

static int set_constants(struct probe *p, struct coldprof_bpf *skel)
{
	struct stat st;
	int i;

	if (stat("/proc/self/ns/pid", &st) < 0)
		return -errno;
	skel->rodata->pidns_inum = (uint32_t)st.st_ino;
	skel->rodata->root_pid = p->opt.root_pid;
	skel->rodata->bpf_o_direct = O_DIRECT;
	skel->rodata->wake_bytes = 1 << 20;
	for (i = 0; i < 2; i++) {
		skel->rodata->log_dev[i] = p->opt.log_dev[i];
		/* No file has inode ~0. */
		skel->rodata->log_ino[i] = p->opt.log_ino[i] ? p->opt.log_ino[i] : UINT64_MAX;
	}
	return 0;
}

/* Load with every program that the kernel takes; names that it refused are added to `left_out`. */
static int load(struct probe *p, struct coldprof_bpf **ret_skel, struct str *left_out)
{
	struct coldprof_bpf *skel;
	struct bpf_program *prog;
	char out[1024];
	int rc, tries;

	for (tries = 0; tries < 20; tries++) {
		skel = coldprof_bpf__open();
		if (!skel)
			return -errno;
		rc = set_constants(p, skel);
		bpf_object__for_each_program(prog, skel->obj)
		{
			snprintf(out, sizeof(out), " %s ", bpf_program__name(prog));
			if (strstr(str_get(left_out), out))
				bpf_program__set_autoload(prog, false);
		}
		refused[0] = '\0';
		if (rc == 0)
			rc = coldprof_bpf__load(skel);
		if (rc == 0) {
			*ret_skel = skel;
			return 0;
		}
		coldprof_bpf__destroy(skel);
		if (!refused[0])
			return rc;
		str_addf(left_out, " %s ", refused);
		trace_note(p->trace, "bpf", "warning", UNKNOWN,
			   "the kernel refused the program %s: %s", refused, strerror(-rc));
	}
	return -E2BIG;
}

static int attach_faults(struct probe *p, struct bpf_program *prog, int slot, uint64_t config)
{
	struct perf_event_attr attr;
	struct bpf_link *link;
	int fd;

	perf_attr(&attr, config);
	attr.sample_type = PERF_SAMPLE_ADDR;
	attr.sample_id_all = 0;
	fd = perf_event(&attr, p->opt.root_pid, -1);
	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event(prog, fd);
	if (!link) {
		close(fd);
		return -errno;
	}
	/* The link closes the descriptor: keep one to read the event's own count. */
	p->bpf->fault_fds[slot] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	switch (slot) {
	case 0:
		p->bpf->skel->links.fault_start = link;
		break;
	case 1:
		p->bpf->skel->links.fault_end_minor = link;
		break;
	default:
		p->bpf->skel->links.fault_end_major = link;
	}
	return 0;
}

static int attach_one(struct probe *p, const char *name)
{
	struct coldprof_bpf *skel = p->bpf->skel;
	struct bpf_program *prog = bpf_object__find_program_by_name(skel->obj, name);
	size_t i;

	if (!prog || bpf_program__fd(prog) < 0)
		return -ENOENT;
	if (prog == skel->progs.fault_start)
		return attach_faults(p, prog, 0, PERF_COUNT_SW_PAGE_FAULTS);
	if (prog == skel->progs.fault_end_minor)
		return attach_faults(p, prog, 1, PERF_COUNT_SW_PAGE_FAULTS_MIN);
	if (prog == skel->progs.fault_end_major)
		return attach_faults(p, prog, 2, PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	for (i = 0; i < (size_t)skel->skeleton->prog_cnt; i++)
		if (*skel->skeleton->progs[i].prog == prog) {
			*skel->skeleton->progs[i].link = bpf_program__attach(prog);
			return *skel->skeleton->progs[i].link ? 0 : -errno;
		}
	return -ENOENT;
}

static void attach(struct probe *p)
{
	size_t i, j;

	for (i = 0; i < FACTS; i++) {
		int rc = 0;

		for (j = 0; j < 3 && facts[i].programs[j] && rc == 0; j++)
			rc = attach_one(p, facts[i].programs[j]);
		if (rc == 0)
			p->trace->saw |= facts[i].saw;
		else
			trace_note(p->trace, "bpf", "warning", UNKNOWN,
				   "%s: not observed by the kernel (%s)", facts[i].what,
				   strerror(-rc));
	}
}

static int on_record(void *arg, void *data, size_t size);

int bpf_open(struct probe *p)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct str left_out = {0};
	struct coldprof_bpf *skel;
	libbpf_print_fn_t before;
	int rc, i;

	before = libbpf_set_print(hear);
	rc = load(p, &skel, &left_out);
	str_free(&left_out);
	if (rc < 0) {
		libbpf_set_print(before);
		return rc;
	}
	p->bpf = xcalloc(1, sizeof(*p->bpf));
	p->bpf->skel = skel;
	for (i = 0; i < FAULT_EVENTS; i++)
		p->bpf->fault_fds[i] = -1;
	p->bpf->ring = ring_buffer__new(bpf_map__fd(skel->maps.records), on_record, p, NULL);
	if (!p->bpf->ring) {
		rc = -errno;
		libbpf_set_print(before);
		bpf_close(p);
		return rc;
	}
	attach(p);
	libbpf_set_print(before);
	ev.data.fd = ring_buffer__epoll_fd(p->bpf->ring);
	if (epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0) {
		rc = -errno;
		bpf_close(p);
		return rc;
	}
	if (p->trace->saw & SAW_TREE)
		p->tree_by = TREE_BPF;
	if (!p->opt.log_ino[0] && !p->opt.log_ino[1])
		p->trace->saw &= ~(unsigned)SAW_LOG;
	return 0;
}

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
	while (n-- > 0)
		str_addf(room, "/%s", at[n]);
	return str_get(room);
}

static void on_exec(struct probe *p, struct proc *proc, const struct kernel_exec *r)
{
	char *command = procfs_mask(r->command, r->command_bytes);
	struct str path = {0};

	tree_exec(p, proc, r->head.at_ns, path_text(&r->path, &path), command);
	free(command);
	tree_name(p, proc, r->comm);
	files_get(p, r->dev, r->ino, str_get(&path));
	str_free(&path);
}

static void on_listen(struct probe *p, struct proc *proc, const struct kernel_listen *r)
{
	char address[INET6_ADDRSTRLEN] = "";

	inet_ntop(r->family == AF_INET6 ? AF_INET6 : AF_INET, r->address, address, sizeof(address));
	listen_add(p, proc->index, (uint16_t)r->head.value, r->head.at_ns, address);
}

static void on_faults(struct probe *p, struct proc *proc, const struct kernel_faults *r)
{
	struct fault_piece f = {
		.process = proc->index,
		.pid = r->head.pid,
		.tid = r->head.tid,
		.start_ns = r->head.at_ns,
		.end_ns = r->end_ns,
		.min_address = r->min_address,
		.max_address = r->max_address,
		.wait_ns = r->wait_ns,
		.fill_bytes = r->fill_bytes,
		.dev = r->dev,
		.ino = r->ino,
		.faults = r->faults,
	};

	vec_push(&p->pending, f);
}

static void on_populate(struct probe *p, struct proc *proc, const struct kernel_populate *r)
{
	struct fault_piece f = {
		.process = proc->index,
		.pid = r->head.pid,
		.tid = r->head.tid,
		.start_ns = r->head.at_ns,
		.end_ns = r->end_ns,
		.min_address = r->address,
		.max_address = r->address + r->bytes,
		.fill_bytes = r->fill_bytes,
		.dev = r->dev,
		.ino = r->ino,
		.offset = r->offset,
		.from_call = r->from_call,
		.populate = true,
	};

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
						  : IO_READ,
		.source = SOURCE_BPF,
		.start_ns = r->head.at_ns,
		.end_ns = r->end_ns,
		.ops = r->ops,
		.bytes = r->bytes,
		.storage_bytes = r->mode == KERNEL_WRITE ? 0 : r->fill_bytes,
		.busy_ns = r->busy_ns,
		.min_offset = r->min_offset,
		.max_offset = r->ops ? r->max_offset : UNKNOWN,
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
	case KERNEL_NAME:
		tree_name(p, proc, ((const struct kernel_name *)data)->comm);
		break;
	case KERNEL_LISTEN:
		on_listen(p, proc, data);
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

static int on_record(void *arg, void *data, size_t size)
{
	const struct kernel_head *head = data;
	struct probe *p = arg;
	struct proc *proc;

	p->bpf->records++;
	p->bpf->bytes += size;
	if (head->kind == KERNEL_PATH) {
		on_path(p, data);
		return 0;
	}
	if (head->kind == KERNEL_FORK) {
		if (p->tree_by == TREE_BPF)
			tree_fork(p, head->pid, (int32_t)head->value, head->at_ns);
		return 0;
	}
	if (p->tree_by != TREE_BPF && (head->kind == KERNEL_EXEC || head->kind == KERNEL_EXIT))
		return 0;
	proc = tree_find(p, head->pid);
	if (proc)
		on_proc_record(p, proc, data);
	else
		p->bpf->strays++;
	return 0;
}

void bpf_drain(struct probe *p)
{
	if (p->bpf)
		ring_buffer__consume(p->bpf->ring);
}

static uint64_t counter(struct probe *p, uint32_t which)
{
	int cpus = libbpf_num_possible_cpus(), i;
	uint64_t sum = 0, *values;

	if (cpus <= 0)
		return 0;
	values = xcalloc((size_t)cpus, sizeof(*values));
	if (bpf_map_lookup_elem(bpf_map__fd(p->bpf->skel->maps.counters), &which, values) == 0)
		for (i = 0; i < cpus; i++)
			sum += values[i];
	free(values);
	return sum;
}

/* Faults as the events themselves counted them. */
static uint64_t event_count(struct probe *p)
{
	uint64_t sum = 0, n;
	int i;

	for (i = 1; i < FAULT_EVENTS; i++)
		if (p->bpf->fault_fds[i] >= 0 &&
		    read(p->bpf->fault_fds[i], &n, sizeof(n)) == sizeof(n))
			sum += n;
	return sum;
}

static void report(struct probe *p, uint64_t faults)
{
	uint64_t ends = counter(p, KERNEL_FAULT_ENDS), n;

	if ((n = counter(p, KERNEL_LOST_RECORDS)))
		trace_note(p->trace, "bpf", "loss", n, "records that found a full ring");
	if ((n = counter(p, KERNEL_LOST_THREADS)))
		trace_note(p->trace, "bpf", "loss", n, "threads that found a full table");
	if ((n = counter(p, KERNEL_FAULTS_UNTIMED)))
		trace_note(p->trace, "bpf", "info", n, "page faults whose start was not seen");
	/* A few come after the end of their thread. */
	if (faults > ends)
		trace_note(p->trace, "bpf", faults - ends > faults / 100 ? "loss" : "info",
			   faults - ends, "page faults that no program saw");
	if (p->bpf->strays)
		trace_note(p->trace, "bpf", "loss", p->bpf->strays, "records of unknown processes");
	trace_note(p->trace, "bpf", "info", p->bpf->records, "records from the kernel");
	trace_note(p->trace, "bpf", "info", p->bpf->bytes, "bytes of records from the kernel");
}

void bpf_finish(struct probe *p)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int rc = -ENOENT, i;
	uint64_t faults;

	if (!p->bpf)
		return;
	p->bpf->skel->bss->detached = 1;
	faults = event_count(p);
	for (i = 0; i < FAULT_EVENTS; i++)
		if (p->bpf->fault_fds[i] >= 0)
			close(p->bpf->fault_fds[i]);
	coldprof_bpf__detach(p->bpf->skel);
	ring_buffer__consume(p->bpf->ring);
	if (bpf_program__fd(p->bpf->skel->progs.finish) >= 0)
		rc = bpf_prog_test_run_opts(bpf_program__fd(p->bpf->skel->progs.finish), &opts);
	if (rc < 0)
		trace_note(p->trace, "bpf", "warning", UNKNOWN,
			   "the last pieces of living threads are missing: %s", strerror(errno));
	ring_buffer__consume(p->bpf->ring);
	report(p, faults);
}

void bpf_close(struct probe *p)
{
	if (!p->bpf)
		return;
	ring_buffer__free(p->bpf->ring);
	coldprof_bpf__destroy(p->bpf->skel);
	free(p->bpf);
	p->bpf = NULL;
}
#endif
