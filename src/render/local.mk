# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/csv.c \
	%D%/grid.c \
	%D%/json.c \
	%D%/lines.c %D%/lines.h \
	%D%/markdown.c \
	%D%/table.c %D%/table.h \
	%D%/text.c
