/* SPDX-License-Identifier: Apache-2.0 */
/* What others did meanwhile: who read the model when the start did not, who else was at the disk. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/record.h"
#include "launch/outside.h"
#include "launch/residency.h"

#define NAMED_MAX 3
/* Others at the disk are told from this many bytes on, and from a quarter of the start's own. */
#define OTHERS_MIN (UINT64_C(32) << 20)

void outside_begin(struct start *s)
{
	disks_look(&s->before.disks);
}

static const struct disk *disk_of(const disk_list *list, uint64_t dev)
{
	vec_for_each (d, list)
		if (d->dev == dev)
			return d;
	return NULL;
}

/* What the start itself did with files of the device; of the writes what it is known to have written. */
static void own_part(const struct trace *t, uint64_t dev, uint64_t *ret_read, uint64_t *ret_written,
		     uint64_t *ret_weights)
{
	*ret_read = *ret_written = *ret_weights = 0;
	vec_for_each (io, &t->io) {
		const struct file *f = &t->files.v[io->file];

		if (f->dev != dev)
			continue;
		if (io->storage_bytes != UNKNOWN) {
			*ret_read += io->storage_bytes;
			*ret_weights += f->cls == FILE_WEIGHTS ? io->storage_bytes : 0;
		}
		if (io->mode & IO_WRITE && io->asked_bytes != UNKNOWN)
			*ret_written += io->asked_bytes;
	}
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void tell_disk(struct trace *t, const struct disk *was, const struct disk *now)
{
	uint64_t own_read, own_written, weights, read, written;
	struct str text = {0};

	read = less(now->read_bytes, was->read_bytes);
	written = less(now->written_bytes, was->written_bytes);
	if (read < OTHERS_MIN && written < OTHERS_MIN)
		return;
	own_part(t, now->dev, &own_read, &own_written, &weights);
	read = less(read, own_read);
	written = less(written, own_written);
	read = read >= OTHERS_MIN && read >= own_read / 4 ? read : 0;
	written = written >= OTHERS_MIN && written >= own_read / 4 ? written : 0;
	if (!weights || (!read && !written))
		return;
	if (read)
		str_addf(&text, "others read %.1f MB from it", (double)read / 1e6);
	if (written)
		str_addf(&text, "%sothers wrote %.1f MB to it", read ? ", " : "",
			 (double)written / 1e6);
	trace_note(t, "launch", "warning", UNKNOWN,
		   "the disk that %.1f MB of the weights came from (%u:%u) was not this start's "
		   "alone: %s",
		   (double)weights / 1e6, (unsigned)(now->dev >> 20),
		   (unsigned)(now->dev & 0xfffff), str_get(&text));
	str_free(&text);
}

static bool read_weights(const struct trace *t)
{
	vec_for_each (e, &t->evidence)
		if (kind_item(e->kind) == ITEM_WEIGHTS && e->start_ns < t->run.end_ns)
			return true;
	return false;
}

typedef VEC(pid_t) pid_list;

/* The start's own, and coldprof's. */
static void own_processes(const struct start *s, pid_list *pids)
{
	vec_for_each (p, &s->trace.processes)
		if (p->end_ns == UNKNOWN && p->pid > 0)
			vec_push(pids, p->pid);
	vec_push(pids, getpid());
	vec_push(pids, getppid());
	vec_push(pids, 0);
}

static void tell_readers(struct start *s, const struct file_id *ids, size_t n, uint64_t grown)
{
	struct trace *t = &s->trace;
	file_user_list users;
	pid_list own = {0};
	struct str text = {0};

	own_processes(s, &own);
	if (files_users(ids, n, own.v, &users) == 0)
		for (size_t i = 0; i < users.n && i < NAMED_MAX; i++)
			str_addf(&text, "%spid %d (%s) has it %s", i ? ", " : "", users.v[i].pid,
				 users.v[i].name, users.v[i].mapped ? "mapped" : "open");
	if (!text.n && grown)
		str_add(&text, "another process read it");
	if (grown)
		str_addf(&text, "; %.1f MB of it came into the page cache meanwhile",
			 (double)grown / 1e6);
	if (text.n)
		trace_note(t, "launch", "warning", UNKNOWN,
			   "no process of this start read the model: %s", str_get(&text));
	str_free(&text);
	vec_free(&users);
	vec_free(&own);
}

void outside_end(struct start *s)
{
	struct trace *t = &s->trace;
	VEC(struct file_id) ids = {0};
	disk_list now;
	uint64_t grown = 0;

	if (t->saw & SAW_FILLS && disks_look(&now) == 0) {
		vec_for_each (d, &now) {
			const struct disk *was = disk_of(&s->before.disks, d->dev);

			if (was)
				tell_disk(t, was, d);
		}
		vec_free(&now);
	}
	if (read_weights(t))
		return;
	vec_for_each (f, &t->files) {
		struct residency r;
		struct stat st;

		if (f->cls != FILE_WEIGHTS || stat(f->path, &st) != 0)
			continue;
		vec_push(&ids, ((struct file_id){st.st_dev, st.st_ino, f->path}));
		if (f->resident_before_bytes != UNKNOWN && residency_look(f->path, &r) == 0 &&
		    r.resident_bytes != RESIDENT_UNKNOWN)
			grown += less(r.resident_bytes, f->resident_before_bytes);
	}
	if (ids.n)
		tell_readers(s, ids.v, ids.n, grown);
	vec_free(&ids);
}
