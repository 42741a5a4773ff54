# SPDX-License-Identifier: Apache-2.0

check_PROGRAMS += tests/golden/engine_log_test
TESTS += tests/golden/engine_log_test
tests_golden_engine_log_test_SOURCES = %D%/engine_log_test.c
tests_golden_engine_log_test_LDADD = $(ROOM_LIBS)
EXTRA_DIST += \
	%D%/engine/vllm-cpu-eager.log %D%/engine/vllm-cpu-eager.spans \
	%D%/engine/vllm-cpu-compile.log %D%/engine/vllm-cpu-compile.spans \
	%D%/engine/vllm-cpu-recompile.log %D%/engine/vllm-cpu-recompile.spans
check_PROGRAMS += %D%/test_golden
%C%_test_golden_SOURCES = %D%/test_golden.c %D%/brute.c %D%/brute.h %D%/brute_state.c %D%/brute_world.c \
	%D%/brute_world.h %D%/start.c %D%/start.h
%C%_test_golden_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/%D%
%C%_test_golden_LDADD = libcoldprof.a
TESTS += %D%/test_golden

check_PROGRAMS += %D%/test_properties
%C%_test_properties_SOURCES = %D%/test_properties.c %D%/random_start.h %D%/brute.c %D%/brute.h %D%/brute_state.c %D%/brute_world.c \
	%D%/brute_world.h
%C%_test_properties_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/%D%
%C%_test_properties_LDADD = libcoldprof.a
TESTS += %D%/test_properties

check_PROGRAMS += %D%/test_delta
%C%_test_delta_SOURCES = %D%/test_delta.c
%C%_test_delta_LDADD = libcoldprof.a
TESTS += %D%/test_delta

check_PROGRAMS += %D%/test_notes
%C%_test_notes_SOURCES = %D%/test_notes.c
%C%_test_notes_LDADD = libcoldprof.a
TESTS += %D%/test_notes

check_PROGRAMS += %D%/test_growth
%C%_test_growth_SOURCES = %D%/test_growth.c
%C%_test_growth_LDADD = libcoldprof.a
TESTS += %D%/test_growth

EXTRA_DIST += %D%/attribution/README
EXTRA_DIST += %D%/attribution/01-one-process.txt
EXTRA_DIST += %D%/attribution/02-nesting.txt
EXTRA_DIST += %D%/attribution/03-spawn-chain.txt
EXTRA_DIST += %D%/attribution/04-late-rank.txt
EXTRA_DIST += %D%/attribution/05-only-asked.txt
EXTRA_DIST += %D%/attribution/06-overlap.txt
EXTRA_DIST += %D%/attribution/07-draft-model.txt
EXTRA_DIST += %D%/attribution/07b-profile-run.txt
EXTRA_DIST += %D%/attribution/08-loader-process.txt
EXTRA_DIST += %D%/attribution/09-dies.txt
EXTRA_DIST += %D%/attribution/10-not-a-server.txt
EXTRA_DIST += %D%/attribution/11-slow-disk.txt
EXTRA_DIST += %D%/attribution/12-late-gpu.txt
EXTRA_DIST += %D%/attribution/13-cuinit-in-imports.txt
EXTRA_DIST += %D%/attribution/14-small-modules.txt
EXTRA_DIST += %D%/attribution/15-trickle.txt
EXTRA_DIST += %D%/attribution/16-uncovered-worker.txt
EXTRA_DIST += %D%/attribution/17-no-compilers.txt
EXTRA_DIST += %D%/attribution/18-yield-spin.txt
EXTRA_DIST += %D%/attribution/20-times-unknown.txt
EXTRA_DIST += %D%/attribution/21-logged-above.txt
EXTRA_DIST += %D%/attribution/22-serving-up.txt
EXTRA_DIST += %D%/attribution/23-waits-on-child.txt
EXTRA_DIST += %D%/attribution/24-hangs.txt
EXTRA_DIST += %D%/attribution/25-import-holes.txt
EXTRA_DIST += %D%/attribution/26-package-built-at-start.txt
EXTRA_DIST += %D%/attribution/27-outlives-ready.txt
EXTRA_DIST += %D%/attribution/28-short-wait-on-child.txt
EXTRA_DIST += %D%/attribution/29-before-the-run.txt
EXTRA_DIST += %D%/attribution/30-touching-threads.txt
EXTRA_DIST += %D%/attribution/31-death.txt
EXTRA_DIST += %D%/attribution/32-collective.txt
