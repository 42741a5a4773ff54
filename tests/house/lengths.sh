#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No source file is longer than 500 lines, blank ones not counted, and no function longer than 70.
. "$top_srcdir/tests/tap.sh"

limit=500
function_limit=70

files()
{
	sh "$top_srcdir/tests/house/files" "$1" | while read -r f; do
		case $f in
		*.c | *.h | *.S | *.def | *.sh | *.py | *.sql | *.mk | *.awk | bootstrap | .ci/* | src/*/README)
			echo "$f" ;;
		esac
	done
}

check()
{
	files "$1" | while read -r f; do
		n=$(grep -c . "$1/$f")
		[ "$n" -le "$limit" ] || echo "$f: $n lines"
	done
}

# A body begins with a brace in the first column and ends with one.
check_functions()
{
	files "$1" | grep '\.[ch]$' | while read -r f; do
		awk -v file="$f" -v limit="$function_limit" '
			/^[A-Za-z_].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
			/^\{/ { from = FNR }
			/^\}/ && from {
				if (FNR - from + 1 > limit)
					printf "%s: %s: %d lines\n", file, name, FNR - from + 1
				from = 0
			}' "$1/$f"
	done
}

is "no file is longer than $limit lines" "$(check "$top_srcdir")" ""
is "no function is longer than $function_limit lines" "$(check_functions "$top_srcdir")" ""

mkdir "$tmp/t"
seq 1 $limit >"$tmp/t/fits.c"
seq 0 $limit >"$tmp/t/long.c"
is "a longer file is found" "$(check "$tmp/t")" "long.c: $((limit + 1)) lines"
{
	printf 'static int fits(int a)\n{\n'
	seq 3 $function_limit
	printf '}\n\nstatic char *longer(int a,\n\t\t    int b)\n{\n'
	seq 2 $function_limit
	printf '}\n'
} >"$tmp/t/f.c"
is "a longer function is found" "$(check_functions "$tmp/t")" "f.c: longer: $((function_limit + 1)) lines"
done_testing
