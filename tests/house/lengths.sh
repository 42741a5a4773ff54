#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No source file is longer than 500 lines, blank ones not counted. One is let be: the rules of the
# ledger in their slowest form, which are read from top to bottom beside src/attribute/README.
. "$top_srcdir/tests/tap.sh"

limit=500
check()
{
	sh "$top_srcdir/tests/house/files" "$1" | while read -r f; do
		case $f in
		tests/golden/brute.c) continue ;;
		*.c | *.h | *.S | *.def | *.sh | *.py | *.sql | *.mk | *.awk | bootstrap | .ci/* | src/*/README) ;;
		*) continue ;;
		esac
		n=$(grep -c . "$1/$f")
		[ "$n" -le "$limit" ] || echo "$f: $n lines"
	done
}

is "no file is longer than $limit lines" "$(check "$top_srcdir")" ""

mkdir "$tmp/t"
seq 1 $limit >"$tmp/t/fits.c"
seq 0 $limit >"$tmp/t/long.c"
is "a longer one is found" "$(check "$tmp/t")" "long.c: $((limit + 1)) lines"
done_testing
