# SPDX-License-Identifier: Apache-2.0
BPF_INPUTS = \
	%D%/coldprof.bpf.c \
	%D%/fault.bpf.c \
	%D%/fill.bpf.c \
	%D%/finish.bpf.c \
	%D%/io.bpf.c \
	%D%/kernel_types.h \
	%D%/listen.bpf.c \
	%D%/mapped.bpf.c \
	%D%/mapped.bpf.h \
	%D%/path.bpf.h \
	%D%/slots.bpf.h \
	%D%/state.bpf.h \
	%D%/times.bpf.c \
	%D%/times.bpf.h \
	%D%/tree.bpf.c \
	%D%/uring.bpf.c
EXTRA_DIST += $(BPF_INPUTS)

if BPF
libcoldprof_a_CPPFLAGS += -I$(top_builddir)/bpf
BUILT_SOURCES += bpf/coldprof.skel.h
CLEANFILES += bpf/coldprof.skel.h bpf/coldprof.bpf.o

bpf/coldprof.bpf.o: $(BPF_INPUTS) src/wire/kernel.h
	@$(MKDIR_P) bpf
	$(AM_V_GEN)$(CLANG) -g -O2 -Wall -Wno-unused-function -target bpf -D__TARGET_ARCH_$(BPF_ARCH) $(LIBBPF_CFLAGS) $(BPF_INCLUDES) \
		-I$(top_srcdir)/bpf -I$(top_srcdir)/src -c $(top_srcdir)/bpf/coldprof.bpf.c -o $@-t && mv $@-t $@

bpf/coldprof.skel.h: bpf/coldprof.bpf.o
	$(AM_V_GEN)$(BPFTOOL) gen skeleton bpf/coldprof.bpf.o name coldprof_bpf > $@-t && mv $@-t $@

# Before BUILT_SOURCES there is no dependency to go by.
src/probe/libcoldprof_a-bpf.$(OBJEXT) src/probe/libcoldprof_a-bpf_end.$(OBJEXT): bpf/coldprof.skel.h
endif
