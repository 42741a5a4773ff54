# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/clock.h \
	%D%/err.c %D%/err.h \
	%D%/fs.c %D%/fs.h \
	%D%/io.c %D%/io.h \
	%D%/mask.c %D%/mask.h \
	%D%/proc.c %D%/proc.h \
	%D%/program.c %D%/program.h \
	%D%/stack.c %D%/stack.h \
	%D%/str.c %D%/str.h \
	%D%/vec.c %D%/vec.h
