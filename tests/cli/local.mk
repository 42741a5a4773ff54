# SPDX-License-Identifier: Apache-2.0
CLI_TESTS = %D%/status.sh %D%/signals.sh %D%/sacred.sh %D%/ready.sh %D%/starts.sh %D%/killed.sh %D%/terminal.sh %D%/agree.sh %D%/tier.sh %D%/refused.sh %D%/chatty.sh
TESTS += $(CLI_TESTS)
EXTRA_DIST += $(CLI_TESTS) %D%/cli.sh %D%/jobs.py %D%/job_guest.py

check_PROGRAMS += tests/cli/make_db
tests_cli_make_db_SOURCES = %D%/make_db.c tests/unit/traces.h
tests_cli_make_db_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_cli_make_db_LDADD = $(ROOM_LIBS)

TESTS += %D%/reports.sh
EXTRA_DIST += %D%/reports.sh %D%/same_rows.py

check_PROGRAMS += tests/cli/integrity
tests_cli_integrity_SOURCES = %D%/integrity.c
tests_cli_integrity_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_cli_integrity_LDADD = $(SQLITE_LIBS)
TESTS += %D%/disk_full.sh
EXTRA_DIST += %D%/disk_full.sh

TESTS += %D%/schema_man.sh
EXTRA_DIST += %D%/schema_man.sh
