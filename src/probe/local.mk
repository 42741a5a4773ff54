# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/inside.h \
	%D%/listen.c \
	%D%/probe.c %D%/probe.h \
	%D%/procfs.c \
	%D%/sample.c \
	%D%/tree.c
