# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/environment.c %D%/environment.h \
	%D%/holder.c %D%/holder.h \
	%D%/http.c %D%/http.h \
	%D%/launch.c %D%/launch.h \
	%D%/listen.c %D%/listen.h \
	%D%/mark.c %D%/mark.h \
	%D%/outside.c %D%/outside.h \
	%D%/ready.c %D%/ready.h \
	%D%/residency.c %D%/residency.h \
	%D%/settle.c %D%/settle.h \
	%D%/tree.c %D%/tree.h \
	%D%/user.c %D%/user.h
