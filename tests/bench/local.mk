# SPDX-License-Identifier: Apache-2.0

EXTRA_PROGRAMS += tests/bench/store_bench
tests_bench_store_bench_SOURCES = %D%/store_bench.c tests/unit/traces.h
tests_bench_store_bench_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(SQLITE_CFLAGS)
tests_bench_store_bench_LDADD = $(ROOM_LIBS)

# `make bench`: one line a figure: name ours reference ratio goal ok|SHORT.
BENCHES =
include tests/bench/shim.mk

bench: all
	@$(MAKE) $(AM_MAKEFLAGS) check TESTS= >/dev/null
	@$(AM_TESTS_ENVIRONMENT) for b in $(BENCHES); do $(SHELL) $(top_srcdir)/$$b || exit 1; done
PHONY_EXTRA += bench
