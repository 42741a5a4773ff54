/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of the store as tables of render. */
#pragma once
#include <stdint.h>

struct err;
struct store;
struct table;

/*
 * Run the report `name`, whose text is `sql`, on `run`; units come
 * from its header. Owns: table_free(). Returns: 0 or -errno with `err`.
 */
int rows_of_report(struct store *s, const char *name, const char *sql, int64_t run,
		   struct table *ret_table, struct err *err);
