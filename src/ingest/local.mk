# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/access.c \
	%D%/coalesce.c \
	%D%/cuda.c \
	%D%/files.c \
	%D%/guests.c \
	%D%/header.c \
	%D%/ingest.c %D%/ingest.h \
	%D%/inside.h \
	%D%/lines.c \
	%D%/mapped.c \
	%D%/match.c \
	%D%/memory.c \
	%D%/roles.c \
	%D%/state.c \
	%D%/touch.c
