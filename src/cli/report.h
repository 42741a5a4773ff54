/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on a stream, in the format that was asked for. */
#pragma once
#include <stdint.h>
#include <stdio.h>

struct err;
struct shown;
struct store;

/*
 * Any report but the ledger. `run` negative: it is about
 * the whole database. Returns: 0 or -errno with `err`.
 */
int report_print(FILE *out, struct store *s, const char *name, int64_t run, int format,
		 struct err *err);
/* The ledger: the table for people, the JSON of its own shape, CSV as `export csv`, Markdown. */
int report_print_ledger(FILE *out, const struct shown *shown, int format, struct err *err);
/* The error of a stream that took no more: full disk, closed pipe. */
int report_stream_error(struct err *err);
