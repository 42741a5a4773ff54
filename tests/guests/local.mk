# SPDX-License-Identifier: Apache-2.0

check_PROGRAMS += tests/guests/probe-dump
tests_guests_probe_dump_SOURCES = %D%/probe-dump.c
tests_guests_probe_dump_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/guests/wire-dump
tests_guests_wire_dump_SOURCES = %D%/wire-dump.c
tests_guests_wire_dump_LDADD = $(ROOM_LIBS)
