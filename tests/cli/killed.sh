#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A guest killed by SIGKILL at each of 20 moments of its start: coldprof ends with its status, the trace opens, and
# the ledger of what there was sums to the wall.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/cli/cli.sh"

engine=$top_builddir/tests/engine/truth-engine
moments=20
port=$(free_port)
"$engine" --make-model 4000000 "$tmp/m" >"$tmp/out" 2>&1 || bail "no model: $(cat "$tmp/out")"
start="--driver fake --model $tmp/m --graphs 3"

# A start by itself tells how many lines its log has: the moments are lines of that log.
# shellcheck disable=SC2086
"$engine" $start --truth "$tmp/bare" >"$tmp/out" 2>&1 || bail "the start fails by itself: $(cat "$tmp/out")"
lines=$(wc -l <"$tmp/bare")
ok "a start has more lines in its log than there are moments" test "$lines" -gt $moments

k=0
while [ $k -lt $moments ]; do
	rm -f "$tmp/truth"
	: >"$tmp/truth"
	at=$((1 + k * (lines - 2) / (moments - 1)))
	# Its serving keeps it alive until it is killed, whatever the moment.
	# shellcheck disable=SC2086
	"$coldprof" --db "$db" -q -- "$engine" $start --truth "$tmp/truth" --port "$port" \
		>"$tmp/out" 2>"$tmp/err" &
	us=$!
	timeout "$limit" tail -n +1 --pid=$us -f "$tmp/truth" | head -n "$at" >/dev/null
	guest=$(sed -n '1s/.*"pid":\([0-9]*\).*/\1/p' "$tmp/truth")
	kill -KILL "$guest"
	end=0
	wait "$us" || end=$?
	k=$((k + 1))
	is "moment $k: the status, the file, the sum" \
		"$end $(ask 'pragma integrity_check') $(ask "select ending in ('signal', 'ready'), (select sum(wall_ns) from ledger_row where run = r.id) = end_ns - start_ns, complete = (ready_ns is not null) from run r where id = $k")" \
		"137 ok 1|1|1"
done

# coldprof itself is killed: of the start there is what was known when it began, and no number that nobody measured.
mkfifo "$tmp/begun" "$tmp/go"
"$coldprof" --db "$db" -q --until exit -- sh -c 'echo $$ >"$1"; read -r x <"$2"' sh "$tmp/begun" "$tmp/go" &
us=$!
guest=$(await "$tmp/begun")
kill -KILL "$us"
wait "$us"
echo >"$tmp/go"
gone "$guest"
is "a start that was never finished has no wall time, no tier and no end" \
	"$(ask "select start_ns is not null, end_ns, ready_ns, tier, ending, complete from run where id = $((k + 1))")" "1|||||0"
is "and is listed so" "$("$coldprof" list --db "$db" --format csv | sed -n '$s/\r//p' | cut -d, -f1,5-)" "$((k + 1)),,,0"
done_testing
