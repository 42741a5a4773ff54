/* SPDX-License-Identifier: Apache-2.0 */
/* usage: integrity FILE: SQLite's own PRAGMA integrity_check, "ok" when the file is sound. */
#include <stdio.h>

#include <sqlite3.h>

static int print(void *arg, int n, char **values, char **names)
{
	(void)arg;
	(void)names;
	puts(n && values[0] ? values[0] : "");
	return 0;
}

int main(int argc, char **argv)
{
	char *why = NULL;
	sqlite3 *db;

	if (argc != 2)
		return 2;
	if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
	    sqlite3_exec(db, "PRAGMA integrity_check", print, NULL, &why) != SQLITE_OK) {
		printf("%s\n", why ? why : sqlite3_errmsg(db));
		return 1;
	}
	sqlite3_close(db);
	return 0;
}
