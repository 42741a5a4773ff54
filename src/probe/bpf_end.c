/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run for the kernel programs: their last pieces, and what they lost. */
#include "probe/inside.h"

#ifdef HAVE_BPF
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/model.h"
#include "probe/bpf.h"
#include "wire/kernel.h"

void bpf_close_fault_events(struct bpf *b)
{
	for (int i = 0; i < FAULT_EVENTS; i++) {
		if (b->fault_fds[i] >= 0)
			close(b->fault_fds[i]);
		b->fault_fds[i] = -1;
	}
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
		trace_note(p->trace, "bpf", "loss", n,
			   "threads for which the kernel had no memory");
	}
	if ((n = counter(p, KERNEL_LOST_LINES)))
		trace_note(p->trace, "bpf", "loss", n,
			   "writes of log lines that came faster than they were taken");
	if ((n = counter(p, KERNEL_UNSEEN_MAPS)))
		trace_note(p->trace, "bpf", "loss", n,
			   "mappings of files on DAX or hugetlbfs, whose faults are not seen");
	if ((n = counter(p, KERNEL_FAULTS_UNTIMED)))
		trace_note(p->trace, "bpf", "info", n, "page faults whose start was not seen");
	if (p->faults_by_file)
		p->anonymous_faults = ends > p->file_faults ? ends - p->file_faults : 0;
	/* A few come after the end of their thread. */
	else if (faults > ends)
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
	bpf_close_fault_events(p->bpf);
	coldprof_bpf__detach(p->bpf->skel);
	ring_buffer__consume(p->bpf->ring);
	rc = run_finish(p);
	if (rc < 0)
		trace_note(p->trace, "bpf", "warning", UNKNOWN,
			   "the last pieces of living threads are missing: %s", strerror(-rc));
	ring_buffer__consume(p->bpf->ring);
	report(p, faults);
}
#endif
