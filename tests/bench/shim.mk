# SPDX-License-Identifier: Apache-2.0
# The shim's cost (shim.sh).
check_LTLIBRARIES += %D%/libnull.la
tests_bench_libnull_la_SOURCES = %D%/null-driver.c
tests_bench_libnull_la_CFLAGS = $(PRELOAD_CFLAGS) -O2
tests_bench_libnull_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
check_PROGRAMS += %D%/calls %D%/spawn
tests_bench_calls_SOURCES = %D%/calls.c
tests_bench_calls_CFLAGS = -std=gnu17 $(WARN_CFLAGS) -O2
tests_bench_calls_LDFLAGS =
tests_bench_calls_LDADD = -ldl
tests_bench_spawn_SOURCES = %D%/spawn.c
tests_bench_spawn_CFLAGS = -std=gnu17 $(WARN_CFLAGS) -O2
tests_bench_spawn_LDFLAGS =
EXTRA_DIST += %D%/shim.sh
BENCHES += tests/bench/shim.sh
