#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The truth engine with vLLM's lines: each gives its span, as long as the step was, and where no shim is in the engine
# the ledger is made from the spans.
. "$top_srcdir/tests/tap.sh"

command -v jq >/dev/null || skip_all "no jq program"
command -v sqlite3 >/dev/null || skip_all "no sqlite3 program"
coldprof=$top_builddir/coldprof
engine=$top_builddir/tests/engine/truth-engine
FAKECUDA=cuInit=1ms,ctx=1ms,module=1ms
export FAKECUDA
"$engine" --make-model 6000000 "$tmp/model" || bail "no model"

port=$((30000 + $$ % 2000))
# usage: start TIER [PREFIX...]: one start; the run in $tmp/db, the truth in $tmp/truth
start()
{
	tier=$1
	shift
	rm -f "$tmp/db" "$tmp/truth"
	port=$((port + 1))
	status "$name: starts" 0 timeout 60 "$coldprof" -n 1 --tier "$tier" --db "$tmp/db" -- "$@" "$engine" \
		--model "$tmp/model" --truth "$tmp/truth" --driver fake --log-style vllm --port "$port" \
		--slow weights=400 --slow jit=300 --slow graphs=800 --jit cc --kernels 1 --jit-cache "$tmp/cache"
}

# usage: near NAME MS WANTED-MS WITHIN-MS
near()
{
	if [ -n "$2" ] && [ "$2" -ge "$(($3 - $4))" ] && [ "$2" -le "$(($3 + $4))" ]; then
		pass "$1"
	else
		fail "$1"
		diag "got ${2:-nothing}, wanted $3, within $4 ms"
	fi
}

# usage: span NAME: what the log declared, in ms
span()
{
	sqlite3 "$tmp/db" "SELECT (sum(end_ns - start_ns) + 500000) / 1000000 FROM span s JOIN string n ON n.id = s.name
		WHERE n.text = '$1'"
}

# usage: step SUB...: what the truth says, in ms
step()
{
	for sub; do
		jq -s --arg s "$sub" '[.[] | select(.view == "step" and .sub == $s) | .end_ns - .start_ns] | add' "$tmp/truth"
	done | jq -s 'add / 1000000 | round'
}

spans()
{
	near "$name: loading weights" "$(span 'loading weights')" "$(step weights)" 10
	near "$name: model loading" "$(span 'model loading')" "$(step weights)" 10
	near "$name: torch.compile" "$(span torch.compile)" "$(step jit)" 10
	near "$name: graph capture, in whole seconds" "$(span 'graph capture')" "$(step graphs)" 510
	near "$name: init engine" "$(span 'init engine')" "$(step jit graphs)" 20
	is "$name: the engine" "$(sqlite3 "$tmp/db" "SELECT engine FROM run")" vllm
}

# usage: row ITEM: ms of its declared rows
row()
{
	"$coldprof" report ledger --format json --db "$tmp/db" |
		jq --arg i "$1" '[.rows[] | select(.item == $i and .evidence == "declared") | .wall_ns] | add // 0 | . / 1000000 | round'
}

name="lines seen by the shim"
start 0
spans
name="lines seen by the kernel"
start 1 sh -c 'exec env -u LD_PRELOAD "$@"' sh
if [ "$(sqlite3 "$tmp/db" "SELECT tier FROM run")" = 1 ]; then
	spans
	is "no driver call was seen" "$(sqlite3 "$tmp/db" "SELECT count(*) FROM evidence e JOIN string k ON k.id = e.kind
		WHERE k.text IN ('cu_init', 'alloc', 'h2d', 'capture')")" 0
	near "the weights are declared" "$(row weights)" "$(step weights)" 60
	near "so is the capture" "$(row graphs_jit)" "$(span 'graph capture')" 60
else
	skip "$name" "no rights for the kernel probes"
fi
name="lines seen by nobody"
start 0 sh -c 'exec env -u LD_PRELOAD "$@"' sh
is "$name: no span is made up" "$(sqlite3 "$tmp/db" "SELECT count(*) FROM span")" 0
is "$name: the rows sum" "$("$coldprof" report ledger --format json --db "$tmp/db" |
	jq '([.rows[].wall_ns] | add) == .wall_ns')" true
done_testing
