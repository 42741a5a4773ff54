# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/csv.c %D%/csv.h
