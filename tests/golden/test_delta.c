/* SPDX-License-Identifier: Apache-2.0 */
/* The delta ledger: exact sums, and the file or program behind each part. */
#include "../tap.h"
#include "attribute/delta.h"

#define S  UINT64_C(1000000000)
#define MS UINT64_C(1000000)

static int32_t file(struct trace *t, const char *path, int cls)
{
	struct file f = {
		.path = trace_str(t, path), .cls = (uint8_t)cls, .resident_before_bytes = UNKNOWN};

	vec_push(&t->files, f);
	return (int32_t)t->files.n - 1;
}

static void evidence(struct trace *t, int kind, int32_t file, uint64_t a, uint64_t b,
		     uint64_t bytes, const char *what)
{
	struct evidence e = {.tid = 1,
			     .kind = (uint16_t)kind,
			     .file = file,
			     .start_ns = a,
			     .end_ns = b,
			     .bytes = bytes,
			     .wait_ns = UNKNOWN,
			     .what = what};

	vec_push(&t->evidence, e);
}

static void times(struct trace *t, uint64_t a, uint64_t b, uint64_t io_wait)
{
	struct thread_time x = {.tid = 1,
				.start_ns = a,
				.end_ns = b,
				.cpu_ns = b - a - io_wait,
				.io_wait_ns = io_wait};

	vec_push(&t->times, x);
}

static void begin(struct trace *t, const char *state, const char *caches)
{
	struct process p = {.pid = 1,
			    .parent = NO_INDEX,
			    .exec_ns = UNKNOWN,
			    .end_ns = UNKNOWN,
			    .status = -1,
			    .name = "server"};

	trace_init(t);
	p.start_ns = t->run.start_ns = 100 * S;
	t->run.state = state;
	t->run.state_caches = caches;
	vec_push(&t->processes, p);
}

/* init 4 s (1 s waits for I/O), two shards from storage 6 s, compile 8 s, ready at 20 s */
static void cold(struct trace *t)
{
	int32_t one, two, py;
	struct file_io io = {.bin_ns = 100 * S, .storage_bytes = 5000, .wait_ns = 700 * MS};

	begin(t, "cold", "empty");
	one = file(t, "/m/1.safetensors", FILE_WEIGHTS);
	two = file(t, "/m/2.safetensors", FILE_WEIGHTS);
	py = file(t, "/lib/torch.so", FILE_LIBRARY);
	io.file = py;
	vec_push(&t->io, io);
	evidence(t, KIND_READ_STORAGE, one, 104 * S, 106 * S, 1000, NULL);
	evidence(t, KIND_READ_STORAGE, two, 106 * S, 110 * S, 2000, NULL);
	evidence(t, KIND_COMPILE, NO_INDEX, 110 * S, 118 * S, 0, "nvrtc");
	times(t, 100 * S, 104 * S, S);
	times(t, 104 * S, 120 * S, 0);
	t->run.ready_ns = t->run.end_ns = 120 * S;
}

/* init 3 s, the same shards from the page cache 0.5 s, cache read 0.25 s, ready at 5 s */
static void warm(struct trace *t)
{
	int32_t one, two, cache;

	begin(t, "warm", "filled");
	cache = file(t, "/cache/kernel", FILE_COMPILE_CACHE);
	two = file(t, "/m/2.safetensors", FILE_WEIGHTS);
	one = file(t, "/m/1.safetensors", FILE_WEIGHTS);
	evidence(t, KIND_READ_CACHE, one, 103 * S, 103 * S + 200 * MS, 1000, NULL);
	evidence(t, KIND_READ_CACHE, two, 103 * S + 200 * MS, 103 * S + 500 * MS, 2000, NULL);
	evidence(t, KIND_CACHE_IO, cache, 103 * S + 500 * MS, 103 * S + 750 * MS, 77, NULL);
	times(t, 100 * S, 105 * S, 0);
	t->run.ready_ns = t->run.end_ns = 105 * S;
}

static const struct delta_part *part(const struct delta *d, int item, int cause)
{
	static const struct delta_part none = {.what = "absent"};

	vec_for_each (p, &d->parts)
		if (p->item == item && p->cause == cause)
			return p;
	return &none;
}

static void check_sums(const struct delta *d, int64_t wall, const char *name)
{
	int64_t items = 0, of[ITEM_COUNT] = {0};
	bool each = true;

	vec_for_each (p, &d->parts)
		of[p->item] += p->ns;
	for (int i = 0; i < ITEM_COUNT; i++) {
		items += d->item_ns[i];
		each &= of[i] == d->item_ns[i];
	}
	is_int(d->wall_ns, wall, "%s: the wall difference", name);
	is_int(items, wall, "%s: items sum to it", name);
	ok(each, "%s: parts sum to each item", name);
}

static void check_parts(const struct delta *d)
{
	const struct delta_part *p = part(d, ITEM_WEIGHTS, DELTA_STORAGE);

	is_int(d->item_ns[ITEM_PROCESS_INIT], -(int64_t)S, "init is a second shorter");
	is_int(d->item_ns[ITEM_WEIGHTS], -(int64_t)(6 * S - 500 * MS), "weights are 5.5 s shorter");
	is_int(p->ns, -(int64_t)(6 * S), "of it, 6 s less from storage");
	is_int(p->bytes, -3000, "3000 bytes less came from storage");
	is_str(p->what, "/m/2.safetensors", "the second shard made most of it");
	is_int(p->what_ns, -(int64_t)(4 * S), "4 s of it");
	p = part(d, ITEM_WEIGHTS, DELTA_PAGE_CACHE);
	is_int(p->ns, 500 * MS, "half a second more of page-cache hits");
	is_str(p->what, "/m/2.safetensors",
	       "the larger one is named, wherever it stands in the list of files");
	p = part(d, ITEM_GRAPHS_JIT, DELTA_COMPILE);
	is_int(p->ns, -(int64_t)(8 * S), "no compile");
	is_str(p->what, "nvrtc", "which the compiler made");
	is_str(part(d, ITEM_GRAPHS_JIT, DELTA_CACHE_IO)->what, "/cache/kernel",
	       "a cache file is read instead");
	p = part(d, ITEM_PROCESS_INIT, DELTA_IO_WAIT);
	is_int(p->ns, -(int64_t)S, "init waits a second less for I/O");
	is_str(p->what, "/lib/torch.so", "which a library made");
	ok(d->notes.n == 2 &&
		   strstr(d->notes.v[0], "weights cold in the first, warm in the second"),
	   "unlike states are told");
}

/* A compile of 4 s and 400 bytes, half of it before the run, and one of 20 s that outlives it. */
static void cut(void)
{
	struct trace a, b;
	struct ledger la, lb;
	struct delta d;

	begin(&a, "cold", "empty");
	begin(&b, "cold", "empty");
	evidence(&b, KIND_COMPILE, NO_INDEX, 98 * S, 102 * S, 400, "nvrtc");
	evidence(&b, KIND_COMPILE, NO_INDEX, 109 * S, 129 * S, 400, "cicc");
	a.run.ready_ns = a.run.end_ns = b.run.ready_ns = b.run.end_ns = 110 * S;
	if (attribute(&a, a.run.end_ns, &la) || attribute(&b, b.run.end_ns, &lb))
		bail("the starts cannot be attributed");
	delta_make(&a, &la, &b, &lb, &d);
	is_int(part(&d, ITEM_GRAPHS_JIT, DELTA_COMPILE)->what_ns, 2 * S,
	       "what was before the run does not count");
	is_int(part(&d, ITEM_GRAPHS_JIT, DELTA_COMPILE)->bytes, 220, "nor what was behind it");
	delta_done(&d);
	ledger_done(&la);
	ledger_done(&lb);
	trace_done(&a);
	trace_done(&b);
}

int main(void)
{
	struct trace a, b;
	struct ledger la, lb;
	struct delta d;

	cold(&a);
	warm(&b);
	if (attribute(&a, a.run.end_ns, &la) || attribute(&b, b.run.end_ns, &lb))
		bail("the starts cannot be attributed");
	delta_make(&a, &la, &b, &lb, &d);
	check_sums(&d, -(int64_t)(15 * S), "cold to warm");
	check_parts(&d);
	delta_done(&d);
	delta_make(&b, &lb, &a, &la, &d);
	check_sums(&d, 15 * S, "warm to cold");
	delta_done(&d);
	delta_make(&a, &la, &a, &la, &d);
	check_sums(&d, 0, "a start and itself");
	is_int((int64_t)d.parts.n, 0, "nothing differs");
	delta_done(&d);
	cut();
	ledger_done(&la);
	ledger_done(&lb);
	trace_done(&a);
	trace_done(&b);
	return done_testing();
}
