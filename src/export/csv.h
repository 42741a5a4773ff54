/* SPDX-License-Identifier: Apache-2.0 */
/* Ledgers as CSV: one line a ledger row, the run's own columns before it. */
#pragma once
#include <stddef.h>

struct ledger_row;
struct run;
struct table;

/*
 * Columns `run,label,started_at,state,ready_mark,tier,item,sub,evidence,wall_ns,work_ns,bytes`: an
 * empty table that export_csv_rows() fills and render_csv() writes.
 */
void export_csv_columns(struct table *t);
void export_csv_rows(struct table *t, const struct run *run, const struct ledger_row *rows,
		     size_t n);
