# SPDX-License-Identifier: Apache-2.0
REPORTS = \
	%D%/coverage.sql \
	%D%/cuda.sql \
	%D%/diagnostics.sql \
	%D%/files.sql \
	%D%/graphs.sql \
	%D%/imports.sql \
	%D%/jit.sql \
	%D%/ledger.sql \
	%D%/list.sql \
	%D%/processes.sql \
	%D%/readiness.sql \
	%D%/state.sql

reportsdir = $(pkgdatadir)/reports
dist_reports_DATA = $(REPORTS)
dist_noinst_SCRIPTS += %D%/embed.awk

# The program carries its reports: struct report store_reports[] of src/store/report.h.
nodist_libcoldprof_a_SOURCES += reports/embedded.c
reports/embedded.c: $(REPORTS) %D%/embed.awk
	$(AM_V_GEN)$(MKDIR_P) reports && \
	files= && for f in $(REPORTS); do test -f $$f || f=$(srcdir)/$$f; files="$$files $$f"; done && \
	LC_ALL=C $(AWK) -f $(srcdir)/reports/embed.awk $$files >$@-t && mv $@-t $@
CLEANFILES += reports/embedded.c
