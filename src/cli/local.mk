# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += coldprof
coldprof_SOURCES = %D%/main.c %D%/cli.h %D%/opt.c %D%/help.c %D%/say.c \
	%D%/record.h %D%/facts.c %D%/files.c %D%/finish.c %D%/relay.c %D%/session.c %D%/start.c %D%/state.c %D%/stop.c \
	%D%/verb_record.c
coldprof_LDADD = $(ROOM_LIBS)
