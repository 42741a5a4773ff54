#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whole starts inside the test machine: coldprof's ledger of the truth engine, held against its log by
# bytes and by shares of the wall (emulation makes every call of ours dear beside a real machine).
. "$top_srcdir/tests/tap.sh"

coldprof=$top_builddir/coldprof
engine=$top_builddir/tests/engine/truth-engine
compare=$top_builddir/tests/engine/compare
for program in "$coldprof" "$engine" "$compare"; do
	[ -x "$program" ] || bail "$program is not built"
done
[ -n "${COLDPROF_TEST_VM:-}" ] || skip_all "for the test machine, which is its own"
"$engine" --make-model 48000000 "$tmp/model" || bail "no model"
sync

# usage: try NAME WORD OPTION...: a start, cold or warm by WORD, and the comparison of the two views
try()
{
	name=$1
	word=$2
	shift 2
	rm -f "$tmp/truth" "$tmp/db"
	[ "$word" = warm ] || echo 3 >/proc/sys/vm/drop_caches
	if timeout 100 "$coldprof" -q --tier 1 -n 1 --as-is --db "$tmp/db" -- "$engine" --truth "$tmp/truth" \
		--model "$tmp/model" --driver fake --init 1000 --port 8123 "$@" >"$tmp/out" 2>&1; then
		ok "$name" "$compare" --db "$tmp/db" --run 1 --truth "$tmp/truth" "--$word" --share 8
	else
		fail "$name"
		diag "$(tail -n 20 "$tmp/out")"
	fi
}

for loader in mmap mmap-random read threads; do
	try "$loader, cold" cold --loader $loader
done
try "read, warm" warm --loader read
try "three ranks by exec, cold" cold --loader mmap --ranks 3 --spawn exec
is "the runs had tier 1" "$("$coldprof" report ledger --run 1 --db "$tmp/db" --format json | grep -o '"tier":[0-9]')" '"tier":1'
done_testing
