# SPDX-License-Identifier: Apache-2.0
# Loaded into guests: nothing but libc, and of that nothing younger than 2.17 (tests/guests/shim-symbols.sh).
pkglib_LTLIBRARIES += libcoldprof-shim.la
libcoldprof_shim_la_SOURCES = \
	%D%/abi.h \
	%D%/abi_check.c \
	%D%/attach.c \
	%D%/elf.c \
	%D%/exec.c \
	%D%/guard.c \
	%D%/guest.c \
	%D%/hooks.def \
	%D%/hooks_cuda.c \
	%D%/hooks_libc.c \
	%D%/leave.c \
	%D%/libc.c \
	%D%/names.c \
	%D%/record.c \
	%D%/record_io.c \
	%D%/resolve.c \
	%D%/shim.h \
	%D%/start.c \
	%D%/sys.h \
	src/wire/session.c
EXTRA_libcoldprof_shim_la_SOURCES = %D%/dlsym-x86_64.S %D%/dlsym-aarch64.S
if ARCH_X86_64
libcoldprof_shim_la_SOURCES += %D%/dlsym-x86_64.S
else
libcoldprof_shim_la_SOURCES += %D%/dlsym-aarch64.S
endif
# No stack protector: its failure handler would end the guest. No builtin may turn a loop of ours into a call of memcpy,
# which the guest may have replaced. Its threads may have small stacks.
libcoldprof_shim_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -U_FORTIFY_SOURCE
libcoldprof_shim_la_CFLAGS = $(PRELOAD_CFLAGS) -O2 -fno-stack-protector -ftls-model=initial-exec \
	-Wframe-larger-than=2048 $(LOOP_CFLAGS) -fasynchronous-unwind-tables
# Bound at once: the loader takes 3 kB of stack to bind three names at their first call, anywhere.
# No RELRO: it would split a mapping and cost each process 10 us, while the pointers that count lie in .bss.
libcoldprof_shim_la_LDFLAGS = -module -avoid-version -shared -Wl,-z,defs -Wl,-Bsymbolic -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,-z,now \
	-Wl,--version-script,$(top_builddir)/src/shim/shim.map
libcoldprof_shim_la_DEPENDENCIES = src/shim/shim.map
EXTRA_DIST += %D%/map.h
CLEANFILES += src/shim/shim.map

src/shim/shim.map: $(top_srcdir)/src/shim/map.h $(top_srcdir)/src/shim/hooks.def
	$(AM_V_GEN)$(MKDIR_P) src/shim && $(CPP) -P -I$(top_srcdir)/src $(top_srcdir)/src/shim/map.h -o $@-t && mv $@-t $@
