/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel programs: load each that the kernel takes,
 * attach, and turn their records into the trace.
 */
#include "probe/inside.h"

#include <errno.h>

#ifndef HAVE_BPF
int bpf_open(struct probe *p, const char **ret_program)
{
	(void)p;
	(void)ret_program;
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
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "model/model.h"
#include "wire/kernel.h"

#include <coldprof.skel.h>

#define FAULT_EVENTS  3
#define FACT_PROGRAMS 3

/* A program that the kernel did not take. */
struct refusal {
	char name[32];
	int rc;
};

struct bpf {
	struct coldprof_bpf *skel;
	struct ring_buffer *ring;
	int fault_fds[FAULT_EVENTS];
	VEC(struct refusal) refusals;
};

/* Which facts need which programs: all of a row's must be attached, or none is. */
static const struct {
	unsigned saw;
	const char *what;
	const char *programs[FACT_PROGRAMS];
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
static char refused[32];

__attribute__((format(printf, 2, 0))) static int hear(enum libbpf_print_level level,
						      const char *format, va_list ap)
{
	char line[512], name[32];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), format, ap);
	if (getenv("COLDPROF_BPF_DEBUG"))
		fprintf(stderr, "%s", line);
	if (!refused[0] && sscanf(line, "libbpf: prog '%31[^']'", name) == 1)
		snprintf(refused, sizeof(refused), "%s", name);
	return 0;
}

static int set_constants(struct probe *p, struct coldprof_bpf *skel)
{
	int i;

	if (!p->trace->pid_ns)
		return -ENOENT; /* no /proc */
	skel->rodata->pidns_inum = p->trace->pid_ns;
	skel->rodata->bpf_o_direct = O_DIRECT;
	skel->rodata->wake_bytes = 1 << 20;
	for (i = 0; i < 2; i++) {
		skel->rodata->log_dev[i] = p->opt.log_dev[i];
		/* No file has inode ~0. */
		skel->rodata->log_ino[i] = p->opt.log_ino[i] ? p->opt.log_ino[i] : UINT64_MAX;
	}
	return 0;
}

static int refusal_of(const struct bpf *b, const char *name)
{
	vec_for_each (r, &b->refusals)
		if (strcmp(r->name, name) == 0)
			return r->rc;
	return 0;
}

static void refuse(struct bpf *b, const char *name, int rc)
{
	struct refusal *r = vec_add(&b->refusals);

	snprintf(r->name, sizeof(r->name), "%s", name);
	r->rc = rc;
}

/* For tests: programs that are to be missing, as if the kernel had refused them. */
static void refuse_asked(struct bpf *b)
{
	const char *names = getenv("COLDPROF_BPF_WITHOUT");
	char name[32];
	int n;

	for (; names && sscanf(names, " %31s%n", name, &n) == 1; names += n)
		refuse(b, name, -EPERM);
}

/*
 * Load with every program that the kernel takes; those that it refuses are added to the refusals. Without `finish` what
 * threads gather would be missing as far as they live: a part of the bytes, shown as all of them.
 */
static int load(struct probe *p, const char **ret_program)
{
	struct bpf_program *prog;
	int rc;

	refuse_asked(p->bpf);
	for (;;) {
		struct coldprof_bpf *skel;

		*ret_program = "finish";
		rc = refusal_of(p->bpf, *ret_program);
		if (rc)
			return rc;
		*ret_program = NULL;
		skel = coldprof_bpf__open();
		if (!skel)
			return -errno;
		rc = set_constants(p, skel);
		bpf_object__for_each_program(
			prog, skel->obj) if (refusal_of(p->bpf, bpf_program__name(prog)))
			bpf_program__set_autoload(prog, false);
		refused[0] = '\0';
		if (rc == 0)
			rc = coldprof_bpf__load(skel);
		if (rc == 0) {
			p->bpf->skel = skel;
			return 0;
		}
		coldprof_bpf__destroy(skel);
		if (!refused[0] || refusal_of(p->bpf, refused))
			return rc;
		refuse(p->bpf, refused, rc);
	}
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

/* Where the skeleton keeps the program's link; NULL when there is no such program. */
static struct bpf_link **link_of(struct coldprof_bpf *skel, const struct bpf_program *prog)
{
	for (size_t i = 0; i < (size_t)skel->skeleton->prog_cnt; i++)
		if (*skel->skeleton->progs[i].prog == prog)
			return skel->skeleton->progs[i].link;
	return NULL;
}

static int attach_one(struct probe *p, const char *name)
{
	struct coldprof_bpf *skel = p->bpf->skel;
	struct bpf_program *prog = bpf_object__find_program_by_name(skel->obj, name);
	struct bpf_link **link = link_of(skel, prog);
	int rc = refusal_of(p->bpf, name);

	if (rc)
		return rc;
	if (!link)
		return -ENOENT;
	if (prog == skel->progs.fault_start)
		return attach_faults(p, prog, 0, PERF_COUNT_SW_PAGE_FAULTS);
	if (prog == skel->progs.fault_end_minor)
		return attach_faults(p, prog, 1, PERF_COUNT_SW_PAGE_FAULTS_MIN);
	if (prog == skel->progs.fault_end_major)
		return attach_faults(p, prog, 2, PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	*link = bpf_program__attach(prog);
	return *link ? 0 : -errno;
}

static void close_fault_events(struct bpf *b)
{
	for (int i = 0; i < FAULT_EVENTS; i++) {
		if (b->fault_fds[i] >= 0)
			close(b->fault_fds[i]);
		b->fault_fds[i] = -1;
	}
}

static void detach_one(struct probe *p, const char *name)
{
	struct coldprof_bpf *skel = p->bpf->skel;
	struct bpf_program *prog = bpf_object__find_program_by_name(skel->obj, name);
	struct bpf_link **link = link_of(skel, prog);

	if (prog == skel->progs.fault_start)
		close_fault_events(p->bpf);
	bpf_link__destroy(*link);
	*link = NULL;
}

/* Half a fact is worse than none: a fallback tells it again. Returns: 0, or -errno and `ret_program`. */
static int attach_fact(struct probe *p, const char *const programs[FACT_PROGRAMS],
		       const char **ret_program)
{
	int rc = 0, n;

	for (n = 0; n < FACT_PROGRAMS && programs[n]; n++) {
		rc = attach_one(p, programs[n]);
		if (rc < 0)
			break;
	}
	if (rc < 0) {
		*ret_program = programs[n];
		while (n-- > 0)
			detach_one(p, programs[n]);
	}
	return rc;
}

/* Returns: 0, or -errno and `ret_program` when the kernel let no fact be observed. */
static int attach(struct probe *p, const char **ret_program)
{
	const char *program[FACTS];
	int rc[FACTS];
	size_t attached = 0, i;

	for (i = 0; i < FACTS; i++) {
		rc[i] = attach_fact(p, facts[i].programs, &program[i]);
		attached += rc[i] == 0;
	}
	if (!attached) {
		*ret_program = program[0];
		return rc[0];
	}
	for (i = 0; i < FACTS; i++) {
		if (rc[i] == 0)
			p->trace->saw |= facts[i].saw;
		else
			trace_note(p->trace, "bpf", "warning", UNKNOWN,
				   "%s: not observed by the kernel (program %s: %s)", facts[i].what,
				   program[i], strerror(-rc[i]));
	}
	return 0;
}

/* The root waits at its barrier: it is observed from its first step on. */
static int add_root(struct probe *p)
{
	struct bpf_map *threads = p->bpf->skel->maps.threads;
	struct kernel_thread *entry = xcalloc(1, bpf_map__value_size(threads));
	int fd = (int)syscall(SYS_pidfd_open, p->opt.root_pid, 0), rc = 0;

	entry->pid = entry->tid = p->opt.root_pid;
	if (fd < 0 || bpf_map_update_elem(bpf_map__fd(threads), &fd, entry, BPF_NOEXIST) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	free(entry);
	return rc;
}

int bpf_open(struct probe *p, const char **ret_program)
{
	/* Edge-triggered: that the ring is not quite empty must not keep coldprof awake, only what
	 * wakes it. */
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
	libbpf_print_fn_t before = libbpf_set_print(hear);
	int rc, i;

	p->bpf = xcalloc(1, sizeof(*p->bpf));
	for (i = 0; i < FAULT_EVENTS; i++)
		p->bpf->fault_fds[i] = -1;
	rc = load(p, ret_program);
	if (rc == 0) {
		ev.data.fd = bpf_map__fd(p->bpf->skel->maps.records);
		p->bpf->ring = ring_buffer__new(ev.data.fd, records_take, p, NULL);
		rc = p->bpf->ring ? add_root(p) : -errno;
	}
	if (rc == 0)
		rc = attach(p, ret_program);
	libbpf_set_print(before);
	if (rc == 0 && epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0)
		rc = -errno;
	if (rc < 0) {
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
		trace_note(p->trace, "bpf", "loss", n, "threads for which the kernel had no memory");
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

/* Let the program go over all tasks; it shows nothing. Returns: 0 or -errno. */
static int run_finish(struct probe *p)
{
	struct bpf_link *link = bpf_program__attach_iter(p->bpf->skel->progs.finish, NULL);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1, rc = 0;
	char nothing[8];

	if (fd < 0 || read(fd, nothing, sizeof(nothing)) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return rc;
}

void bpf_finish(struct probe *p)
{
	uint64_t faults;
	int rc;

	if (!p->bpf)
		return;
	p->bpf->skel->bss->detached = 1;
	faults = event_count(p);
	close_fault_events(p->bpf);
	coldprof_bpf__detach(p->bpf->skel);
	ring_buffer__consume(p->bpf->ring);
	rc = run_finish(p);
	if (rc < 0)
		trace_note(p->trace, "bpf", "warning", UNKNOWN,
			   "the last pieces of living threads are missing: %s", strerror(-rc));
	ring_buffer__consume(p->bpf->ring);
	report(p, faults);
}

void bpf_close(struct probe *p)
{
	if (!p->bpf)
		return;
	ring_buffer__free(p->bpf->ring);
	coldprof_bpf__destroy(p->bpf->skel);
	vec_free(&p->bpf->refusals);
	free(p->bpf);
	p->bpf = NULL;
}
#endif
