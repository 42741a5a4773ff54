#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each kernel program missing on its own, as an older kernel may refuse it: the start and its ledger go on, one line
# says what is lost and why, and what takes its place is not told twice.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/cli/cli.sh"

command -v sqlite3 >"$tmp/tool" || skip_all "no sqlite3 program"
engine=$top_builddir/tests/engine/truth-engine
"$engine" --make-model 4000000 "$tmp/model" || bail "no model"

# usage: without NAME [PROGRAM...]: a start where the kernel has refused them; the warnings in $tmp/warnings
without()
{
	name=$1
	shift
	rm -f "$db"
	COLDPROF_BPF_WITHOUT="$*" timeout "$limit" "$coldprof" -q --db "$db" -- "$engine" --model "$tmp/model" --driver fake \
		--init 100 >"$tmp/out" 2>&1
	is "without $name: its status" $? 0
	ask "SELECT text FROM diagnostics WHERE run = 1 AND severity = 'warning'" >"$tmp/warnings"
	is "without $name: the rows sum to the wall" \
		"$(ask "SELECT (SELECT sum(wall_ns) FROM ledger_row WHERE run = 1) - (end_ns - start_ns) FROM run")" 0
	is "without $name: nobody did more in a row than its time" \
		"$(ask "SELECT count(*) FROM ledger_row WHERE coalesce(cpu_ns, 0) + coalesce(runnable_ns, 0)
			+ coalesce(io_wait_ns, 0) + coalesce(sleep_ns, 0) > wall_ns + 1000")" 0
	# What a fallback tells is not told by a record as well.
	is "without $name: no thread did two things at once" \
		"$(ask "SELECT count(*) FROM thread_time a JOIN thread_time b ON a.run = b.run AND a.process = b.process
			AND a.tid = b.tid AND a.id < b.id AND a.start_ns < b.end_ns AND b.start_ns < a.end_ns")" 0
}

without none
if [ "$(ask "SELECT tier FROM run")" = 0 ]; then
	skip "each program" "$(head -n 1 "$tmp/warnings")"
	done_testing
	exit
fi
is "without none: no warning" "$(cat "$tmp/warnings")" ""
programs=$(sed -n 's/^int \(BPF_PROG(\)\{0,1\}\([a-z_]*\).*/\2/p' "$top_srcdir"/bpf/*.bpf.c)
for program in $programs; do
	# Faults are told by file or by address, and the one way takes the place of the other.
	case $program in
	mapped_*)
		without "$program" "$program"
		is "without $program: nothing is lost" "$(cat "$tmp/warnings")" ""
		continue
		;;
	fault_*) without "$program" mapped_fault "$program" ;;
	*) without "$program" "$program" ;;
	esac
	is "without $program: one line says so" "$(grep -c . "$tmp/warnings")" 1
	like "without $program: what and why" "$(cat "$tmp/warnings")" \
		"^[a-z].*: not observed by the kernel \\(program $program: |^tier 0: .*: program $program: "
	# What threads gather is told at their end or by this one.
	if [ $program = finish ]; then
		is "without $program: tier 0" "$(ask "SELECT tier FROM run")" 0
	fi
done
# shellcheck disable=SC2086
without any $programs
is "without any: one line" "$(grep -c . "$tmp/warnings")" 1
like "without any: tier 0" "$(cat "$tmp/warnings")" '^tier 0: kernel probes cannot be loaded: program [a-z_]*: Operation not permitted'
is "without any: says the run" "$(ask "SELECT tier FROM run")" 0
done_testing
