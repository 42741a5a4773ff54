/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold for any start: random ones, from fixed seeds and from a few new ones whose seed is
 * printed. COLDPROF_SEED=N runs one seed and shows it; COLDPROF_SEEDS=FROM..TO runs those alone.
 */
#include <time.h>

#include "../tap.h"
#include "attribute/attribute.h"
#include "brute.h"
#include "random_start.h"

#define FIXED_SEEDS 400
#define NEW_SEEDS   100

/* New seeds that once failed. */
static const uint64_t once_failed[] = {508464587, 1033890, 1074772};

/* Two partitions, with times relative to their starts, and processes by pid. */
static bool same(const struct trace *ta, uint64_t sa, const struct segment *a, size_t na,
		 const struct trace *tb, uint64_t sb, const struct segment *b, size_t nb, bool subs)
{
	if (na != nb && subs)
		return false;
	for (size_t i = 0, j = 0; i < na && j < nb;) {
		int32_t pa = a[i].process < 0 ? -1 : ta->processes.v[a[i].process].pid;
		int32_t pb = b[j].process < 0 ? -1 : tb->processes.v[b[j].process].pid;
		uint64_t ea = a[i].end_ns - sa, eb = b[j].end_ns - sb;

		if (a[i].item != b[j].item || a[i].grade != b[j].grade || pa != pb ||
		    strcmp(a[i].rule, b[j].rule) != 0)
			return false;
		if (subs && (ea != eb || strcmp(a[i].sub, b[j].sub) != 0))
			return false;
		i += ea <= eb;
		j += eb <= ea;
	}
	return true;
}

static void show(const struct trace *t, const struct segment *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		diag("%.9f-%.9f %s p%d %s \"%s\" %s", ((double)v[i].start_ns - BASE_NS) / 1e9,
		     ((double)v[i].end_ns - BASE_NS) / 1e9, item_word(v[i].item), v[i].process,
		     grade_word(v[i].grade), v[i].sub, v[i].rule);
	(void)t;
}

static bool partitions(const struct ledger *l)
{
	uint64_t at = BASE_NS, rows = 0, segments = 0;

	vec_for_each (s, &l->segments) {
		if (s->start_ns != at || s->end_ns <= at)
			return false;
		at = s->end_ns;
		segments += s->end_ns - s->start_ns;
	}
	vec_for_each (r, &l->rows)
		rows += r->wall_ns;
	return at == BASE_NS + WALL_NS && rows == WALL_NS && segments == WALL_NS;
}

/*
 * What is known of a segment's causes is no more than its length, and all of it where all is known.
 */
static bool causes_fit(const struct ledger *l)
{
	vec_for_each (s, &l->segments) {
		uint64_t sum = 0, len = s->end_ns - s->start_ns;

		if (s->cpu_ns == UNKNOWN)
			continue;
		sum = s->cpu_ns + s->runnable_ns + s->io_wait_ns + s->sleep_ns;
		if (sum > len)
			return false;
	}
	return true;
}

static bool check_brute(struct trace *t, const struct ledger *l, bool loud)
{
	segment_list b = {0};
	bool good;

	brute_partition(t, BASE_NS + WALL_NS, &b);
	good = same(t, BASE_NS, l->segments.v, l->segments.n, t, BASE_NS, b.v, b.n, true);
	if (!good && loud) {
		diag("src/attribute:");
		show(t, l->segments.v, l->segments.n);
		diag("the plain model:");
		show(t, b.v, b.n);
	}
	vec_free(&b);
	return good;
}

static bool check_work(struct trace *t, const struct ledger *l)
{
	for (int32_t p = -1; p < (int32_t)t->processes.n; p++)
		for (int item = 0; item <= ITEM_GRAPHS_JIT; item++) {
			uint64_t u, s, bu, bs;

			ledger_work(l, p, item, &u, &s);
			brute_work(t, BASE_NS + WALL_NS, p, item, &bu, &bs);
			if (u != bu || s != bs)
				return false;
		}
	return true;
}

#define shuffle(r, l)                                                                              \
	for (size_t i_ = (l)->n; i_ > 1; i_--) {                                                   \
		size_t j_ = next(r, i_);                                                           \
		__typeof__(*(l)->v) old_ = (l)->v[j_];                                             \
                                                                                                   \
		(l)->v[j_] = (l)->v[i_ - 1];                                                       \
		(l)->v[i_ - 1] = old_;                                                             \
	}

static void move_processes(struct random *r, struct trace *t)
{
	size_t n = t->processes.n;
	int32_t *to = xcalloc(n, sizeof(*to));
	VEC(struct process) old = {0};

	for (size_t i = 0; i < n; i++) {
		to[i] = (int32_t)i;
		vec_push(&old, t->processes.v[i]);
	}
	/* The root stays first. */
	for (size_t i = n; i > 2; i--) {
		size_t j = 1 + next(r, i - 1);
		int32_t was = to[j];

		to[j] = to[i - 1];
		to[i - 1] = was;
	}
	for (size_t i = 0; i < n; i++) {
		t->processes.v[to[i]] = old.v[i];
		if (old.v[i].parent >= 0)
			t->processes.v[to[i]].parent = to[old.v[i].parent];
	}
	vec_for_each (e, &t->evidence)
		e->process = to[e->process];
	vec_for_each (s, &t->spans)
		s->process = s->process < 0 ? s->process : to[s->process];
	vec_for_each (x, &t->times)
		x->process = to[x->process];
	vec_for_each (x, &t->listeners)
		x->process = to[x->process];
	vec_free(&old);
	free(to);
}

static void shuffle_all(struct random *r, struct trace *t)
{
	shuffle(r, &t->evidence);
	shuffle(r, &t->spans);
	shuffle(r, &t->times);
	move_processes(r, t);
}

/* Bytes are a multiple of the length, so that both halves fill as fast as the whole. */
static void split_some(struct random *r, struct trace *t)
{
	for (size_t i = t->evidence.n; i-- > 0;) {
		struct evidence *e = &t->evidence.v[i], tail = *e;
		uint64_t len = e->end_ns - e->start_ns, at = next(r, len);

		if (next(r, 2) || !at)
			continue;
		tail.start_ns = e->start_ns + at;
		tail.bytes = e->bytes / len * (len - at);
		e->bytes = e->bytes / len * at;
		e->end_ns = tail.start_ns;
		vec_push(&t->evidence, tail);
	}
}

static void shift(struct trace *t, uint64_t by)
{
	t->run.start_ns += by;
	t->run.end_ns += by;
	t->run.ready_ns += t->run.ready_ns == UNKNOWN ? 0 : by;
	vec_for_each (p, &t->processes) {
		p->start_ns += by;
		p->end_ns += p->end_ns == UNKNOWN ? 0 : by;
	}
	vec_for_each (e, &t->evidence) {
		e->start_ns += by;
		e->end_ns += by;
	}
	vec_for_each (s, &t->spans) {
		s->start_ns += by;
		s->end_ns += by;
	}
	vec_for_each (x, &t->times) {
		x->start_ns += by;
		x->end_ns += by;
	}
	vec_for_each (x, &t->listeners)
		x->at_ns += by;
}

/* A helper that only imports, and asks the driver. */
static void add_bystander(struct random *r, struct trace *t)
{
	static const uint16_t kinds[] = {KIND_IMPORT, KIND_CU_INIT, KIND_DEVICE_QUERY, KIND_HEADER,
					 KIND_SYNC};
	struct process p = {.pid = 9,
			    .parent = (int32_t)next(r, t->processes.n),
			    .start_ns = moment(r),
			    .exec_ns = UNKNOWN,
			    .end_ns = UNKNOWN,
			    .status = -1,
			    .name = "helper"};
	int32_t index = (int32_t)t->processes.n;

	vec_push(&t->processes, p);
	for (size_t i = 0; i < 4; i++) {
		struct evidence e = {.process = index,
				     .tid = 9,
				     .kind = kinds[next(r, 5)],
				     .start_ns = moment(r)};

		e.end_ns = e.start_ns + length(r);
		vec_push(&t->evidence, e);
	}
}

/* Whatever begins at the end of the partition or later does not count. */
static void add_aftermath(struct random *r, struct trace *t)
{
	for (size_t i = 0; i < 4; i++) {
		struct evidence e = {.process = (int32_t)next(r, t->processes.n),
				     .kind = (uint16_t)next(r, KIND_COUNT),
				     .start_ns = t->run.end_ns + length(r),
				     .bytes = 1 << 20};

		e.tid = t->processes.v[e.process].pid;
		e.end_ns = e.start_ns + length(r);
		vec_push(&t->evidence, e);
	}
}

enum change { SHUFFLE, SPLIT, SHIFT, BYSTANDER, AFTERMATH, CHANGES };

static bool unchanged(uint64_t seed, const struct trace *t, const struct ledger *l,
		      enum change change, bool loud)
{
	struct random r = {seed + 99};
	struct trace u;
	struct ledger m;
	bool good;

	make(seed, &u);
	switch (change) {
	case SHUFFLE:
		shuffle_all(&r, &u);
		break;
	case SPLIT:
		split_some(&r, &u);
		break;
	case SHIFT:
		shift(&u, 123456789123);
		break;
	case BYSTANDER:
		add_bystander(&r, &u);
		break;
	default:
		add_aftermath(&r, &u);
	}
	good = attribute(&u, u.run.end_ns, &m) == 0;
	/*
	 * A bystander may be the child that a sleeping driver waits on: only the sub-line may tell.
	 */
	good = good && same(t, BASE_NS, l->segments.v, l->segments.n, &u, u.run.start_ns,
			    m.segments.v, m.segments.n, change != BYSTANDER);
	if (!good && loud) {
		diag("changed:");
		show(&u, m.segments.v, m.segments.n);
		diag("from:");
		show(t, l->segments.v, l->segments.n);
	}
	good = good && (change == BYSTANDER || m.rows.n == l->rows.n);
	for (size_t i = 0; good && change != BYSTANDER && i < m.rows.n; i++)
		good = m.rows.v[i].wall_ns == l->rows.v[i].wall_ns &&
		       m.rows.v[i].work_ns == l->rows.v[i].work_ns &&
		       m.rows.v[i].bytes == l->rows.v[i].bytes;
	ledger_done(&m);
	trace_done(&u);
	return good;
}

struct verdict {
	int failed;
	uint64_t first; /* seed */
};

enum property { PARTITION, CAUSE_SUM, BRUTE, WORK, CHANGED, PROPERTIES = CHANGED + CHANGES };

static const char *const properties[] = {
	[PARTITION] = "segments partition the wall and rows sum to it, to the nanosecond",
	[CAUSE_SUM] = "the causes of a segment are no more than its length",
	[BRUTE] = "the plain model of the rules gives the same segments",
	[WORK] = "the plain model gives the same work",
	[CHANGED + SHUFFLE] = "the order of processes, evidence, spans and times does not matter",
	[CHANGED + SPLIT] = "splitting evidence changes nothing",
	[CHANGED + SHIFT] = "shifting all times changes nothing",
	[CHANGED + BYSTANDER] = "a process that touches nothing changes no item, driver or rule",
	[CHANGED + AFTERMATH] = "what begins after the end changes nothing",
};

static void judge(struct verdict *v, enum property p, bool good, uint64_t seed)
{
	if (!good && !v[p].failed++)
		v[p].first = seed;
}

static void try_seed(uint64_t seed, struct verdict *v, bool loud)
{
	struct trace t;
	struct ledger l;

	make(seed, &t);
	if (attribute(&t, t.run.end_ns, &l))
		bail("seed %" PRIu64 " cannot be attributed", seed);
	judge(v, PARTITION, partitions(&l), seed);
	judge(v, CAUSE_SUM, causes_fit(&l), seed);
	judge(v, BRUTE, check_brute(&t, &l, loud), seed);
	judge(v, WORK, check_work(&t, &l), seed);
	for (enum change c = 0; c < CHANGES; c++)
		judge(v, CHANGED + c, unchanged(seed, &t, &l, c, loud), seed);
	ledger_done(&l);
	trace_done(&t);
}

static void show_input(uint64_t seed)
{
	struct trace t;

	make(seed, &t);
	vec_for_each (p, &t.processes)
		diag("p%d pid %d %s parent %d %.9f-%.9f role %d", (int)(p - t.processes.v), p->pid,
		     p->name, p->parent, ((double)p->start_ns - BASE_NS) / 1e9,
		     p->end_ns == UNKNOWN ? 0 : ((double)p->end_ns - BASE_NS) / 1e9, p->role);
	vec_for_each (e, &t.evidence)
		diag("p%d t%d %s %.9f-%.9f bytes %" PRIu64, e->process, e->tid, kind_word(e->kind),
		     ((double)e->start_ns - BASE_NS) / 1e9, ((double)e->end_ns - BASE_NS) / 1e9,
		     e->bytes);
	vec_for_each (s, &t.spans)
		diag("p%d span %s%s %.9f-%.9f %s", s->process, item_word(s->item),
		     s->container ? " container" : "", ((double)s->start_ns - BASE_NS) / 1e9,
		     ((double)s->end_ns - BASE_NS) / 1e9, s->name);
	trace_done(&t);
}

static void try_range(const char *range, struct verdict *v)
{
	uint64_t from, to;

	if (sscanf(range, "%" SCNu64 "..%" SCNu64, &from, &to) != 2 || from > to)
		bail("COLDPROF_SEEDS=%s is not FROM..TO", range);
	for (uint64_t seed = from; seed <= to; seed++)
		try_seed(seed, v, false);
}

static void try_fixed_and_new(struct verdict *v)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	for (uint64_t seed = 1; seed <= FIXED_SEEDS; seed++)
		try_seed(seed, v, false);
	for (size_t i = 0; i < sizeof(once_failed) / sizeof(*once_failed); i++)
		try_seed(once_failed[i], v, false);
	diag("new seeds from %" PRIu64, (uint64_t)now.tv_nsec + 1000);
	for (uint64_t i = 0; i < NEW_SEEDS; i++)
		try_seed((uint64_t)now.tv_nsec + 1000 + i, v, false);
}

int main(void)
{
	struct verdict v[PROPERTIES] = {0};
	const char *one = getenv("COLDPROF_SEED"), *range = getenv("COLDPROF_SEEDS");

	if (one) {
		show_input(strtoull(one, NULL, 10));
		try_seed(strtoull(one, NULL, 10), v, true);
	} else if (range) {
		try_range(range, v);
	} else {
		try_fixed_and_new(v);
	}
	for (int p = 0; p < PROPERTIES; p++)
		if (!ok(!v[p].failed, "%s", properties[p]))
			diag("%d starts, the first is COLDPROF_SEED=%" PRIu64, v[p].failed,
			     v[p].first);
	return done_testing();
}
