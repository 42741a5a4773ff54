# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/access.c \
	%D%/bpf.c %D%/bpf.h \
	%D%/bpf_end.c \
	%D%/files.c \
	%D%/inside.h \
	%D%/listen.c \
	%D%/log.c \
	%D%/maps.c \
	%D%/perf.c \
	%D%/pidns.c \
	%D%/probe.c %D%/probe.h \
	%D%/procfs.c \
	%D%/records.c \
	%D%/sample.c \
	%D%/times.c \
	%D%/tree.c
