# SPDX-License-Identifier: Apache-2.0
# Guests of the shim, and what they load.
check_LTLIBRARIES += %D%/librecorder.la %D%/libnext1.la %D%/libnext2.la %D%/libnext3.la %D%/libmalloc.la
GUEST_LIBRARY = -module -avoid-version -shared -rpath /nowhere
tests_guests_librecorder_la_SOURCES = %D%/recorder.c %D%/recorder.h
tests_guests_librecorder_la_CFLAGS = $(PRELOAD_CFLAGS)
tests_guests_librecorder_la_LDFLAGS = $(GUEST_LIBRARY) -Wl,-Bsymbolic
tests_guests_libnext1_la_SOURCES = %D%/next.c
tests_guests_libnext1_la_CFLAGS = $(PRELOAD_CFLAGS) -DNUMBER=1
tests_guests_libnext1_la_LDFLAGS = -avoid-version -shared -rpath /nowhere
tests_guests_libnext2_la_SOURCES = %D%/next.c
tests_guests_libnext2_la_CFLAGS = $(PRELOAD_CFLAGS) -DNUMBER=2
tests_guests_libnext2_la_LDFLAGS = -avoid-version -shared -rpath /nowhere
tests_guests_libnext3_la_SOURCES = %D%/next.c
tests_guests_libnext3_la_CFLAGS = $(PRELOAD_CFLAGS) -DNUMBER=3
tests_guests_libnext3_la_LDFLAGS = -avoid-version -shared -rpath /nowhere
tests_guests_libmalloc_la_SOURCES = %D%/preload-malloc.c
tests_guests_libmalloc_la_CFLAGS = $(PRELOAD_CFLAGS) -Wno-missing-prototypes -Wno-unused-result
tests_guests_libmalloc_la_LDFLAGS = $(GUEST_LIBRARY)

check_PROGRAMS += %D%/variants %D%/next-main
tests_guests_variants_SOURCES = %D%/variants.c tests/tap.h
tests_guests_variants_CFLAGS = -std=gnu17 $(WARN_CFLAGS)
tests_guests_variants_LDFLAGS =
tests_guests_variants_LDADD = -ldl
tests_guests_next_main_SOURCES = %D%/next-main.c
tests_guests_next_main_CFLAGS = -std=gnu17 $(WARN_CFLAGS)
tests_guests_next_main_LDFLAGS = -no-install -Wl,--no-as-needed
tests_guests_next_main_LDADD = %D%/libnext1.la %D%/libnext2.la %D%/libnext3.la -ldl

SHIM_TESTS = %D%/shim-abi.sh %D%/shim-cuda.sh %D%/shim-exec.sh %D%/shim-guests.sh %D%/shim-old-libc.sh %D%/shim-reach.sh %D%/shim-symbols.sh %D%/shim-variants.sh
TESTS += $(SHIM_TESTS)
EXTRA_DIST += $(SHIM_TESTS) %D%/shim.sh %D%/plain.c %D%/abi.cc

check_PROGRAMS += %D%/stunts %D%/execs %D%/execs-old %D%/spawn-old %D%/depth
# Bound at its start: what the loader does at a first call is not the call's.
tests_guests_depth_SOURCES = %D%/depth.c
tests_guests_depth_CFLAGS = -std=gnu17 $(WARN_CFLAGS)
tests_guests_depth_LDFLAGS = -Wl,-z,now
tests_guests_depth_LDADD = -lpthread
tests_guests_execs_SOURCES = %D%/execs.c
tests_guests_execs_CFLAGS = -std=gnu17 $(WARN_CFLAGS)
tests_guests_execs_LDFLAGS =
tests_guests_execs_old_SOURCES = %D%/execs.c
tests_guests_execs_old_CFLAGS = $(tests_guests_execs_CFLAGS) -DOLD_SPAWN
tests_guests_execs_old_LDFLAGS =
tests_guests_spawn_old_SOURCES = %D%/spawn-old.c
tests_guests_spawn_old_CFLAGS = -std=gnu17 $(WARN_CFLAGS) -fno-pie
tests_guests_spawn_old_LDFLAGS = -no-pie
tests_guests_stunts_SOURCES = %D%/stunts.c
tests_guests_stunts_CFLAGS = -std=gnu17 $(WARN_CFLAGS) -O1
tests_guests_stunts_LDFLAGS =
tests_guests_stunts_LDADD = -lpthread

# The same guest, linked with the driver (bound by the dynamic linker) and not.
check_PROGRAMS += %D%/cuda-guest %D%/cuda-guest-elf
tests_guests_cuda_guest_SOURCES = %D%/cuda-guest.c
tests_guests_cuda_guest_CFLAGS = -std=gnu17 $(WARN_CFLAGS)
tests_guests_cuda_guest_LDFLAGS =
tests_guests_cuda_guest_LDADD = -ldl
tests_guests_cuda_guest_elf_SOURCES = %D%/cuda-guest.c
tests_guests_cuda_guest_elf_CFLAGS = -std=gnu17 $(WARN_CFLAGS)
tests_guests_cuda_guest_elf_LDFLAGS = -no-install -Wl,--no-as-needed
tests_guests_cuda_guest_elf_LDADD = tests/fakecuda/libcuda.la -ldl

check_PROGRAMS += tests/unit/wire_test
TESTS += tests/unit/wire_test
tests_unit_wire_test_SOURCES = tests/unit/wire_test.c
tests_unit_wire_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_wire_test_LDADD = $(ROOM_LIBS)
