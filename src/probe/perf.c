/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side-band of perf: which process forked, called exec, ended, and which file it mapped where;
 * at tier 0 also each fault's address. One ring a processor, read together in the order of time.
 */
#include "probe/inside.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/model.h"

#define RINGS_BYTES    (16u << 20) /* all rings together, at most */
#define RING_BYTES_MAX (512u << 10)
#define RING_BYTES_MIN (32u << 10)
/* A record of another processor may still be on its way with an earlier time. */
#define SETTLE_NS NS_PER_MS

struct ring {
	struct perf_event_mmap_page *page;
	size_t bytes; /* of the data */
	int fds[3];
	uint64_t head;	  /* of this drain */
	uint64_t next_ns; /* of the record at the tail; UINT64_MAX none */
};

struct perf {
	struct ring *rings;
	int n;
	bool faults;
	uint64_t lost;
	char record[65536];
};

/* What stands behind each record: PERF_SAMPLE_TID and PERF_SAMPLE_TIME. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
};

struct sample {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time, address;
};

struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, bytes, offset;
	uint32_t maj, min;
	uint64_t ino, generation;
	uint32_t prot, flags;
	char path[];
};

struct task {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

struct lost {
	struct perf_event_header header;
	uint64_t id, lost;
};

int perf_event(struct perf_event_attr *attr, int32_t pid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

void perf_attr(struct perf_event_attr *attr, uint64_t config)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = config;
	attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
	attr->sample_period = 1;
	attr->inherit = 1;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

static void attr_sideband(struct perf_event_attr *attr, size_t ring_bytes)
{
	perf_attr(attr, PERF_COUNT_SW_DUMMY);
	attr->exclude_kernel = 1;
	attr->task = attr->comm = attr->comm_exec = attr->mmap = attr->mmap2 = attr->mmap_data = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = (uint32_t)ring_bytes / 4;
}

static int ring_open(struct probe *p, struct ring *r, int cpu, size_t bytes)
{
	/* Edge-triggered: from the end of the root on, its rings are hung up for good. */
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
	struct perf_event_attr attr;
	void *at;

	r->fds[0] = r->fds[1] = r->fds[2] = -1;
	attr_sideband(&attr, bytes);
	r->fds[0] = perf_event(&attr, p->opt.root_pid, cpu);
	if (r->fds[0] < 0)
		return -errno;
	at = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, r->fds[0], 0);
	if (at == MAP_FAILED)
		return -errno;
	r->page = at;
	r->bytes = bytes;
	ev.data.fd = r->fds[0];
	if (epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, r->fds[0], &ev) < 0)
		return -errno;
	return 0;
}

/*
 * Faults as records with their address, into the ring of their processor: each that waited for
 * storage, and of those that did not one of so many, since a start has millions of them, nearly all
 * of memory that is no file's. The period of the one kind tells them apart.
 */
static int ring_faults(struct probe *p, struct ring *r, int cpu)
{
	static const uint64_t kinds[2] = {PERF_COUNT_SW_PAGE_FAULTS_MIN,
					  PERF_COUNT_SW_PAGE_FAULTS_MAJ};
	struct perf_event_attr attr;
	int i;

	for (i = 0; i < 2; i++) {
		perf_attr(&attr, kinds[i]);
		attr.exclude_kernel = 1;
		attr.watermark = 1;
		attr.wakeup_watermark = (uint32_t)r->bytes / 4;
		if (kinds[i] == PERF_COUNT_SW_PAGE_FAULTS_MIN)
			attr.sample_period = FAULTS_SAMPLED;
		else
			attr.sample_type |= PERF_SAMPLE_PERIOD;
		r->fds[i + 1] = perf_event(&attr, p->opt.root_pid, cpu);
		if (r->fds[i + 1] < 0 ||
		    ioctl(r->fds[i + 1], PERF_EVENT_IOC_SET_OUTPUT, r->fds[0]) < 0)
			return -errno;
	}
	return 0;
}

static void ring_close(struct ring *r)
{
	int i;

	if (r->page)
		munmap(r->page, r->bytes + 4096);
	for (i = 0; i < 3; i++)
		if (r->fds[i] >= 0)
			close(r->fds[i]);
}

int perf_open(struct probe *p, bool faults)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t bytes = RING_BYTES_MAX;
	struct perf *perf;
	int rc = 0, cpu;

	while (bytes > RING_BYTES_MIN && bytes * (size_t)cpus > RINGS_BYTES)
		bytes /= 2;
	perf = xcalloc(1, sizeof(*perf));
	perf->rings = xcalloc((size_t)cpus, sizeof(*perf->rings));
	perf->faults = faults;
	p->perf = perf;
	for (cpu = 0; cpu < cpus && rc == 0; cpu++) {
		struct ring *r = &perf->rings[perf->n++];

		rc = ring_open(p, r, cpu, bytes);
		if (rc == 0 && faults)
			rc = ring_faults(p, r, cpu);
		if (rc == -ENODEV) { /* the processor is not online */
			ring_close(r);
			perf->n--;
			rc = 0;
		}
	}
	if (rc < 0)
		perf_close(p);
	return rc;
}

static const struct trailer *trailer_of(const struct perf_event_header *h)
{
	return (const void *)((const char *)h + h->size - sizeof(struct trailer));
}

static uint64_t time_of(const struct perf_event_header *h)
{
	if (h->type == PERF_RECORD_SAMPLE)
		return ((const struct sample *)h)->time;
	return trailer_of(h)->time;
}

/*
 * The record at the ring's tail, whole; NULL when
 * there is none. One that wraps is copied into `room`.
 */
static const struct perf_event_header *ring_peek(const struct ring *r, uint64_t head, char *room)
{
	uint64_t tail = r->page->data_tail, at = tail & (r->bytes - 1);
	const char *data = (const char *)r->page + 4096;
	const struct perf_event_header *h = (const void *)(data + at);

	if (tail >= head)
		return NULL;
	/* Records are multiples of 8 bytes: a header never wraps. */
	if (at + h->size > r->bytes) {
		memcpy(room, h, r->bytes - at);
		memcpy(room + (r->bytes - at), data, h->size - (r->bytes - at));
		h = (const void *)room;
	}
	return h;
}

static void on_mmap(struct probe *p, const struct mmap2 *m, uint64_t at_ns)
{
	uint64_t dev = (uint64_t)m->maj << 20 | m->min;
	int32_t file = NO_INDEX;

	/* Shared anonymous memory and memfds have inodes too; they are nobody's files. */
	if (m->ino && m->path[0] == '/' && strncmp(m->path, "/dev/zero", 9) != 0 &&
	    strncmp(m->path, "/memfd:", 7) != 0 && strncmp(m->path, "/SYSV", 5) != 0)
		file = files_get(p, dev, m->ino, m->path);
	maps_add(p, (int32_t)m->pid, at_ns, m->start, m->bytes, m->offset, file);
	if (file != NO_INDEX && (m->prot & PROT_EXEC))
		tree_mapped(p, (int32_t)m->pid, p->trace->files.v[file].path);
}

static void on_fork(struct probe *p, const struct task *t)
{
	struct proc *proc;

	if (t->pid != t->ppid) {
		if (p->tree_by == TREE_PERF)
			tree_fork(p, (int32_t)t->pid, (int32_t)t->ppid, t->time);
		maps_fork(p, (int32_t)t->ppid, (int32_t)t->pid, t->time);
		return;
	}
	proc = tree_find(p, (int32_t)t->pid);
	if (proc && p->tree_by == TREE_PERF) {
		thread_new(p, proc, (int32_t)t->tid, t->time);
		if (trace_is_foreign(p->trace, &p->trace->processes.v[proc->index]))
			pidns_look(p, proc);
	}
}

/*
 * The first thread may end before the others, also when one
 * of those calls exec: the last one is the process's end.
 */
static void on_exit_record(struct probe *p, const struct task *t)
{
	struct proc *proc = tree_find(p, (int32_t)t->pid);

	if (!proc || p->tree_by != TREE_PERF)
		return;
	thread_gone(p, proc, (int32_t)t->tid);
	if (!proc->threads)
		tree_gone(p, proc, t->time);
}

static void on_comm(struct probe *p, const struct comm *c, uint64_t at_ns)
{
	struct proc *proc;

	if (c->header.misc & PERF_RECORD_MISC_COMM_EXEC)
		maps_exec(p, (int32_t)c->pid, at_ns);
	proc = tree_find(p, (int32_t)c->pid);
	if (!proc || p->tree_by != TREE_PERF || c->pid != c->tid)
		return;
	if (c->header.misc & PERF_RECORD_MISC_COMM_EXEC) {
		char *command = procfs_command((int32_t)c->pid);

		tree_exec(p, proc, at_ns, NULL, command);
		free(command);
		thread_only(p, proc, (int32_t)c->pid, at_ns);
		pidns_look(p, proc);
	}
	tree_name(p, proc, c->name);
}

static void on_record(struct probe *p, const struct perf_event_header *h)
{
	switch (h->type) {
	case PERF_RECORD_SAMPLE: {
		const struct sample *s = (const void *)h;

		access_fault(p, (int32_t)s->pid, (int32_t)s->tid, s->address,
			     h->size > sizeof(*s) ? 1 : FAULTS_SAMPLED, s->time);
		break;
	}
	case PERF_RECORD_MMAP2:
		on_mmap(p, (const void *)h, time_of(h));
		break;
	case PERF_RECORD_FORK:
		on_fork(p, (const void *)h);
		break;
	case PERF_RECORD_EXIT:
		on_exit_record(p, (const void *)h);
		break;
	case PERF_RECORD_COMM:
		on_comm(p, (const void *)h, time_of(h));
		break;
	case PERF_RECORD_LOST:
		p->perf->lost += ((const struct lost *)h)->lost;
		break;
	}
}

static void look_ahead(struct ring *r, char *room)
{
	const struct perf_event_header *h = ring_peek(r, r->head, room);

	r->next_ns = h ? time_of(h) : UINT64_MAX;
}

/* The ring whose next record is the earliest, not after `until_ns`; NULL none. */
static struct ring *earliest(const struct perf *perf, uint64_t until_ns)
{
	struct ring *best = NULL;
	int i;

	for (i = 0; i < perf->n; i++)
		if (perf->rings[i].next_ns <= until_ns) {
			best = &perf->rings[i];
			until_ns = best->next_ns;
		}
	return best;
}

uint64_t perf_drain(struct probe *p, bool all)
{
	uint64_t until_ns = all ? UINT64_MAX - 1 : clock_now_ns() - SETTLE_NS;
	struct perf *perf = p->perf;
	struct ring *r;
	int i;

	for (i = 0; i < perf->n; i++) {
		r = &perf->rings[i];
		r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
		look_ahead(r, perf->record);
	}
	while ((r = earliest(perf, until_ns))) {
		const struct perf_event_header *h = ring_peek(r, r->head, perf->record);
		uint64_t tail = r->page->data_tail + h->size;

		on_record(p, h);
		__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
		look_ahead(r, perf->record);
	}
	return until_ns;
}

void perf_report(struct probe *p)
{
	if (!p->perf || !p->perf->lost)
		return;
	p->trace->tree_lost |= p->tree_by == TREE_PERF;
	trace_note(p->trace, "perf", "loss", p->perf->lost,
		   "records of forks, mappings or faults that found a full ring");
}

void perf_close(struct probe *p)
{
	int i;

	if (!p->perf)
		return;
	for (i = 0; i < p->perf->n; i++)
		ring_close(&p->perf->rings[i]);
	free(p->perf->rings);
	free(p->perf);
	p->perf = NULL;
}
