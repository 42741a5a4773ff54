/* SPDX-License-Identifier: Apache-2.0 */
/* Words and numbers for people. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "render/table.h"
#include "tests/tap.h"

static void shortens(const char *s, size_t width, bool utf8, const char *want)
{
	struct str got = {0};

	text_shorten(&got, s, width, utf8);
	is_str(str_get(&got), want, "'%s' in %zu columns", s, width);
	ok(text_width(str_get(&got), utf8) <= width, "  and no wider");
	str_free(&got);
}

#define SAYS(call, want)                                                                           \
	do {                                                                                       \
		struct str b = {0};                                                                \
                                                                                                   \
		call;                                                                              \
		is_str(str_get(&b), want, #call);                                                  \
		str_free(&b);                                                                      \
	} while (0)

/* A command may have megabytes. Work that grows with the square of them would not end here. */
static void shortens_much(void)
{
	enum { N = 2 << 20 };
	struct str got = {0};
	char *s = malloc(N + 1);

	memset(s, 'x', N);
	s[N] = 0;
	s[0] = '/';
	text_shorten(&got, s, 40, true);
	is_int((int64_t)text_width(str_get(&got), true), 40, "2 MB in 40 columns");
	str_free(&got);
	free(s);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		bail("no locale C.UTF-8");
	shortens("warm-up", 7, true, "warm-up");
	shortens("init: vllm, waiting on python -m models.registry", 26, true,
		 "init: vllm, waiti…registry");
	shortens("init: vllm, waiting on python -m models.registry", 26, false,
		 "init: vllm, wait...egistry");
	shortens("/usr/lib/python3/site-packages/torch/lib/libtorch.so", 20, true,
		 "/usr/l…b/libtorch.so");
	shortens("größer als alles übrige", 9, true, "größer…ge");
	shortens("a\tb", 10, true, "a\\x09b");
	shortens("日本語日本語", 7, true, "日本…語");
	shortens("four", 1, true, "f");
	shortens("four", 0, true, "");
	shortens_much();
	SAYS(text_ns(&b, 999), "999 ns");
	SAYS(text_ns(&b, 1500), "1.5 us");
	SAYS(text_ns(&b, UINT64_C(1234500000)), "1.234 s");
	SAYS(text_bytes(&b, 541100000), "541.1 MB");
	SAYS(text_rate(&b, 7910000000, 1000000000), "7.91 GB/s");
	return done_testing();
}
