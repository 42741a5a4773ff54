/* SPDX-License-Identifier: Apache-2.0 */
/* Was it cold? Told from what was resident before the start, and held against what the start then
 * really read. */
#include <string.h>

#include "cli/record.h"

#define COLD_PERCENT 1	/* at most so much resident */
#define WARM_PERCENT 99 /* at least so much resident */

struct sums {
	uint64_t size_bytes, resident_bytes; /* of the files whose residency is known */
	uint64_t unknown;		     /* files read whose residency is not known */
	uint64_t touched_bytes, storage_bytes;
};

static uint64_t file_bytes(const struct trace *t, int32_t file, uint64_t *ret_storage)
{
	uint64_t asked = 0;

	*ret_storage = 0;
	vec_for_each (io, &t->io) {
		if (io->file != file || io->mode == IO_WRITE)
			continue;
		asked += (io->asked_bytes == UNKNOWN ? 0 : io->asked_bytes) +
			 (io->mapped_bytes == UNKNOWN ? 0 : io->mapped_bytes);
		*ret_storage += io->storage_bytes == UNKNOWN ? 0 : io->storage_bytes;
	}
	return asked;
}

static void add_up(const struct trace *t, bool weights, struct sums *sum)
{
	for (size_t i = 0; i < t->files.n; i++) {
		const struct file *f = &t->files.v[i];
		uint64_t storage, asked;

		if ((f->cls == FILE_WEIGHTS) != weights || f->cls == FILE_COMPILE_CACHE)
			continue;
		asked = file_bytes(t, (int32_t)i, &storage);
		if (!asked && !storage && !weights)
			continue;
		sum->touched_bytes += asked > f->size_bytes ? f->size_bytes : asked;
		sum->storage_bytes += storage;
		if (f->resident_before_bytes == UNKNOWN) {
			sum->unknown += asked || storage;
			continue;
		}
		sum->size_bytes += f->size_bytes;
		sum->resident_bytes += f->resident_before_bytes;
	}
}

static const char *word(const struct sums *sum)
{
	if (!sum->size_bytes || sum->unknown)
		return "unknown";
	if (sum->resident_bytes * 100 <= sum->size_bytes * COLD_PERCENT)
		return "cold";
	if (sum->resident_bytes * 100 >= sum->size_bytes * WARM_PERCENT)
		return "warm";
	return "mixed";
}

/* Without known residency, what came from storage tells, where the kernel side saw it all. */
static const char *word_of_reads(const struct trace *t, const struct sums *sum)
{
	if (!(t->saw & SAW_FILLS) || !sum->touched_bytes)
		return "unknown";
	if (sum->storage_bytes * 100 >= sum->touched_bytes * WARM_PERCENT)
		return "cold";
	if (sum->storage_bytes * 100 <= sum->touched_bytes * COLD_PERCENT)
		return "warm";
	return "mixed";
}

void state_judge(struct trace *t, bool cold_wanted)
{
	struct sums weights = {0}, files = {0};
	const char *state, *seen;

	add_up(t, true, &weights);
	add_up(t, false, &files);
	state = word(&weights);
	seen = word_of_reads(t, &weights);
	if (!strcmp(state, "unknown")) {
		state = seen;
	} else if (!strcmp(state, "cold") && strcmp(seen, "cold") && strcmp(seen, "unknown")) {
		trace_note(t, "launch", "warning", weights.touched_bytes - weights.storage_bytes,
			   "bytes of weights that did not come from storage, although nothing of "
			   "them was resident before");
		state = "mixed";
	}
	if (cold_wanted && strcmp(state, "cold"))
		trace_note(t, "launch", "warning", weights.resident_bytes,
			   "bytes of weights that were resident in a start that was to be cold");
	t->run.state = trace_str(t, state);
	state = word(&files);
	t->run.state_files =
		trace_str(t, strcmp(state, "unknown") ? state : word_of_reads(t, &files));
}
