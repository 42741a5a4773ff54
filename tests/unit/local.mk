# SPDX-License-Identifier: Apache-2.0

check_PROGRAMS += tests/unit/engine_test
TESTS += tests/unit/engine_test
tests_unit_engine_test_SOURCES = %D%/engine_test.c
tests_unit_engine_test_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/unit/engine_lines_test
TESTS += tests/unit/engine_lines_test
tests_unit_engine_lines_test_SOURCES = %D%/engine_lines_test.c
tests_unit_engine_lines_test_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/unit/store_test
TESTS += tests/unit/store_test
tests_unit_store_test_SOURCES = %D%/store_test.c %D%/store_helpers.h %D%/traces.h
tests_unit_store_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(SQLITE_CFLAGS)
tests_unit_store_test_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/unit/render_text_test
TESTS += tests/unit/render_text_test
tests_unit_render_text_test_SOURCES = %D%/render_text_test.c
tests_unit_render_text_test_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/unit/mask_test
TESTS += tests/unit/mask_test
tests_unit_mask_test_SOURCES = %D%/mask_test.c
tests_unit_mask_test_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/unit/ingest_test tests/unit/ingest_files_test tests/unit/ingest_match_test
TESTS += tests/unit/ingest_test tests/unit/ingest_files_test tests/unit/ingest_match_test
tests_unit_ingest_match_test_SOURCES = %D%/ingest_match_test.c %D%/ingest_trace.h %D%/wire_writer.h
tests_unit_ingest_match_test_LDADD = $(ROOM_LIBS)
tests_unit_ingest_files_test_SOURCES = %D%/ingest_files_test.c %D%/ingest_trace.h %D%/wire_writer.h
tests_unit_ingest_files_test_LDADD = $(ROOM_LIBS)
tests_unit_ingest_test_SOURCES = %D%/ingest_test.c %D%/ingest_trace.h %D%/wire_writer.h
tests_unit_ingest_test_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/unit/probe_tree_test tests/unit/probe_file_test
TESTS += tests/unit/probe_tree_test tests/unit/probe_file_test
tests_unit_probe_tree_test_SOURCES = tests/unit/probe_tree_test.c tests/unit/probe_run.h
tests_unit_probe_tree_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_probe_tree_test_LDADD = $(ROOM_LIBS)
tests_unit_probe_file_test_SOURCES = tests/unit/probe_file_test.c tests/unit/probe_run.h
tests_unit_probe_file_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_probe_file_test_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/unit/probe_times_test
TESTS += tests/unit/probe_times_test
tests_unit_probe_times_test_SOURCES = %D%/probe_times_test.c
tests_unit_probe_times_test_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/unit/store_open_test
TESTS += tests/unit/store_open_test
tests_unit_store_open_test_SOURCES = %D%/store_open_test.c %D%/store_helpers.h %D%/traces.h
tests_unit_store_open_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(SQLITE_CFLAGS)
tests_unit_store_open_test_LDADD = $(ROOM_LIBS)

TESTS += tests/unit/probe_nobody.sh tests/unit/probe_chroot.sh
EXTRA_DIST += tests/unit/probe_nobody.sh tests/unit/probe_chroot.sh

check_PROGRAMS += tests/unit/program_test
TESTS += tests/unit/program_test
tests_unit_program_test_SOURCES = %D%/program_test.c
tests_unit_program_test_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/unit/ready_test
TESTS += tests/unit/ready_test
tests_unit_ready_test_SOURCES = %D%/ready_test.c
tests_unit_ready_test_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/unit/proc_test
TESTS += tests/unit/proc_test
tests_unit_proc_test_SOURCES = %D%/proc_test.c
tests_unit_proc_test_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/unit/living_test
TESTS += tests/unit/living_test
tests_unit_living_test_SOURCES = %D%/living_test.c
tests_unit_living_test_LDADD = $(ROOM_LIBS)
