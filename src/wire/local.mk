# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/event.h \
	%D%/kernel.h \
	%D%/reader.c \
	%D%/ring.c \
	%D%/ring.h \
	%D%/session.c \
	%D%/session.h
