#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The whole path against the truth engine: every loader, one rank and three, forked and executed, at both tiers. Each
# command is two starts: the first cold and without compiled kernels, the second warm and with them.
# LEDGER_ONLY='mmap 1 fork 1' (or 'taken mmap 3 fork') runs one cell; LEDGER_DIR: where the model is made, on a disk
# that can be made cold.
. "$top_srcdir/tests/tap.sh"

coldprof=$top_builddir/coldprof
engine=$top_builddir/tests/engine/truth-engine
compare=$top_builddir/tests/engine/compare
dir=$(mktemp -d "${LEDGER_DIR:-/var/tmp}/coldprof-ledger.XXXXXX") || bail "no folder for the model"
# The truth log is written inside the steps that it times: not to a disk that may make a writer wait.
truth=$(mktemp -p /dev/shm coldprof-truth.XXXXXX 2>/dev/null) || truth=$dir/truth
trap 'rm -rf "$dir" "$truth"; tap_cleanup' EXIT
FAKECUDA=cuInit=60ms,ctx=120ms,module=10ms
export FAKECUDA
unset TRITON_CACHE_DIR
"$engine" --make-model 67108864 "$dir/model" || bail "no model"

# A port that nothing listens on; each cell takes the next one.
# Beside other tests: each process begins elsewhere.
port=$((20000 + $$ % 10000))
next_port()
{
	while :; do
		port=$((port + 1))
		grep -q ":$(printf '%04X' "$port") [0-9A-F]*:0000 0A" /proc/net/tcp || return
	done
}

tier1=
"$coldprof" -n 1 --tier 1 --db "$dir/db" --until exit -q -- true >"$dir/out" 2>&1
[ "$(sqlite3 "$dir/db" 'SELECT tier FROM run ORDER BY id DESC LIMIT 1')" = 1 ] || tier1="no rights for the kernel probes"

# usage: starts NAME N TIER LOADER RANKS SPAWN: N starts of one command, into a new database and truth log
starts()
{
	next_port
	rm -rf "$dir/db"
	: >"$truth"
	late=
	[ "$5" = 1 ] || late="--late-rank 1=500"
	status "$1" 0 timeout 60 "$coldprof" -n "$2" --tier "$3" --db "$dir/db" -- "$engine" \
		--model "$dir/model" --truth "$truth" --driver fake --loader "$4" --ranks "$5" --spawn "$6" $late \
		--jit cc --kernels 1 --jit-cache "$dir/cache" --graphs 4 --port "$port" --slow allocator=60 \
		--slow graphs=60 --slow serving_up=60
}

# usage: wanted NAME TIER WORD...: whether this cell is to run
wanted()
{
	name=$1
	at_tier=$2
	shift 2
	[ -z "${LEDGER_ONLY:-}" ] || [ "$LEDGER_ONLY" = "$*" ] || return 1
	[ "$at_tier" = 1 ] && [ -n "$tier1" ] || return 0
	skip "$name" "$tier1"
	return 1
}

# usage: cell LOADER RANKS SPAWN TIER
cell()
{
	wanted "$1, $2 ranks by $3, tier $4" "$4" "$@" || return 0
	rm -rf "$dir/cache"
	starts "$name: starts twice" 2 "$4" "$1" "$2" "$3"
	warm=--warm
	[ "$1" != direct ] || warm=--cold
	if [ "$4" = 0 ]; then
		ok "$name: cold, JIT miss" "$compare" --db "$dir/db" --run 1 --truth "$truth"
		ok "$name: warm, JIT hit" "$compare" --db "$dir/db" --run 2 --truth "$truth"
	else
		ok "$name: cold, JIT miss" "$compare" --db "$dir/db" --run 1 --truth "$truth" --cold
		ok "$name: warm, JIT hit" "$compare" --db "$dir/db" --run 2 --truth "$truth" "$warm"
	fi
}

# A warm start from which some pages were taken, as a kernel may: what storage then gives is told, no less and no more.
# usage: taken LOADER RANKS SPAWN
taken()
{
	wanted "$1, $2 ranks by $3, some pages taken" 1 taken "$@" || return 0
	cat "$dir"/model/*.safetensors >/dev/null
	for shard in "$dir"/model/*.safetensors; do
		dd if="$shard" of=/dev/null bs=1M skip=2 count=3 iflag=nocache 2>"$dir/dd" || break
	done
	starts "$name: starts" 1 1 "$1" "$2" "$3"
	ok "$name: its ledger" "$compare" --db "$dir/db" --run 1 --truth "$truth" --warm
	"$compare" --db "$dir/db" --run 1 --truth "$truth" --warm >"$dir/out"
	told=$(awk '/^bytes: from storage/ { print ($4 > 1) }' "$dir/out")
	if [ "$told" = 1 ]; then
		pass "$name: storage gave them again"
	else
		skip "$name: storage gave them again" "no page could be taken: $(tail -n 1 "$dir/dd")"
	fi
}

for tier in 1 0; do
	for loader in mmap mmap-random read direct threads; do
		cell "$loader" 1 fork "$tier"
		cell "$loader" 3 fork "$tier"
		cell "$loader" 3 exec "$tier"
	done
done
for loader in mmap mmap-random read threads; do
	taken "$loader" 3 fork
done
done_testing
