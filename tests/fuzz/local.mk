# SPDX-License-Identifier: Apache-2.0

check_PROGRAMS += tests/fuzz/ingest_fuzz
TESTS += tests/fuzz/ingest_fuzz
tests_fuzz_ingest_fuzz_SOURCES = %D%/ingest_fuzz.c tests/unit/wire_writer.h
tests_fuzz_ingest_fuzz_LDADD = $(ROOM_LIBS)
