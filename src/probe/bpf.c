/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel programs: load each that the kernel takes,
 * attach, and turn their records into the trace.
 */
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
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "model/model.h"
#include "wire/kernel.h"

#include <coldprof.skel.h>

#define FAULT_EVENTS 3

struct bpf {
	struct coldprof_bpf *skel;
	struct ring_buffer *ring;
	int fault_fds[FAULT_EVENTS];
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

__attribute__((format(printf, 2, 0))) static int hear(enum libbpf_print_level level,
						      const char *format, va_list ap)
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
	int i;

	if (!p->trace->pid_ns)
		return -ENOENT; /* no /proc */
	skel->rodata->pidns_inum = p->trace->pid_ns;
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

int bpf_open(struct probe *p)
{
	/* Edge-triggered: that the ring is not quite empty must not keep coldprof awake, only what
	 * wakes it. */
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
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
	p->bpf->ring = ring_buffer__new(bpf_map__fd(skel->maps.records), records_take, p, NULL);
	if (!p->bpf->ring) {
		rc = -errno;
		libbpf_set_print(before);
		bpf_close(p);
		return rc;
	}
	attach(p);
	libbpf_set_print(before);
	ev.data.fd = bpf_map__fd(skel->maps.records);
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

	if ((n = counter(p, KERNEL_LOST_RECORDS))) {
		p->trace->tree_lost = true;
		trace_note(p->trace, "bpf", "loss", n, "records that found a full ring");
	}
	if ((n = counter(p, KERNEL_LOST_THREADS))) {
		p->trace->tree_lost = true;
		trace_note(p->trace, "bpf", "loss", n, "threads that found a full table");
	}
	if ((n = counter(p, KERNEL_FAULTS_UNTIMED)))
		trace_note(p->trace, "bpf", "info", n, "page faults whose start was not seen");
	/* A few come after the end of their thread. */
	if (faults > ends)
		trace_note(p->trace, "bpf", faults - ends > faults / 100 ? "loss" : "info",
			   faults - ends, "page faults that no program saw");
	if (p->record_strays)
		trace_note(p->trace, "bpf", "loss", p->record_strays,
			   "records of unknown processes");
	trace_note(p->trace, "bpf", "info", p->records, "records from the kernel");
	trace_note(p->trace, "bpf", "info", p->record_bytes, "bytes of records from the kernel");
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
