/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/look.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEFAULT_WIDTH 80
#define MIN_WIDTH     60
#define MAX_WIDTH     160

struct look cli_look(FILE *out)
{
	const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
	struct look look = {.width = DEFAULT_WIDTH};
	struct winsize ws;

	setlocale(LC_CTYPE, "");
	look.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	look.tty = isatty(fileno(out));
	if (!look.tty)
		return look;
	look.colour = (!no_colour || !*no_colour) && term && strcmp(term, "dumb") != 0;
	if (ioctl(fileno(out), TIOCGWINSZ, &ws) == 0 && ws.ws_col)
		look.width = ws.ws_col < MIN_WIDTH   ? MIN_WIDTH
			     : ws.ws_col > MAX_WIDTH ? MAX_WIDTH
						     : ws.ws_col;
	return look;
}
