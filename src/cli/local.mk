# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += coldprof
coldprof_SOURCES = %D%/main.c
coldprof_LDADD = $(ROOM_LIBS)
