/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shim's process table beside the trace's processes. Where the kernel side saw the tree it is
 * the authority and an image only finds its process (match.c); else images are the tree, together
 * with what /proc showed.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mask.h"
#include "base/program.h"
#include "base/str.h"
#include "ingest/inside.h"

/* Of programs that are left out. */
#define NAMES_TOLD 3
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

static int32_t add_process(struct trace *t, const struct wire_process *w)
{
	int32_t parent = trace_process_at(t, w->ppid, w->start_ns);
	struct process *p = vec_add(&t->processes);

	p->pid = w->pid;
	p->ppid = w->ppid;
	p->pid_ns = w->pid_ns;
	p->parent = parent;
	p->start_ns = w->start_ns;
	p->exec_ns = p->end_ns = UNKNOWN;
	p->status = -1;
	p->name = text_or_null(t, w->comm);
	return (int32_t)t->processes.n - 1;
}

static bool is_elf(const char *path, struct stat *ret_stat)
{
	char head[SELFMAG] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool is = fd >= 0 && fstat(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode) &&
		  pread(fd, head, SELFMAG, 0) == SELFMAG && !memcmp(head, ELFMAG, SELFMAG);

	if (fd >= 0)
		close(fd);
	return is;
}

/*
 * Did /proc show another program in the process later? Not
 * told of a script: its program there is the interpreter.
 */
static bool went_on(const struct trace *t, int32_t index, const struct wire_process *w)
{
	struct stat its, later;

	if (!is_elf(w->exe, &its))
		return false;
	vec_for_each (e, &t->execs)
		if (e->process == index && e->at_ns > w->start_ns && e->exe &&
		    stat(e->exe, &later) == 0 &&
		    (later.st_ino != its.st_ino || later.st_dev != its.st_dev))
			return true;
	return false;
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
		bool past = went_on(t, index, w);
		struct exec_event *e = vec_add(&t->execs);

		/* /proc/self/exe and its like say nothing of what they led to. */
		const char *exe =
			p->exe && str_starts(w->exe, "/proc/") ? p->exe : text_or_null(t, w->exe);

		*e = (struct exec_event){index, w->start_ns, exe, command};
		if (past)
			return;
		p->exec_ns = w->start_ns;
		p->exe = exe;
		p->command = command;
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

/*
 * A process that the kernel side would have told of is never made up from what the shim says; nor
 * one of another pid namespace, whose number here nobody knows.
 */
static bool may_add(const struct trace *t, const struct wire_process *w)
{
	if ((t->saw & SAW_TREE) && !t->tree_lost)
		return false;
	return !w->pid_ns || !t->pid_ns || w->pid_ns == t->pid_ns;
}

static void take_image(struct ingest *in, struct image *image, const struct wire_process *w,
		       int32_t index)
{
	struct trace *t = in->t;
	struct process *p = &t->processes.v[index];

	if (!p->pid_ns && w->pid_ns)
		p->pid_ns = w->pid_ns;
	if (!p->ns_pid && (w->pid != p->pid || trace_is_foreign(t, p)))
		p->ns_pid = w->pid;
	image->process = index;
	image->start_ns = w->start_ns;
	image->foreign = p->ns_pid != 0;
	describe(t, index, w);
	t->processes.v[index].shim = true;
}

/* How many programs are told of, and the first few names. */
struct left {
	uint64_t count;
	struct str names;
};

static void tell_left(struct trace *t, struct left *left, const char *text)
{
	if (left->count)
		trace_note(t, "ingest", "loss", left->count, "%s (%s%s): left out", text,
			   str_get(&left->names), left->count > NAMES_TOLD ? ", …" : "");
	str_free(&left->names);
}

/* An image that waits for its process. */
struct waiting {
	const struct wire_process *w;
	struct image *image;
	int32_t guess;
};

typedef VEC(struct waiting) waiting_list;

/* Does another process want the same one? Several images of one process do not contend. */
static bool contested(const waiting_list *list, const struct waiting *x)
{
	vec_for_each (y, list)
		if (y->guess == x->guess &&
		    (y->w->pid != x->w->pid || y->w->pid_ns != x->w->pid_ns))
			return true;
	return false;
}

/* A number may be known by what was matched before. */
static int32_t match_guess(const struct ingest *in, const struct wire_process *w)
{
	int32_t index = match_number(in, w);

	return index == NO_INDEX ? match_circumstance(in, w) : index;
}

/* With each image that finds its process, others have fewer left to choose from. */
static void match_by_round(struct ingest *in, waiting_list *list)
{
	size_t left;

	do {
		left = 0;
		vec_for_each (x, list)
			x->guess = match_guess(in, x->w);
		for (size_t i = 0; i < list->n; i++) {
			struct waiting *x = &list->v[i];

			if (x->guess >= 0 && !contested(list, x))
				take_image(in, x->image, x->w, x->guess);
		}
		for (size_t i = 0; i < list->n; i++)
			if (list->v[i].image->process == NO_INDEX)
				list->v[left++] = list->v[i];
		if (left == list->n)
			return;
		list->n = left;
	} while (left);
}

static void leave_out(struct ingest *in, const waiting_list *list)
{
	struct left ambiguous = {0}, outside = {0};

	vec_for_each (x, list) {
		struct left *left = x->guess == NO_INDEX ? &outside : &ambiguous;

		x->image->left_out = true;
		if (left->count++ < NAMES_TOLD)
			str_addf(&left->names, "%s%s", left->names.n ? ", " : "", x->w->comm);
	}
	tell_left(in->t, &ambiguous,
		  "programs in other pid namespaces are ambiguous: they fit several processes");
	tell_left(in->t, &outside, "programs whose process is not known reported");
}

static void match_all(struct ingest *in, struct wire_process **order, size_t n,
		      const struct wire_process *all)
{
	waiting_list list = {0};

	for (size_t i = 0; i < n; i++) {
		struct waiting x = {order[i], &in->images.v[order[i] - all], NO_INDEX};
		int32_t index = match_number(in, x.w);

		if (index == NO_INDEX && may_add(in->t, x.w))
			index = add_process(in->t, x.w);
		if (index >= 0)
			take_image(in, x.image, x.w, index);
		else
			vec_push(&list, x);
	}
	match_by_round(in, &list);
	leave_out(in, &list);
	vec_free(&list);
}

/* What was run by way of /proc/self/exe, or of a descriptor, is called "exe" or "5" by the kernel. */
static void name_by_program(struct trace *t)
{
	vec_for_each (p, &t->processes) {
		const char *base = p->exe ? str_base_name(p->exe) : NULL;

		if (p->name && base && *base &&
		    (!strcmp(p->name, "exe") || !p->name[strspn(p->name, "0123456789")]))
			p->name = trace_str(t, base);
	}
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
	match_all(in, order.v, order.n, all);
	name_by_program(in->t);
	vec_free(&order);
	free(all);
}

void guests_done(struct ingest *in)
{
	vec_for_each (image, &in->images)
		vec_free(&image->symbols);
	vec_free(&in->images);
}

#define CLEARED "environment cleared"

/* In another mount namespace the path may lead elsewhere. */
static bool leads_to(const struct trace *t, const char *path, const struct stat *st)
{
	vec_for_each (f, &t->files)
		if (f->path == path && f->ino)
			return f->ino == st->st_ino;
	return true;
}

/* NULL: not known. */
static const char *why_uncovered(const struct trace *t, const struct process *p)
{
	enum program_kind kind;
	struct stat st;

	if (!p->exe || stat(p->exe, &st) != 0 || !leads_to(t, p->exe, &st))
		return NULL;
	kind = program_of_file(p->exe);
	return kind == PROGRAM_FINE ? CLEARED : program_word(kind);
}

/* It was in the program that the process runs since its last exec, not only in one before. */
static bool is_covered(const struct ingest *in, int32_t process)
{
	const struct process *p = &in->t->processes.v[process];

	if (!p->shim || p->exec_ns == UNKNOWN)
		return p->shim;
	vec_for_each (image, &in->images)
		if (image->process == process && image->start_ns >= p->exec_ns)
			return true;
	return false;
}

void guests_uncovered(struct ingest *in)
{
	struct trace *t = in->t;
	struct ring_loss loss = {0};
	const char *why;
	uint64_t count = 0;
	/* Without its word from anywhere, or where one was left out, its absence shows nothing. */
	bool silent = !in->images.n;

	if (!in->memory)
		return;
	ring_loss(&in->reader, &loss);
	silent |= loss.left != 0;
	vec_for_each (image, &in->images)
		silent |= image->left_out;
	for (size_t i = 0; i < t->processes.n; i++) {
		struct process *p = &t->processes.v[i];
		uint64_t end = p->end_ns == UNKNOWN ? t->run.end_ns : p->end_ns;

		/* A child that only forked goes on in its parent's image, covered or not. */
		if (p->uncovered || is_covered(in, (int32_t)i))
			continue;
		if (p->exec_ns == UNKNOWN) {
			if (p->parent >= 0 && (size_t)p->parent < i)
				p->uncovered = t->processes.v[p->parent].uncovered;
			continue;
		}
		if (loss.processes || end < p->exec_ns || end - p->exec_ns < SHORT_LIFE_NS)
			continue;
		why = why_uncovered(t, p);
		p->uncovered = trace_str(t, why && silent && !strcmp(why, CLEARED) ? NULL : why);
		count += p->uncovered != NULL;
	}
	if (count)
		trace_note(t, "shim", "warning", count,
			   "processes that the shim could not enter: their driver calls%s are not "
			   "seen",
			   t->saw & SAW_LOG ? "" : " and log lines");
}
