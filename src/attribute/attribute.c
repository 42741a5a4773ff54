/* SPDX-License-Identifier: Apache-2.0 */
#include "attribute/attribute.h"

#include <errno.h>
#include <string.h>

#include "attribute/rows.h"
#include "attribute/world.h"

int attribute(struct trace *t, uint64_t end_ns, struct ledger *ret_ledger)
{
	struct world w;

	if (!t->processes.n || end_ns <= t->run.start_ns)
		return -EINVAL;
	memset(ret_ledger, 0, sizeof(*ret_ledger));
	ret_ledger->start_ns = t->run.start_ns;
	ret_ledger->end_ns = end_ns;
	world_open(&w, t, end_ns);
	drive(&w, ret_ledger);
	rows_fold_waits(ret_ledger, t);
	work_view(&w, ret_ledger);
	rows_sort(ret_ledger);
	notes_write(&w, ret_ledger);
	ret_ledger->steps = w.steps;
	world_close(&w);
	return 0;
}
