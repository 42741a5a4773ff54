/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shim's process table beside the trace's processes. Where the kernel side saw the tree it is
 * the authority and an image only finds its process; else images are the tree, together with what
 * /proc showed.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mask.h"
#include "base/str.h"
#include "ingest/inside.h"

/* How far before its constructor a program's exec, or its fork, can lie. */
#define START_SLACK_NS (500 * NS_PER_MS)
/* A process gone sooner may have died before the shim's constructor ran. */
#define SHORT_LIFE_NS (20 * NS_PER_MS)

/* argv joined by blanks, secrets masked. */
static const char *command_of(struct trace *t, const struct wire_process *w)
{
	char *text = mask_words(w->argv, w->argv_bytes);
	const char *command =
		text && w->argv_cut ? trace_strf(t, "%s …", text) : trace_str(t, text);

	free(text);
	return command;
}

static const char *text_or_null(struct trace *t, const char *s)
{
	return *s ? trace_str(t, s) : NULL;
}

static bool same_program(const struct process *p, const struct wire_process *w)
{
	if (p->exe && *w->exe)
		return strcmp(p->exe, w->exe) == 0 || str_ends(p->exe, w->exe) ||
		       str_ends(w->exe, p->exe);
	return p->name && *w->comm && strcmp(p->name, w->comm) == 0;
}

/*
 * In another pid namespace the guest's number is not ours:
 * an image of the same program that came just before.
 */
static int32_t match_by_time(const struct trace *t, const struct wire_process *w)
{
	int32_t found = NO_INDEX;

	for (size_t i = 0; i < t->processes.n; i++) {
		const struct process *p = &t->processes.v[i];
		uint64_t at = p->exec_ns != UNKNOWN ? p->exec_ns : p->start_ns;

		if (p->shim || at > w->start_ns || w->start_ns - at > START_SLACK_NS ||
		    !same_program(p, w))
			continue;
		if (found != NO_INDEX)
			return NO_INDEX; /* two that fit: neither is claimed */
		found = (int32_t)i;
	}
	return found;
}

static int32_t find_process(const struct trace *t, const struct wire_process *w)
{
	int32_t found = trace_process_at(t, w->pid, w->start_ns);

	/* /proc tells the start of a process in ticks, and the sampler sees it late. */
	for (size_t i = 0; i < t->processes.n && found == NO_INDEX; i++) {
		const struct process *p = &t->processes.v[i];

		if (p->pid == w->pid && p->start_ns > w->start_ns &&
		    p->start_ns - w->start_ns < START_SLACK_NS && !p->shim)
			found = (int32_t)i;
	}
	return found;
}

static int32_t add_process(struct trace *t, const struct wire_process *w)
{
	int32_t parent = trace_process_at(t, w->ppid, w->start_ns);
	struct process *p = vec_add(&t->processes);

	p->pid = w->pid;
	p->ppid = w->ppid;
	p->parent = parent;
	p->start_ns = w->start_ns;
	p->exec_ns = p->end_ns = UNKNOWN;
	p->status = -1;
	p->name = text_or_null(t, w->comm);
	return (int32_t)t->processes.n - 1;
}

/*
 * What the shim knows better than a sampler of /proc;
 * nothing of it where the kernel side saw the tree.
 */
static void describe(struct trace *t, int32_t index, const struct wire_process *w)
{
	struct process *p = &t->processes.v[index];
	bool tree = t->saw & SAW_TREE;
	const char *command = command_of(t, w);

	if (!tree && p->start_ns > w->start_ns)
		p->start_ns = w->start_ns;
	if (!tree && w->end_ns && p->end_ns == UNKNOWN)
		p->end_ns = w->end_ns;
	if (!(w->flags & WIRE_PROCESS_EXEC)) {
		if (!p->command && p->parent >= 0)
			p->command = t->processes.v[p->parent].command;
		return;
	}
	if (!tree) {
		struct exec_event *e = vec_add(&t->execs);

		p->exec_ns = w->start_ns;
		p->exe = text_or_null(t, w->exe);
		p->command = command;
		*e = (struct exec_event){index, w->start_ns, p->exe, command};
		return;
	}
	if (!p->exe)
		p->exe = text_or_null(t, w->exe);
	if (!p->command)
		p->command = command;
}

static int by_start(const void *a, const void *b)
{
	const struct wire_process *const *x = a, *const *y = b;

	return ((*x)->start_ns > (*y)->start_ns) - ((*x)->start_ns < (*y)->start_ns);
}

static void match_image(struct ingest *in, struct image *image, const struct wire_process *w)
{
	struct trace *t = in->t;
	int32_t index = find_process(t, w);

	if (index == NO_INDEX)
		index = match_by_time(t, w);
	if (index == NO_INDEX)
		index = add_process(t, w);
	image->process = index;
	describe(t, index, w);
	t->processes.v[index].shim = true;
}

void guests_read(struct ingest *in)
{
	uint32_t n = in->memory ? ring_process_count(&in->reader) : 0;
	VEC(struct wire_process *) order = {0};
	struct wire_process *all = xcalloc(n, sizeof(*all));

	for (uint32_t i = 0; i < n; i++) {
		struct image *image = vec_add(&in->images);

		image->process = NO_INDEX;
		/* A pid or a time that cannot be is scribbled over. */
		if (ring_process(&in->reader, i, &all[i]) && all[i].pid > 0 && all[i].start_ns &&
		    all[i].start_ns < UNKNOWN / 2)
			vec_push(&order, &all[i]);
	}
	/* Parents before children, a fork before its exec. */
	if (order.n)
		qsort(order.v, order.n, sizeof(order.v[0]), by_start);
	vec_for_each (w, &order)
		match_image(in, &in->images.v[*w - all], *w);
	vec_free(&order);
	free(all);
}

void guests_done(struct ingest *in)
{
	vec_for_each (image, &in->images)
		vec_free(&image->symbols);
	vec_free(&in->images);
}

/* "static", "another ELF class", "another libc"; NULL: the shim could have been loaded. */
static const char *unloadable(int fd)
{
	const char *why = NULL;
	size_t n = 0;
	bool interpreter = false;
	Elf *elf;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &n) != 0) {
		elf_end(elf);
		return NULL; /* a script, or not ours to read */
	}
	for (size_t i = 0; i < n; i++) {
		char path[128] = "";
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_INTERP)
			continue;
		interpreter = true;
		if (pread(fd, path, sizeof(path) - 1, (off_t)phdr.p_offset) > 0 &&
		    strstr(path, "ld-musl"))
			why = "another libc";
	}
	if (!interpreter)
		why = "static";
	else if (gelf_getclass(elf) != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
		why = "another ELF class";
	elf_end(elf);
	return why;
}

static const char *why_uncovered(const struct process *p)
{
	const char *why = NULL;
	struct stat st;
	int fd;

	if (!p->exe || stat(p->exe, &st) != 0 || !S_ISREG(st.st_mode))
		return NULL;
	if ((st.st_mode & (S_ISUID | S_ISGID)) ||
	    getxattr(p->exe, "security.capability", NULL, 0) > 0)
		return "secure execution";
	fd = open(p->exe, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return NULL;
	why = unloadable(fd);
	close(fd);
	return why ? why : "environment cleared";
}

void guests_uncovered(struct ingest *in)
{
	struct trace *t = in->t;
	struct ring_loss loss = {0};
	uint64_t count = 0;

	if (!in->memory || !in->images.n)
		return;
	ring_loss(&in->reader, &loss);
	for (size_t i = 0; i < t->processes.n; i++) {
		struct process *p = &t->processes.v[i];
		uint64_t end = p->end_ns == UNKNOWN ? t->run.end_ns : p->end_ns;

		/* A child that only forked goes on in its parent's image, covered or not. */
		if (p->shim || p->uncovered)
			continue;
		if (p->exec_ns == UNKNOWN) {
			if (p->parent >= 0 && (size_t)p->parent < i)
				p->uncovered = t->processes.v[p->parent].uncovered;
			continue;
		}
		if (loss.processes || end < p->exec_ns || end - p->exec_ns < SHORT_LIFE_NS)
			continue;
		p->uncovered = trace_str(t, why_uncovered(p));
		count += p->uncovered != NULL;
	}
	if (count)
		trace_note(
			t, "shim", "warning", count,
			"processes that the shim could not enter: their driver calls are not seen");
}
