# SPDX-License-Identifier: Apache-2.0
libcoldprof_a_SOURCES += \
	%D%/internal.h \
	%D%/layout.c \
	%D%/load.c \
	%D%/put.c \
	%D%/report.c %D%/report.h \
	%D%/store.c %D%/store.h \
	%D%/totals.c
nodist_libcoldprof_a_SOURCES += src/store/schema_sql.c

dist_pkgdata_DATA += %D%/schema.sql

# A C string literal a line of text, so that the program carries its schema.
src/store/schema_sql.c: $(top_srcdir)/%D%/schema.sql
	$(AM_V_GEN)$(MKDIR_P) src/store && \
	{ echo '#include "store/internal.h"'; echo 'const char store_schema_sql[] ='; \
	$(SED) -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/	"/' -e 's/$$/\\n"/' $(top_srcdir)/%D%/schema.sql; \
	echo ';'; } >$@-t && mv $@-t $@
CLEANFILES += src/store/schema_sql.c
