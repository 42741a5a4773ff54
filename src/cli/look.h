/* SPDX-License-Identifier: Apache-2.0 */
/* How the terminal behind a stream is. */
#pragma once
#include <stdio.h>

#include "render/table.h"

/*
 * Colour only on a terminal that is not dumb and without NO_COLOR; as wide as the terminal, at most
 * 160, and 80 where it is none; UTF-8 as the locale says. Sets LC_CTYPE.
 */
struct look cli_look(FILE *out);
