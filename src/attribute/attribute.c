/* SPDX-License-Identifier: Apache-2.0 */
#include "attribute/attribute.h"

#include <errno.h>
#include <string.h>

#include "attribute/rows.h"

int attribute(struct trace *t, uint64_t end_ns, struct ledger *ret_ledger)
{
	struct segment s = {.start_ns = t->run.start_ns,
			    .end_ns = end_ns,
			    .item = ITEM_PROCESS_INIT,
			    .grade = GRADE_MEASURED,
			    .cpu_ns = UNKNOWN,
			    .runnable_ns = UNKNOWN,
			    .io_wait_ns = UNKNOWN,
			    .sleep_ns = UNKNOWN,
			    .rule = "1.5"};

	if (!t->processes.n || end_ns <= t->run.start_ns)
		return -EINVAL;
	memset(ret_ledger, 0, sizeof(*ret_ledger));
	ret_ledger->start_ns = t->run.start_ns;
	ret_ledger->end_ns = end_ns;
	ret_ledger->strings = t;
	s.sub = trace_strf(t, "init: %s", t->processes.v[0].name ? t->processes.v[0].name : "root");
	rows_add_segment(ret_ledger, &s);
	return 0;
}
