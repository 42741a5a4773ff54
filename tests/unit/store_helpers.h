/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the store share. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "store/store.h"
#include "tests/tap.h"
#include "tests/unit/traces.h"

static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static struct store *must_open(const char *path, enum store_mode mode)
{
	struct store *s = NULL;
	struct err err = {0};

	if (store_open(path, mode, &s, &err) < 0)
		bail("%s", err.msg);
	return s;
}

/* The first value of the first row, asked of SQLite itself. */
static char *sql_text(const char *path, const char *sql)
{
	static char text[512];
	sqlite3_stmt *q;
	sqlite3 *db;

	snprintf(text, sizeof(text), "(nothing)");
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) ==
	    SQLITE_OK) {
		if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
			snprintf(text, sizeof(text), "%s", sqlite3_errmsg(db));
		else if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0))
			snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(q, 0));
		sqlite3_finalize(q);
	}
	sqlite3_close(db);
	return text;
}

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/coldprof-store.XXXXXX");
	if (!mkdtemp(folder))
		bail("no folder in /tmp");
}

static void remove_folder(void)
{
	if (fork() == 0)
		execlp("rm", "rm", "-rf", folder, NULL);
	wait(NULL);
}
