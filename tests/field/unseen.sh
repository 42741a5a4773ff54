#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What cannot be seen is said: the log lines and driver calls of programs that the library does not enter.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/field/field.sh"

line='(EngineCore pid=7) INFO 06-12 10:00:00 [default_loader.py:384] Loading weights took 0.01 seconds'
cat >"$tmp/say.c" <<'C'
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct timespec t;

	do /* long enough that a start without the library is no accident */
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while (t.tv_sec == 0 && t.tv_nsec < 60000000);
	return argc > 1 && write(1, argv[1], strlen(argv[1])) > 0 && write(1, "\n", 1) == 1 ? 0 : 1;
}
C
${CC:-cc} -o "$tmp/say" "$tmp/say.c" || bail "no compiler"
${CC:-cc} -static -o "$tmp/say-static" "$tmp/say.c" 2>/dev/null || rm -f "$tmp/say-static"

# lines: how many are kept; grave: what is said of those that are not
lines()
{
	ask "select count(*) from log where run = (select max(id) from run) and text like '%Loading weights took%'"
}
grave()
{
	ask "select severity || ' ' || text from diagnostics where run = (select max(id) from run) and text like '%log line%'"
}

record -q --tier 0 --until exit -- "$tmp/say" "$line"
is "tier 0: a line of its own write is seen" "$(lines)" 1
is "tier 0: and nothing said to be missing" "$(grave)" ""
if [ -x "$tmp/say-static" ]; then
	record -q --tier 0 --until exit -- "$tmp/say-static" "$line"
	is "tier 0, static: the line is not seen" "$(lines)" 0
	like "tier 0, static: which is said" "$(grave)" '^warning log lines are not seen'
	record -q --tier 0 --until exit -- sh -c '"$0" "$1"; :' "$tmp/say-static" "$line"
	like "tier 0, a static child: which is said" "$(grave)" '^warning processes that .* log lines are not seen'
	is "tier 0, a static child: by what it is" "$(ask "select uncovered from processes where run = (select max(id) from run)
		and name = 'say-static'")" static
	record -q --until exit -- "$tmp/say-static" "$line"
	if tier1; then
		is "tier 1, static: the line is seen" "$(lines)" 1
		is "tier 1, static: and nothing said to be missing" "$(grave)" ""
	else
		skip "tier 1, static" "needs the kernel side"
	fi
else
	skip "static programs" "no static libc"
fi
record -q --tier 0 --until exit -- env -i "$tmp/say" "$line"
like "tier 0, its environment cleared: which is said" "$(grave)" '^warning processes that .* log lines are not seen'
is "tier 0, its environment cleared: by what it is" "$(ask "select uncovered from processes where run =
	(select max(id) from run) and name = 'say'")" "environment cleared"
printf 'from time import sleep\nprint("ready", flush=True)\n' >"$tmp/say.py"
record -q --tier 0 --until exit -- "$python" "$tmp/say.py"
is "tier 0, Python: a line is seen" "$(ask "select text from log where run = (select max(id) from run)")" ready
done_testing
