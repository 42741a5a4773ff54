# SPDX-License-Identifier: Apache-2.0
# The truth engine is a guest: no sanitizer, nothing of coldprof in it.
ENGINE_CFLAGS = -std=gnu17 $(WARN_CFLAGS)

noinst_PROGRAMS += %D%/truth-engine
%C%_truth_engine_SOURCES = \
	%D%/device.c \
	%D%/engine.h \
	%D%/graphs.c \
	%D%/jit.c \
	%D%/loader.c \
	%D%/main.c \
	%D%/model.c \
	%D%/ranks.c \
	%D%/say.c \
	%D%/server.c \
	%D%/truth.c
%C%_truth_engine_CFLAGS = $(ENGINE_CFLAGS)
%C%_truth_engine_LDFLAGS =
%C%_truth_engine_LDADD = -ldl -lpthread

noinst_LTLIBRARIES += %D%/route-elf.la
%C%_route_elf_la_SOURCES = %D%/route-elf.c
%C%_route_elf_la_CFLAGS = $(PRELOAD_CFLAGS)
%C%_route_elf_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
%C%_route_elf_la_LIBADD = tests/fakecuda/libcuda.la

noinst_PROGRAMS += %D%/compare
%C%_compare_SOURCES = %D%/compare.c %D%/judge.h %D%/truth_view.c %D%/truth_wall.c
%C%_compare_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
%C%_compare_LDADD = $(ROOM_LIBS) -lm
TESTS += %D%/compare.sh
EXTRA_DIST += %D%/compare.sh
TESTS += %D%/engine.sh
TESTS += %D%/declared.sh
EXTRA_DIST += %D%/declared.sh %D%/engine.sh %D%/ledger.sh

# The matrix measures: last, and alone, whatever -j says.
TESTS += %D%/ledger.sh
%D%/ledger.log: $(filter-out %D%/ledger.log,$(TEST_LOGS))
