# SPDX-License-Identifier: Apache-2.0

check_PROGRAMS += tests/guests/probe-dump
tests_guests_probe_dump_SOURCES = %D%/probe-dump.c
tests_guests_probe_dump_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/guests/wire-dump
tests_guests_wire_dump_SOURCES = %D%/wire-dump.c
tests_guests_wire_dump_LDADD = $(ROOM_LIBS)

check_PROGRAMS += tests/guests/serve tests/guests/witness
tests_guests_serve_SOURCES = %D%/serve.c
tests_guests_witness_SOURCES = %D%/witness.c
tests_guests_serve_CFLAGS = -std=gnu17 $(WARN_CFLAGS)
tests_guests_witness_CFLAGS = -std=gnu17 $(WARN_CFLAGS)

check_PROGRAMS += tests/guests/transfer
tests_guests_transfer_SOURCES = %D%/transfer.c
tests_guests_transfer_CFLAGS = -std=gnu17 $(WARN_CFLAGS)

include tests/guests/shim.mk
