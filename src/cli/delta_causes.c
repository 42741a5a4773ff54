/* SPDX-License-Identifier: Apache-2.0 */
/* What made the difference of two stored runs, in words: the parts of src/attribute/delta.h. */
#include <stdlib.h>

#include "attribute/delta.h"
#include "base/str.h"
#include "cli/show_ledger.h"
#include "render/lines.h"
#include "store/store.h"

#define N_PARTS	 8
#define SMALL_NS 5000000

/* A whole stored run: its trace, and its ledger as it was stored. */
struct side {
	struct trace trace;
	struct ledger ledger;
};

static int load(struct store *s, int64_t run, struct side *ret, struct err *err)
{
	struct ledger l = {0};
	int r = store_load_trace(s, run, &ret->trace, err);

	if (r < 0)
		return r;
	r = store_load_ledger(s, run, &ret->trace, &l.segments.v, &l.segments.n, &l.rows.v,
			      &l.rows.n, err);
	if (r < 0) {
		trace_done(&ret->trace);
		return r;
	}
	l.start_ns = ret->trace.run.start_ns;
	l.end_ns = ret->trace.run.end_ns;
	ret->ledger = l;
	return 0;
}

static void done(struct side *x)
{
	vec_free(&x->ledger.segments);
	vec_free(&x->ledger.rows);
	trace_done(&x->trace);
}

static void print_part(FILE *out, const struct look *look, const struct delta_part *p, bool first)
{
	struct str b = {0};

	str_addf(&b, "%+.3f s %s: %s", (double)p->ns / 1e9, item_title(p->item),
		 delta_cause_words(p->cause));
	if (p->bytes != INT64_MIN && p->bytes) {
		str_add(&b, p->bytes < 0 ? ", -" : ", +");
		text_bytes(&b, p->bytes < 0 ? -(uint64_t)p->bytes : (uint64_t)p->bytes);
	}
	if (p->what)
		str_addf(&b, "; most of it %s", p->what);
	text_paragraph(out, first ? "causes   " : "         ", str_get(&b), look);
	str_free(&b);
}

static int by_size(const void *x, const void *y)
{
	const struct delta_part *a = x, *b = y;
	long long p = llabs((long long)a->ns), q = llabs((long long)b->ns);

	return p < q ? 1 : p > q ? -1 : 0;
}

int show_delta_causes(FILE *out, const struct look *look, struct store *s, int64_t a, int64_t b,
		      struct err *err)
{
	struct delta d = {0};
	struct side x, y;
	int r = load(s, a, &x, err);

	if (r < 0)
		return r;
	r = load(s, b, &y, err);
	if (r >= 0 && x.ledger.segments.n && y.ledger.segments.n) {
		delta_make(&x.trace, &x.ledger, &y.trace, &y.ledger, &d);
		if (d.parts.n)
			qsort(d.parts.v, d.parts.n, sizeof(*d.parts.v), by_size);
		for (size_t i = 0; i < d.parts.n && i < N_PARTS; i++)
			if (llabs((long long)d.parts.v[i].ns) >= SMALL_NS)
				print_part(out, look, &d.parts.v[i], i == 0);
		delta_done(&d);
	}
	if (r >= 0)
		done(&y);
	done(&x);
	return r;
}
