# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/attribute.c %D%/attribute.h \
	%D%/rows.c %D%/rows.h
