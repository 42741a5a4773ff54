# SPDX-License-Identifier: Apache-2.0
# A libcuda.so.1 for machines without a GPU; never installed, found in its build folder.
noinst_LTLIBRARIES += %D%/libcuda.la
%C%_libcuda_la_SOURCES = \
	%D%/copy.c \
	%D%/entries.def \
	%D%/fake.h %D%/fakecuda.h \
	%D%/memory.c \
	%D%/model.c \
	%D%/resolve.c \
	%D%/work.c
%C%_libcuda_la_CFLAGS = $(PRELOAD_CFLAGS) -Wno-missing-prototypes
%C%_libcuda_la_LDFLAGS = -shared -version-info 1:0:0 -rpath /nowhere -Wl,-Bsymbolic -Wl,-z,defs
%C%_libcuda_la_LIBADD = -lpthread

check_PROGRAMS += %D%/fake-test
%C%_fake_test_SOURCES = %D%/fake-test.c
%C%_fake_test_CFLAGS = -std=gnu17 $(WARN_CFLAGS)
%C%_fake_test_LDFLAGS =
%C%_fake_test_LDADD = -ldl -lpthread
TESTS += %D%/fake-test

EXTRA_DIST += %D%/README
