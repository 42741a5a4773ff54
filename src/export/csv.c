/* SPDX-License-Identifier: Apache-2.0 */
#include "export/csv.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "model/model.h"
#include "render/table.h"

static const struct {
	const char *name;
	enum unit unit;
} columns[] = {
	{"run", UNIT_ID},     {"label", UNIT_TEXT},	 {"started_at", UNIT_TIME},
	{"state", UNIT_TEXT}, {"ready_mark", UNIT_TEXT}, {"tier", UNIT_COUNT},
	{"item", UNIT_TEXT},  {"sub", UNIT_TEXT},	 {"evidence", UNIT_TEXT},
	{"wall_ns", UNIT_NS}, {"work_ns", UNIT_NS},	 {"bytes", UNIT_BYTES},
};

void export_csv_columns(struct table *t)
{
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		table_add_column(t, columns[i].name, columns[i].unit);
}

static void add_started_at(struct table *t, const struct run *run)
{
	uint64_t ns = run->wall_anchor_ns + run->start_ns - run->mono_anchor_ns;
	time_t seconds = (time_t)(ns / NS_PER_SEC);
	char text[64], full[80];
	struct tm tm;

	if (run->wall_anchor_ns == UNKNOWN || run->mono_anchor_ns == UNKNOWN ||
	    run->start_ns == UNKNOWN || !gmtime_r(&seconds, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm)) {
		table_add_unknown(t);
		return;
	}
	snprintf(full, sizeof(full), "%s.%03uZ", text, (unsigned)(ns / NS_PER_MS % 1000));
	table_add_text(t, full);
}

static void add_u64(struct table *t, uint64_t v)
{
	if (v == UNKNOWN)
		table_add_unknown(t);
	else
		table_add_int(t, (int64_t)v);
}

void export_csv_rows(struct table *t, const struct run *run, const struct ledger_row *rows,
		     size_t n)
{
	for (size_t i = 0; i < n; i++) {
		table_add_int(t, run->id);
		table_add_text(t, run->label);
		add_started_at(t, run);
		table_add_text(t, run->state);
		table_add_text(t, run->ready_mark);
		add_u64(t, run->tier < 0 ? UNKNOWN : (uint64_t)run->tier);
		table_add_text(t, item_word(rows[i].item));
		table_add_text(t, rows[i].sub);
		table_add_text(t, grade_word(rows[i].grade));
		add_u64(t, rows[i].wall_ns);
		add_u64(t, rows[i].work_ns);
		add_u64(t, rows[i].bytes);
	}
}
