# SPDX-License-Identifier: Apache-2.0

check_PROGRAMS += %D%/store_bench %D%/pair %D%/ops
tests_bench_store_bench_SOURCES = %D%/store_bench.c tests/unit/traces.h
tests_bench_store_bench_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(SQLITE_CFLAGS)
tests_bench_store_bench_LDADD = $(ROOM_LIBS)
tests_bench_pair_SOURCES = %D%/pair.c
tests_bench_ops_SOURCES = %D%/ops.c
tests_bench_ops_LDADD = -lpthread

# `make bench`: one line a figure: name ours reference ratio goal ok|SHORT. No figure makes it fail.
BENCHES = %D%/start.sh %D%/rooms.sh
EXTRA_DIST += %D%/start.sh %D%/rooms.sh %D%/vllm.starts
include tests/bench/shim.mk

bench: all
	@$(MAKE) $(AM_MAKEFLAGS) check TESTS= >/dev/null
	@$(AM_TESTS_ENVIRONMENT) for b in $(BENCHES); do $(SHELL) $(top_srcdir)/$$b || echo "# $$b: no figures"; done
PHONY_EXTRA += bench
