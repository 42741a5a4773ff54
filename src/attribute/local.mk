# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/actors.c \
	%D%/attribute.c %D%/attribute.h \
	%D%/deaths.c \
	%D%/delta.c %D%/delta.h \
	%D%/drive.c \
	%D%/compilers.c %D%/notes.c %D%/notes_tree.c %D%/notes.h \
	%D%/rows.c %D%/rows.h \
	%D%/segments.c %D%/segments.h \
	%D%/sight.c %D%/sight.h \
	%D%/states.c \
	%D%/sweep.c %D%/sweep.h \
	%D%/times.c \
	%D%/undriven.c \
	%D%/work.c \
	%D%/world.c %D%/world.h %D%/world_open.c
EXTRA_DIST += %D%/README
