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
# Twice the same programs: those of uncast.skel.h are for kernels before 6.2.
BPF_SKELETONS = bpf/coldprof.skel.h bpf/uncast.skel.h
BUILT_SOURCES += $(BPF_SKELETONS)
CLEANFILES += $(BPF_SKELETONS) $(BPF_SKELETONS:.skel.h=.bpf.o)
BPF_COMPILE = $(CLANG) -g -O2 -Wall -Wno-unused-function -target bpf -D__TARGET_ARCH_$(BPF_ARCH) $(LIBBPF_CFLAGS) \
	$(BPF_INCLUDES) -I$(top_srcdir)/bpf -I$(top_srcdir)/src -c $(top_srcdir)/bpf/coldprof.bpf.c

bpf/coldprof.bpf.o: $(BPF_INPUTS) src/wire/kernel.h
	@$(MKDIR_P) bpf
	$(AM_V_GEN)$(BPF_COMPILE) -o $@-t && mv $@-t $@

bpf/uncast.bpf.o: $(BPF_INPUTS) src/wire/kernel.h
	@$(MKDIR_P) bpf
	$(AM_V_GEN)$(BPF_COMPILE) -DWITHOUT_CASTS -o $@-t && mv $@-t $@

bpf/coldprof.skel.h: bpf/coldprof.bpf.o
	$(AM_V_GEN)$(BPFTOOL) gen skeleton bpf/coldprof.bpf.o name coldprof_bpf > $@-t && mv $@-t $@

bpf/uncast.skel.h: bpf/uncast.bpf.o
	$(AM_V_GEN)$(BPFTOOL) gen skeleton bpf/uncast.bpf.o name coldprof_uncast > $@-t && mv $@-t $@

# Before BUILT_SOURCES there is no dependency to go by.
src/probe/libcoldprof_a-bpf.$(OBJEXT) src/probe/libcoldprof_a-bpf_end.$(OBJEXT): $(BPF_SKELETONS)
endif
