/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/str.h"

/* One write, so that a line of ours is never cut by one of the guest's. */
void cli_say(const char *fmt, ...)
{
	struct str line = {0};
	va_list ap;

	str_add(&line, "coldprof: ");
	va_start(ap, fmt);
	str_vaddf(&line, fmt, ap);
	va_end(ap);
	str_add(&line, "\n");
	io_write_all(STDERR_FILENO, line.s, line.n);
	str_free(&line);
}

void cli_error(const struct err *err)
{
	if (err->hint[0])
		cli_say("%s\nhint: %s", err->msg[0] ? err->msg : "failed", err->hint);
	else
		cli_say("%s", err->msg[0] ? err->msg : "failed");
}

const char *cli_db(const char *given)
{
	const char *env = getenv("COLDPROF_DB");

	if (given)
		return given;
	return env && *env ? env : "coldprof.db";
}
