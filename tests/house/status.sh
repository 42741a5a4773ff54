#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where a test asks for $? the line before is the command: behind an assertion it is the assertion's own, which is 0.
. "$top_srcdir/tests/tap.sh"

check()
{
	sh "$top_srcdir/tests/house/files" "$1" | grep '\.sh$' | while read -r f; do
		awk -v file="$f" '
			/^[[:space:]]*(#|$)/ { next }
			/"\$\?"/ && before ~ /^[[:space:]]*(ok|nok|is|like|unlike|skip|pass|fail|diag) / {
				print file ":" FNR
			}
			{ before = (continued ? before : $0); continued = /\\$/ }' "$1/$f"
	done
}

is "no test asks for the status of an assertion" "$(check "$top_srcdir")" ""

mkdir "$tmp/t"
# Spelt so that this file does not hold it.
sed 's/STATUS/"$?"/' >"$tmp/t/a.sh" <<'END'
run
is "good" STATUS 0
is "bad" STATUS 0
like "long" \
	"$(cat)" x

# A word.
is "bad too" STATUS 0
END
is "one that does is found" "$(check "$tmp/t" | tr '\n' ' ')" "a.sh:3 a.sh:8 "
done_testing
