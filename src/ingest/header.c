/* SPDX-License-Identifier: Apache-2.0 */
/* Weight formats by their first bytes. */
#include <string.h>

#include "ingest/inside.h"

/* The format's own limit; more is another kind of file. */
#define SAFETENSORS_HEADER_MAX UINT64_C(100000000)
/* Formats that do not say where their header ends. */
#define UNSAID_HEADER_BYTES 4096

static uint64_t little_endian(const unsigned char *b, int n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | b[n];
	return v;
}

/* A zip whose first member is a pickle, as torch.save writes it. */
static bool is_torch_zip(const unsigned char *b, size_t n)
{
	static const char member[] = "data.pkl";
	size_t name, len = sizeof(member) - 1;

	if (n < 30 || memcmp(b, "PK\x03\x04", 4) != 0)
		return false;
	name = (size_t)little_endian(b + 26, 2);
	return name >= len && 30 + name <= n && memcmp(b + 30 + name - len, member, len) == 0;
}

/* Pickle protocol 2 of a long of ten bytes, 0x1950a86a20f9469cfc6c. */
static bool is_torch_legacy(const unsigned char *b, size_t n)
{
	static const unsigned char magic[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c,
					      0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

	return n >= sizeof(magic) && memcmp(b, magic, sizeof(magic)) == 0;
}

enum file_class header_class(const unsigned char *bytes, size_t n, uint64_t *ret_header_bytes)
{
	uint64_t json = n > 8 ? little_endian(bytes, 8) : 0;

	if (json >= 2 && json <= SAFETENSORS_HEADER_MAX && bytes[8] == '{') {
		*ret_header_bytes = 8 + json;
		return FILE_WEIGHTS;
	}
	if ((n >= 4 && memcmp(bytes, "GGUF", 4) == 0) ||
	    (n >= 5 && memcmp(bytes, "|TZR|", 5) == 0) || is_torch_zip(bytes, n) ||
	    is_torch_legacy(bytes, n)) {
		*ret_header_bytes = UNSAID_HEADER_BYTES;
		return FILE_WEIGHTS;
	}
	return FILE_OTHER;
}
