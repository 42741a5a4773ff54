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

#include <uncast.skel.h>

#include "base/clock.h"
#include "base/str.h"
#include "model/model.h"
#include "probe/bpf.h"
#include "wire/kernel.h"

#define FACT_PROGRAMS 4

/* Which way of seeing faults a program belongs to. */
enum way { BOTH, BY_ADDRESS, BY_FILE };

/* Which facts need which programs: all of a row's must be attached, or none is. */
static const struct {
	unsigned saw;
	const char *what;
	const char *programs[FACT_PROGRAMS];
	enum way way;
} facts[] = {
	{SAW_TREE, "the process tree", {"tree_fork", "tree_exec", "tree_exit"}, BOTH},
	{0, "names of processes", {"tree_rename"}, BOTH},
	{SAW_READS | SAW_LOG, "reads and log lines", {"io_sys_enter", "io_sys_exit"}, BOTH},
	{SAW_FILLS, "page-cache fills", {"fill_add"}, BOTH},
	{0, "reads by io_uring", {"uring_complete"}, BOTH},
	{SAW_TIMES, "what threads do", {"times_switch", "times_wakeup", "times_wakeup_new"}, BOTH},
	{SAW_LISTEN, "listening sockets", {"listen_state"}, BOTH},
	{SAW_FAULTS | SAW_WAITS,
	 "page faults",
	 {"fault_start", "fault_end_minor", "fault_end_major"},
	 BY_ADDRESS},
	{SAW_FAULTS | SAW_WAITS,
	 "page faults",
	 {"mapped_fault", "mapped_around", "mapped_begun_user", "mapped_begun_kernel"},
	 BY_FILE},
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
	skel->rodata->began_ns = p->opened_ns;
	skel->rodata->wake_bytes = 1 << 20;
	skel->rodata->log_bytes = 3 << 20;
	skel->rodata->by_file = p->faults_by_file;
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

/* Not the facts of the other way to see faults, which is this one's as long as the kernel takes it. */
static bool is_chosen(const struct probe *p, size_t fact)
{
	return facts[fact].way != (p->faults_by_file ? BY_ADDRESS : BY_FILE);
}

static void choose_programs(struct probe *p, struct coldprof_bpf *skel)
{
	struct bpf_program *prog;

	for (size_t i = 0; i < FACTS; i++)
		for (size_t j = 0; j < FACT_PROGRAMS && facts[i].programs[j]; j++) {
			prog = bpf_object__find_program_by_name(skel->obj, facts[i].programs[j]);
			if (!is_chosen(p, i) || refusal_of(p->bpf, facts[i].programs[j]))
				bpf_program__set_autoload(prog, false);
		}
}

/* By file, unless the kernel is too old or has refused a program for it. */
static void choose_way(struct probe *p)
{
	p->faults_by_file = !p->opt.faults_by_address && !probe_kernel_before(6, 12);
	for (size_t i = 0; i < FACTS; i++)
		for (size_t j = 0; j < FACT_PROGRAMS && facts[i].programs[j]; j++)
			if (facts[i].way == BY_FILE && refusal_of(p->bpf, facts[i].programs[j]))
				p->faults_by_file = false;
}

/* The two skeletons differ in their programs' code alone. */
_Static_assert(sizeof(struct coldprof_uncast) == sizeof(struct coldprof_bpf) &&
		       sizeof(struct coldprof_uncast__rodata) ==
			       sizeof(struct coldprof_bpf__rodata) &&
		       sizeof(struct coldprof_uncast__bss) == sizeof(struct coldprof_bpf__bss),
	       "one skeleton");

/* NULL: failed, errno says why. */
static struct coldprof_bpf *open_skeleton(void)
{
	struct coldprof_bpf *skel;
	int rc;

	if (!probe_kernel_before(6, 2))
		return coldprof_bpf__open();
	skel = calloc(1, sizeof(*skel));
	if (!skel)
		return NULL;
	rc = coldprof_bpf__create_skeleton(skel);
	if (rc == 0) {
		skel->skeleton->data =
			(void *)(uintptr_t)coldprof_uncast__elf_bytes(&skel->skeleton->data_sz);
		rc = bpf_object__open_skeleton(skel->skeleton, NULL);
	}
	if (rc == 0)
		return skel;
	coldprof_bpf__destroy(skel);
	errno = -rc;
	return NULL;
}

/*
 * Load with every program that the kernel takes; those that it refuses are added to the refusals. Without `finish` what
 * threads gather would be missing as far as they live: a part of the bytes, shown as all of them.
 */
static int load(struct probe *p, const char **ret_program)
{
	int rc;

	refuse_asked(p->bpf);
	for (;;) {
		struct coldprof_bpf *skel;

		*ret_program = "finish";
		rc = refusal_of(p->bpf, *ret_program);
		if (rc)
			return rc;
		*ret_program = NULL;
		skel = open_skeleton();
		if (!skel)
			return -errno;
		choose_way(p);
		rc = set_constants(p, skel);
		choose_programs(p, skel);
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

static void detach_one(struct probe *p, const char *name)
{
	struct coldprof_bpf *skel = p->bpf->skel;
	struct bpf_program *prog = bpf_object__find_program_by_name(skel->obj, name);
	struct bpf_link **link = link_of(skel, prog);

	if (prog == skel->progs.fault_start)
		bpf_close_fault_events(p->bpf);
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
		rc[i] = is_chosen(p, i) ? attach_fact(p, facts[i].programs, &program[i])
					: -ECANCELED;
		attached += rc[i] == 0;
	}
	if (!attached) {
		*ret_program = program[0];
		return rc[0];
	}
	for (i = 0; i < FACTS; i++) {
		if (rc[i] == 0)
			p->trace->saw |= facts[i].saw;
		else if (rc[i] != -ECANCELED)
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
	p->faults_by_file = p->faults_by_file && p->trace->saw & SAW_FAULTS;
	if (p->trace->saw & SAW_TREE)
		p->tree_by = TREE_BPF;
	if (!p->opt.log_ino[0] && !p->opt.log_ino[1])
		p->trace->saw &= ~(unsigned)SAW_LOG;
	return 0;
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
