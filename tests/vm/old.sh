#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A kernel that is too old for the programs: one line says so, and the start has its ledger of tier 0.
. "$top_srcdir/tests/tap.sh"

coldprof=$top_builddir/coldprof
engine=$top_builddir/tests/engine/truth-engine
compare=$top_builddir/tests/engine/compare
[ -n "${COLDPROF_TEST_VM:-}" ] || skip_all "for the test machine, whose kernel is old"
"$engine" --make-model 16000000 "$tmp/model" || bail "no model"
why='tier 0: kernel probes cannot be loaded: Invalid argument \(Linux 5\.15 and newer take them\)'

"$coldprof" doctor >"$tmp/doctor"
is "doctor: one line why" "$(grep -Ec "$why" "$tmp/doctor")" 1
for tier in 1 0; do
	rm -f "$tmp/truth" "$tmp/db"
	status "tier $tier: a start" 0 timeout 100 "$coldprof" -q --tier $tier -n 1 --as-is --db "$tmp/db" -- "$engine" \
		--truth "$tmp/truth" --model "$tmp/model" --driver fake --init 500 --port 8123
	ok "tier $tier: its ledger" "$compare" --db "$tmp/db" --run 1 --truth "$tmp/truth" --share 8
	is "tier $tier: of tier 0" "$("$coldprof" report ledger --run 1 --db "$tmp/db" --format json | grep -o '"tier":[0-9]')" '"tier":0'
	"$coldprof" report diagnostics --run 1 --db "$tmp/db" --format csv | grep ',warning,' >"$tmp/warnings"
	is "tier $tier: warnings" "$(grep -c . "$tmp/warnings")" $tier
done
done_testing
