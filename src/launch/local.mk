# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/launch.c %D%/launch.h \
	%D%/user.c %D%/user.h
