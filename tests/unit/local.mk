# SPDX-License-Identifier: Apache-2.0

check_PROGRAMS += tests/unit/engine_test
TESTS += tests/unit/engine_test
tests_unit_engine_test_SOURCES = %D%/engine_test.c
tests_unit_engine_test_LDADD = $(ROOM_LIBS)
