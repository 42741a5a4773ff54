#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/summary: the sum of folders and of outputs, what failed by name, why something was skipped.
. "$top_srcdir/tests/tap.sh"

sum()
{
	sh "$top_srcdir/tests/summary" "$@"
}

mkdir -p "$tmp/run/a"
printf ':test-result: PASS\n:test-result: PASS\n:test-result: SKIP\n' >"$tmp/run/a/x.trs"
printf 'PASS: a/x 1 - one\nok 2 - two\nSKIP: a/x 3 - three # SKIP no rights\n' >"$tmp/run/a/x.log"
status "a folder without a failure" 0 sum "$tmp/run"
is "its skip is named with the reason, its sum is last" "$(cat "$tap_out")" \
	"SKIP: a/x 3 - three # SKIP no rights
2 passed, 0 failed, 1 skipped"

printf 'make: noise\nPASS: b/y 1 - one\nFAIL: b/y 2 - two\nERROR: b/y - exited with status 1\n' >"$tmp/out"
status "an output with a failure" 1 sum "$tmp/run" "$tmp/out"
is "both are summed" "$(tail -n 1 "$tap_out")" "3 passed, 2 failed, 1 skipped"
like "what failed is named" "$(cat "$tap_out")" '^FAIL: b/y 2 - two$'

mkdir "$tmp/none"
status "nothing ran: that is no success" 1 sum "$tmp/none"
is "it says so" "$(cat "$tap_out")" "0 passed, 0 failed, 0 skipped"
done_testing
