/* SPDX-License-Identifier: Apache-2.0 */
/* The export map, by the preprocessor: no versions, so that a reference with any version binds. */
{
global:
#define CALL(symbol, ...)    symbol;
#define COPY(symbol, ...)    symbol;
#define SPECIAL(symbol, ...) symbol;
#define LIBC(symbol)	     symbol;
#include "shim/hooks.def"
local:
	*;
};
