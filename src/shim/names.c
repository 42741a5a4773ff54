/* SPDX-License-Identifier: Apache-2.0 */
/* What hooks.def says of each hook, as tables. */
#include "shim/shim.h"

/* Names in one block with offsets: a table of pointers would cost each process its relocations. */
static const struct names {
#define CALL(symbol, ...)    char symbol[sizeof(#symbol)];
#define COPY(symbol, ...)    char symbol[sizeof(#symbol)];
#define SPECIAL(symbol, ...) char symbol[sizeof(#symbol)];
#define LIBC(symbol)	     char symbol[sizeof(#symbol)];
#include "shim/hooks.def"
} names = {
#define CALL(symbol, ...)    #symbol,
#define COPY(symbol, ...)    #symbol,
#define SPECIAL(symbol, ...) #symbol,
#define LIBC(symbol)	     #symbol,
#include "shim/hooks.def"
};

static const uint16_t name_at[] = {
#define CALL(symbol, ...)    offsetof(struct names, symbol),
#define COPY(symbol, ...)    offsetof(struct names, symbol),
#define SPECIAL(symbol, ...) offsetof(struct names, symbol),
#include "shim/hooks.def"
};

static const uint16_t libc_name_at[] = {
#define LIBC(symbol) offsetof(struct names, symbol),
#include "shim/hooks.def"
};

static const uint8_t class_of[] = {
#define CALL(symbol, cls, ...)	  WIRE_CLASS_##cls,
#define COPY(symbol, ...)	  WIRE_CLASS_COPY,
#define SPECIAL(symbol, cls, ...) WIRE_CLASS_##cls,
#include "shim/hooks.def"
};

const char *hook_name(unsigned hook)
{
	return (const char *)&names + name_at[hook];
}

uint8_t hook_class(unsigned hook)
{
	return class_of[hook];
}

const char *libc_name(enum libc_hook hook)
{
	return (const char *)&names + libc_name_at[hook];
}
