#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nothing in the tree names a folder of one machine, no work is left marked for later, no case is named by a number.
. "$top_srcdir/tests/tap.sh"

# Spelt so that this file does not hold them.
paths="(^|[^A-Za-z0-9_.-])/(wor""k|tmp/w""t|tmp/b""-[a-z]|root/re""al)/"
marks="(TO""DO|FIX""ME|XX""X:|HA""CK:)"
# Numbers of a list that is not here: what they stand for is said instead.
cases="(^|[^A-Za-z0-9-])O-[0-9]{2}([^0-9]|$)"

check()
{
	sh "$top_srcdir/tests/house/files" "$1" | while read -r f; do
		case $f in
		*/corpus/*) continue ;;
		esac
		grep -EnI "$2" "$1/$f" | sed "s|^|$f:|"
	done
}

is "no path of one machine" "$(check "$top_srcdir" "$paths")" ""
is "no work marked for later" "$(check "$top_srcdir" "$marks")" ""
is "no case named by a number alone" "$(check "$top_srcdir" "$cases")" ""

mkdir "$tmp/t"
printf 'cd /wor%s/main\n' k >"$tmp/t/a.sh"
printf '/* TO%s: more */\n' DO >"$tmp/t/b.c"
like "such a path is found" "$(check "$tmp/t" "$paths")" '^a.sh:1:'
printf '# O-%s\n' 07 >"$tmp/t/c.sh"
like "such a case is found" "$(check "$tmp/t" "$cases")" '^c.sh:1:'
like "such a mark is found" "$(check "$tmp/t" "$marks")" '^b.c:1:'
done_testing
