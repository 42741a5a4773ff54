#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A guest that writes line after line: it is not held up at each, its lines take no memory without end, and a mark in
# the last of them is seen.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/cli/cli.sh"

cat >"$tmp/chatty.py" <<'END'
import os, sys
n, told = int(sys.argv[1]), sys.argv[2]
for i in range(n):
    os.write(1, b"line %d of a server that tells all that it does, and tells it at length: %050d\n" % (i, i))
with open("/proc/%d/status" % os.getppid()) as f, open(told, "w") as t:
    t.writelines(l for l in f if l.startswith(("voluntary", "VmHWM")))
os.write(1, b"this was the last one\n")
os.execvp("sleep", ["sleep", "600"])
END
of()
{
	sed -n "s/^$1:[^0-9]*\([0-9]*\).*/\1/p" "$tmp/told"
}
# At tier 0 the shim tells the lines, and they share its memory with all else: so many of them fit.
run -q --until exit -- true
tier=$(ask 'select tier from run')
n=10000
[ "$tier" = 0 ] || n=200000
run -n 1 -q --until 'log:the last one' -- python3 "$tmp/chatty.py" $n "$tmp/told" >"$tmp/out" 2>"$tmp/err"
is "ready by its last line" "$?" 0
is "all of them came out" "$(wc -l <"$tmp/out")" $((n + 1))
if [ "$tier" = 1 ]; then
	ok "woken less than once in ten lines" test "$(of voluntary_ctxt_switches)" -lt $((n / 10))
	ok "at most 64 MiB of memory" test "$(of VmHWM)" -lt 65536
else
	skip "woken less than once in ten lines" "tier 0"
	skip "at most 64 MiB of memory" "tier 0"
fi
done_testing
