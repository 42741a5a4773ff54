# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += coldprof
coldprof_SOURCES = %D%/main.c %D%/cli.h %D%/opt.c %D%/help.c %D%/say.c \
	%D%/record.h %D%/start.c %D%/start_facts.c %D%/start_files.c %D%/start_finish.c %D%/start_outside.c %D%/start_port.c \
	%D%/start_relay.c %D%/start_session.c %D%/start_state.c %D%/start_stop.c %D%/start_watch.c %D%/status_line.c %D%/status_line.h \
	%D%/verb_doctor.c %D%/verb_record.c
coldprof_LDADD = $(ROOM_LIBS)

# What reads a database.
coldprof_SOURCES += \
	%D%/delta_causes.c %D%/look.c %D%/look.h \
	%D%/report.c %D%/report.h %D%/rows.c %D%/rows.h \
	%D%/show_delta.c %D%/show_ledger.c %D%/show_ledger.h %D%/shown.c \
	%D%/until.c %D%/until.h \
	%D%/verb_diff.c %D%/verb_export.c %D%/verb_list.c %D%/verb_report.c

bashcompletiondir = @bashcompletiondir@
bashcompletion_DATA = src/cli/coldprof
src/cli/coldprof: $(top_srcdir)/src/cli/completion.bash
	$(AM_V_GEN)$(MKDIR_P) src/cli && cp $(top_srcdir)/src/cli/completion.bash $@
CLEANFILES += src/cli/coldprof
EXTRA_DIST += %D%/completion.bash
