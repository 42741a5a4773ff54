/* SPDX-License-Identifier: Apache-2.0 */
/* The patterns of the tables, each compiled once. */
#include <regex.h>

#include "engine/adapter.h"

struct compiled {
	const char *pattern;
	regex_t regex;
};

bool line_matches(const char *pattern, const char *line, int group, int *ret_from, int *ret_to)
{
	static struct compiled *known;
	static size_t n, cap;
	regmatch_t match[10];
	size_t i;

	for (i = 0; i < n && known[i].pattern != pattern; i++)
		;
	if (i == n) {
		if (n == cap)
			known = vec_grow(known, &cap, n + 1, sizeof(*known));
		known[n].pattern = pattern;
		/* The patterns are our own tables, and a test compiles each. */
		if (regcomp(&known[n].regex, pattern, REG_EXTENDED) != 0)
			return false;
		n++;
	}
	if (regexec(&known[i].regex, line, 10, match, 0) != 0)
		return false;
	if (ret_from)
		*ret_from = (int)match[group].rm_so;
	if (ret_to)
		*ret_to = (int)match[group].rm_eo;
	return true;
}
