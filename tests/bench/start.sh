#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What recording a start costs, paired: bare and at each tier by turns, medians. One line a figure:
#	name ours reference ratio goal ok|SHORT
# real_*: the CPU that coldprof adds to a real start, of the CPU that it took bare. That is computed, not timed, since such
# a start varies by more: what it did (vllm.starts, counted once) times what the probes add here to each, and coldprof's own
# CPU over it, setting up included. start_*: a start of the truth engine, with real compilers, as it is, of a second or two;
# what the same sum gives for it is told beside and has no goal: setting up alone is several percent of it.
# BENCH_ROUNDS: turns (default 5); BENCH_DIR: where the model is made (default /var/tmp); BENCH_MODEL: its bytes.
# BENCH_START: a start of your own in place of the truth engine's, a command that ends by itself.
rounds=${BENCH_ROUNDS:-5}
coldprof=$top_builddir/coldprof
bench=$top_builddir/tests/bench
engine=$top_builddir/tests/engine/truth-engine
dir=$(mktemp -d "${BENCH_DIR:-/var/tmp}/coldprof-bench.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
FAKECUDA=cuInit=60ms,ctx=120ms,module=10ms
export FAKECUDA
"$engine" --make-model "${BENCH_MODEL:-268435456}" "$dir/model" || exit 1

# usage: figure NAME OURS REFERENCE RATIO GOAL: ok when the ratio is at most the goal
figure()
{
	awk -v name="$1" -v ours="$2" -v ref="$3" -v ratio="$4" -v goal="$5" 'BEGIN {
		printf "%s %s %s %.4f %s %s\n", name, ours, ref, ratio, goal, ratio <= goal ? "ok" : "SHORT" }'
}
# usage: quotient A B
quotient()
{
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.6f", b ? a / b : 0 }'
}
# usage: noted DB TEXT: the count of a diagnostic of the last run
noted()
{
	"$coldprof" report diagnostics --db "$1" --format csv | tr -d '"' |
		sed -n "s/^[a-z]*,[a-z]*,\([0-9]*\),$2.*/\1/p"
}
tiers=0
"$coldprof" -q --tier 1 --db "$dir/try" --until exit -- true 2>/dev/null
[ -z "$(noted "$dir/try" 'records from the kernel')" ] || tiers="0 1"
[ "$tiers" != 0 ] || echo "# no rights for the kernel probes: tier 0 alone"

if grep -lx coldprof /proc/[0-9]*/comm >"$dir/try" 2>&1; then
	echo "# another coldprof runs: its probes make the bare calls dear too, and what ours add small"
fi

# What the probes add to each thing that the kernel does: the least of all rounds, since what else a machine does only adds.
dd if=/dev/zero of="$dir/file" bs=1M count=16 2>/dev/null
truncate -s 16M "$dir/hole"
for i in $(seq "$rounds"); do
	"$bench/ops" "$dir/file" "$dir/hole" | sed 's/^/bare /'
	for tier in $tiers; do
		rm -f "$dir/db"
		"$coldprof" -q --tier "$tier" --db "$dir/db" --until exit -- "$bench/ops" "$dir/file" "$dir/hole" |
			sed "s/^/tier$tier /"
	done
done | awk '{ k = $1 " " $2; if (!(k in v) || $3 < v[k]) v[k] = $3 }
	END { for (k in v) print k, v[k] }' >"$dir/units"
unit()
{
	awk -v tier="tier$1" -v op="$2" '$2 == op { ns[$1] = $3 }
		END { d = ns[tier] - ns["bare"]; printf "%.1f", (d > 0 ? d : 0) }' "$dir/units"
}
bare_unit()
{
	awk -v op="$1" '$1 == "bare" && $2 == op { print $3 }' "$dir/units"
}
for tier in $tiers; do
	for op in file_fault memory_fault memory_map file_map fill read other_call switch; do
		echo "# tier$tier adds $(unit "$tier" $op) ns to a $op of $(bare_unit $op) ns"
	done
done

start=${BENCH_START:-"$engine --model $dir/model --driver fake --loader mmap --jit cc --kernels 3 --graphs 4 --init 1000"}
set -- "$start"
for tier in $tiers; do
	set -- "$@" "rm -f $dir/db$tier; exec $coldprof -q --tier $tier --db $dir/db$tier --until exit -- $start"
done
"$bench/pair" "$rounds" "$@" >"$dir/starts" || exit 1
read -r bare_wall bare_cpu faults switches calls <"$dir/starts"
echo "# the start: $((bare_cpu / 1000000)) ms of CPU, $faults faults, $switches switches, $calls reads and writes"
line=1
for tier in $tiers; do
	line=$((line + 1))
	read -r wall cpu rest <<-END
	$(sed -n "${line}p" "$dir/starts")
	END
	setup=$(noted "$dir/db$tier" 'CPU microseconds to set')
	own=$(noted "$dir/db$tier" 'CPU microseconds that coldprof')
	added=$(awk -v own="$own" -v setup="$setup" -v f="$faults" -v fu="$(unit "$tier" memory_fault)" -v s="$switches" \
		-v su="$(unit "$tier" switch)" -v c="$calls" -v cu="$(unit "$tier" read)" \
		'BEGIN { printf "%.1f %.1f", own / 1000, (own + setup) / 1000 + (f * fu + s * su + c * cu) / 1000000 }')
	echo "# tier$tier: coldprof itself ${added% *} ms of CPU, to set up before the start $((setup / 1000)) ms," \
		"with what the probes add to the start ${added#* } ms"
	echo "$tier $setup" >>"$dir/setup"
	# The whole command, with setting up, storing and showing: what a wait for it costs.
	figure "start_tier${tier}_cpu_ms" "$((cpu / 1000000))" "$((bare_cpu / 1000000))" \
		"$(quotient "$cpu" "$bare_cpu")" 1.25
	figure "start_tier${tier}_wall_ms" "$((wall / 1000000))" "$((bare_wall / 1000000))" \
		"$(quotient "$wall" "$bare_wall")" 1.25
done

# usage: added_ms TIER OWN_MS COUNT...: what coldprof adds to a start with so many of each (the order of vllm.starts). A
# call is part of the op that makes it: a read is one, a mapping and a switch (futex) are two.
added_ms()
{
	tier=$1 own=$2
	shift 2
	awk -v tier="tier$tier" -v own="$own" -v counts="$*" '
		function over(a, b) { return a > b ? a - b : 0 }
		FILENAME ~ /setup$/ { if ("tier" $1 == tier) setup = $2 / 1000; next }
		{ ns[$1 " " $2] = $3; ops[$2] }
		END {
			split(counts, n, " ")
			for (op in ops)
				u[op] = over(ns[tier " " op], ns["bare " op])
			c = u["other_call"]
			sum = n[1] * u["memory_fault"] + n[2] * over(u["file_fault"], u["memory_fault"]) \
				+ n[3] * over(u["switch"], 2 * c) + n[4] * c + n[5] * over(u["read"], c) \
				+ n[6] * over(u["file_map"], 2 * c) + n[7] * over(u["memory_map"], 2 * c) \
				+ n[8] * over(u["fill"], u["read"])
			printf "%.0f", sum / 1e6 + own + setup
		}' "$dir/setup" "$dir/units"
}
grep -v '^#' "$top_srcdir/tests/bench/vllm.starts" >"$dir/real"
for tier in $tiers; do
	goal=0.01
	[ "$tier" = 1 ] || goal=0.005
	while read -r name cpu own0 own1 counts; do
		own=$own0
		[ "$tier" = 0 ] || own=$own1
		# shellcheck disable=SC2086 # words
		added=$(added_ms "$tier" "$own" $counts)
		figure "real_${name}_tier${tier}_cpu_added_ms" "$added" "$cpu" "$(quotient "$added" "$cpu")" "$goal"
	done <"$dir/real"
done

# Memory where faults are many and in no order, and what the trace of that start takes.
for tier in $tiers; do
	rm -f "$dir/db"
	"$coldprof" -q --tier "$tier" --cold -n 1 --db "$dir/db" --until exit -- \
		"$engine" --model "$dir/model" --driver fake --loader mmap-random >/dev/null 2>&1
	memory=$(noted "$dir/db" 'bytes of memory')
	size=$(wc -c <"$dir/db")
	figure "memory_tier${tier}_bytes" "$memory" 67108864 "$(quotient "$memory" 67108864)" 1
	figure "trace_tier${tier}_bytes" "$size" 20000000 "$(quotient "$size" 20000000)" 1
done
