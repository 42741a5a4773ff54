/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process of the trace an image of the shim's table is. The image tells its number in its own
 * pid namespace, and which one that is; so do the kernel programs, and /proc, of each process. That
 * pair is the kernel's own identity. Where one side lacks it (a program without /proc, a process
 * that was gone before /proc was asked) the circumstances must leave one process alone: its
 * program and words, the moment, its parent. Two that fit are ambiguous, and neither is taken.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mask.h"
#include "base/str.h"
#include "ingest/inside.h"

/* How far before its constructor a program's exec, or its fork, can lie. */
#define START_SLACK_NS (500 * NS_PER_MS)

/* What two sides say of one thing. */
enum says { SAYS_NO, SAYS_NOTHING, SAYS_YES };

static int32_t own_number(const struct process *p)
{
	return p->ns_pid ? p->ns_pid : p->pid;
}

/* Does the image number processes as coldprof does? */
static enum says is_ours(const struct trace *t, const struct wire_process *w)
{
	if (!w->pid_ns || !t->pid_ns)
		return SAYS_NOTHING;
	return w->pid_ns == t->pid_ns ? SAYS_YES : SAYS_NO;
}

/* By namespace and number alone. */
static enum says by_number(const struct trace *t, const struct process *p,
			   const struct wire_process *w)
{
	if (p->pid_ns && w->pid_ns)
		return p->pid_ns == w->pid_ns && own_number(p) == w->pid ? SAYS_YES : SAYS_NO;
	if (p->pid_ns) /* the image does not know where it is */
		return own_number(p) == w->pid ? SAYS_NOTHING : SAYS_NO;
	switch (is_ours(t, w)) {
	case SAYS_YES:
		return p->pid == w->pid ? SAYS_YES : SAYS_NO;
	case SAYS_NO:
		return SAYS_NOTHING;
	default:
		return p->pid == w->pid ? SAYS_NOTHING : SAYS_NO;
	}
}

static bool lived(const struct process *p, uint64_t at_ns)
{
	return p->start_ns <= at_ns && (p->end_ns == UNKNOWN || at_ns <= p->end_ns);
}

/* /proc tells the start of a process in ticks, and the sampler sees it late. */
static bool seen_late(const struct trace *t, const struct process *p, uint64_t at_ns)
{
	return !(t->saw & SAW_TREE) && !p->shim && p->start_ns > at_ns &&
	       p->start_ns - at_ns < START_SLACK_NS;
}

/* Either side may have cut it. */
static bool same_words(const char *command, const struct wire_process *w)
{
	char *words = mask_words(w->argv, w->argv_bytes);
	size_t n = words ? strlen(words) : 0, m = strlen(command);
	bool same = strncmp(words ? words : "", command, n < m ? n : m) == 0;

	free(words);
	return same;
}

static bool same_path(const char *path, const char *exe)
{
	return strcmp(path, exe) == 0 || str_ends(path, exe) || str_ends(exe, path);
}

/* Did this exec, just before, make this image? A path may have led through links. */
static bool same_exec(const struct trace *t, const struct exec_event *e,
		      const struct wire_process *w)
{
	const char *name = t->processes.v[e->process].name;

	if (e->at_ns > w->start_ns || w->start_ns - e->at_ns > START_SLACK_NS)
		return false;
	if (e->command && w->argv_bytes)
		return same_words(e->command, w);
	return !e->exe || !*w->exe || same_path(e->exe, w->exe) ||
	       (name && strcmp(name, w->comm) == 0);
}

/* An orphan's parent is another. */
static bool parent_fits(const struct trace *t, const struct process *p,
			const struct wire_process *w)
{
	const struct process *q;

	if (p->parent < 0 || (size_t)p->parent >= t->processes.n)
		return true;
	q = &t->processes.v[p->parent];
	if (q->end_ns != UNKNOWN && q->end_ns <= w->start_ns)
		return true;
	if (!q->pid_ns || !w->pid_ns)
		return w->ppid == 0 || !q->pid_ns || w->ppid == own_number(q);
	return w->ppid == (q->pid_ns == w->pid_ns ? own_number(q) : 0);
}

/* The last process of this number that lived then; else one that was seen a little late. */
static int32_t find_by_number(const struct trace *t, const struct wire_process *w)
{
	int32_t found = NO_INDEX, late = NO_INDEX;

	for (size_t i = 0; i < t->processes.n; i++) {
		const struct process *p = &t->processes.v[i];

		if (by_number(t, p, w) != SAYS_YES)
			continue;
		if (lived(p, w->start_ns) &&
		    (found == NO_INDEX || p->start_ns >= t->processes.v[found].start_ns))
			found = (int32_t)i;
		if (late == NO_INDEX && seen_late(t, p, w->start_ns))
			late = (int32_t)i;
	}
	return found != NO_INDEX ? found : late;
}

/* A number without its namespace: all processes that have it, here or in their own. */
static int32_t find_by_bare_number(const struct trace *t, const struct wire_process *w)
{
	int32_t found = NO_INDEX;

	for (size_t i = 0; i < t->processes.n; i++) {
		const struct process *p = &t->processes.v[i];

		if (by_number(t, p, w) != SAYS_NOTHING || !parent_fits(t, p, w) ||
		    !(lived(p, w->start_ns) || seen_late(t, p, w->start_ns)))
			continue;
		/* The same number again is a later process. */
		if (found >= 0 && t->processes.v[found].pid == p->pid &&
		    t->processes.v[found].pid_ns == p->pid_ns)
			found = lived(p, w->start_ns) ? (int32_t)i : found;
		else
			found = found == NO_INDEX ? (int32_t)i : MATCH_MANY;
	}
	return found;
}

int32_t match_number(const struct ingest *in, const struct wire_process *w)
{
	int32_t found = find_by_number(in->t, w);

	if (found == NO_INDEX && (!w->pid_ns || !in->t->pid_ns))
		found = find_by_bare_number(in->t, w);
	return found;
}

/* One whose namespace is known would have been found by its number. */
static bool is_open(const struct trace *t, const struct process *p, const struct wire_process *w)
{
	return !p->shim && (!p->pid_ns || !w->pid_ns) && parent_fits(t, p, w);
}

static void add_candidate(int32_t *found, int32_t index)
{
	if (*found == NO_INDEX)
		*found = index;
	else if (*found != index)
		*found = MATCH_MANY;
}

int32_t match_circumstance(const struct ingest *in, const struct wire_process *w)
{
	const struct trace *t = in->t;
	int32_t found = NO_INDEX;

	if (w->flags & WIRE_PROCESS_EXEC) {
		vec_for_each (e, &t->execs)
			if (e->process >= 0 && (size_t)e->process < t->processes.n &&
			    same_exec(t, e, w) && is_open(t, &t->processes.v[e->process], w))
				add_candidate(&found, e->process);
		return found;
	}
	for (size_t i = 0; i < t->processes.n; i++) {
		const struct process *p = &t->processes.v[i];

		if (lived(p, w->start_ns) && (p->exec_ns == UNKNOWN || p->exec_ns > w->start_ns) &&
		    is_open(t, p, w))
			add_candidate(&found, (int32_t)i);
	}
	return found;
}

int32_t match_thread(const struct ingest *in, const struct image *image, int32_t tid)
{
	const struct process *p = &in->t->processes.v[image->process];

	if (!image->foreign)
		return tid;
	if (tid == p->ns_pid)
		return p->pid;
	vec_for_each (n, &in->t->numbers)
		if (n->process == image->process && n->ns_tid == tid)
			return n->tid;
	return -tid;
}
