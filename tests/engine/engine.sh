#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The truth engine alone: its log sums up, files are read and copied for real, every route resolves, and it ends well.
. "$top_srcdir/tests/tap.sh"

command -v jq >/dev/null || skip_all "no jq program"
engine=$top_builddir/tests/engine/truth-engine
model=$tmp/model
FAKECUDA=cuInit=1ms,ctx=1ms,module=1ms
export FAKECUDA
status "makes a model" 0 "$engine" --make-model 6000000 "$model"
is "of several shards" "$(ls "$model"/*.safetensors | wc -l)" 3
is "whose index tells its size" "$(jq .metadata.total_size "$model/model.safetensors.index.json")" 6000000
sum=0
for f in "$model"/*.safetensors; do
	n=$(od -An -tu8 -N8 "$f" | tr -d ' ')
	of_file=$(tail -c +9 "$f" | head -c "$n" |
		jq '[.[] | select(.data_offsets) | .data_offsets[1] - .data_offsets[0]] | add')
	sum=$((sum + ${of_file:-0}))
done
is "and whose headers are JSON, of tensors that fill it" "$sum" 6000000

run()
{
	"$engine" --model "$model" --driver fake --init 1 --truth "$tmp/truth" "$@"
}

# usage: sum JQ-FILTER
sum()
{
	jq -s "$1" "$tmp/truth"
}

for loader in mmap mmap-random read direct threads; do
	rm -f "$tmp/truth"
	status "$loader" 0 run --loader "$loader"
	is "$loader: copies every byte" "$(sum '[.[] | select(.sub == "h2d") | .bytes] | add')" 6000000
	is "$loader: the steps leave no hole" \
		"$(sum '[.[] | select(.view == "step")] | [range(1; length) as $i | .[$i].start_ns - .[$i - 1].end_ns] | add')" 0
	is "$loader: work lies inside the start" "$(sum '([.[] | select(.view == "step") | .end_ns] | max) as $last |
		[.[] | select(.view == "work" and .end_ns > $last)] | length')" 0
done
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	rm -f "$tmp/truth"
	strace -f -e trace=pread64 -o "$tmp/calls" "$engine" --model "$model" --driver fake --init 1 \
		--truth "$tmp/truth" --loader read >/dev/null
	is "the kernel saw the reads that it logs" \
		"$(sed -n 's/.*= \([0-9]*\)$/\1/p' "$tmp/calls" | awk '$1 > 3000 { s += $1 } END { print s }')" 6000000
else
	skip "the kernel saw the reads that it logs" "no strace, or no right to trace"
fi
rm -f "$tmp/truth"
run --loader direct >/dev/null
case $(stat -f -c %T "$tmp") in
ext2/ext3 | xfs) # and blocks in which the kernel looked where the file lies
	is "what storage gave is what it read past the page cache" "$(sum '[.[] | select(.sub == "read")] |
		(map(.read_bytes) | add) as $n | (map(.bytes) | add) as $want |
		$n == null or ($n >= $want and $n < $want + 200000)')" true
	;;
*)
	skip "what storage gave is what it read past the page cache" "the test's folder may be in memory"
	;;
esac
for route in gpa dlsym elf; do
	status "the driver by $route" 0 run --cuda "$route"
done

rm -f "$tmp/truth"
status "compiles on a miss" 0 run --jit cc --kernels 1 --jit-cache "$tmp/cache"
is "with a child" "$(sum '[.[] | select(.sub == "compiler")] | length')" 1
rm -f "$tmp/truth"
status "and not on a hit" 0 run --jit cc --kernels 1 --jit-cache "$tmp/cache"
is "but reads the cache" "$(sum '[[.[] | select(.sub == "compiler")], [.[] | select(.sub == "cache_io")]] | map(length)' |
	tr -d ' \n')" "[0,1]"

# A process that kills itself on purpose makes the shell talk.
for step in process_init cuda_context allocator weights jit graphs serving_up; do
	rm -f "$tmp/truth"
	sh -c '"$@"; exit $?' sh "$engine" --model "$model" --driver fake --init 1 --truth "$tmp/truth" --crash "$step" \
		>/dev/null 2>&1
	is "killed at $step" "$?" 137
	is "killed at $step: whole lines" "$(jq -s 'map(select(.sub == "crash")) | length' "$tmp/truth" 2>&1)" 1
done
for spawn in fork exec; do
	rm -f "$tmp/truth"
	status "two ranks by $spawn" 0 run --ranks 2 --spawn "$spawn"
	is "two ranks by $spawn share the bytes" "$(sum '[.[] | select(.sub == "h2d") | .bytes] | add')" 6000000
	status "two ranks by $spawn, one dies" 1 run --ranks 2 --spawn "$spawn" --crash weights
done

# It serves what it loaded, and SIGTERM ends it with its ranks.
grab()
{
	curl -s -m 5 -o "$tmp/body" -w '%{http_code}' "$@" 2>/dev/null
}
port=18480
while grep -q ":$(printf '%04X' $port) [0-9A-F]*:0000 0A" /proc/net/tcp; do
	port=$((port + 1))
done
rm -f "$tmp/truth"
"$engine" --model "$model" --driver fake --init 1 --truth "$tmp/truth" --ranks 2 --listen early --port "$port" \
	--slow serving_up=300 >"$tmp/log" &
pid=$!
codes=
tries=0
while [ "$tries" -lt 2000 ] && kill -0 "$pid" 2>/dev/null; do
	code=$(grab "http://127.0.0.1:$port/health")
	tries=$((tries + 1))
	case " $codes " in
	*" $code "*) ;;
	*) [ "$code" = 000 ] || codes="$codes $code" ;;
	esac
	[ "$code" != 200 ] || break
done
is "503 while it loads, then 200" "$codes" " 503 200"
is "names its model" "$(grab "http://127.0.0.1:$port/v1/models") $(jq -r '.data[0].id' "$tmp/body")" "200 truth"
is "answers a completion" "$(grab -d '{}' "http://127.0.0.1:$port/v1/completions") $(jq -r '.choices[0].text' "$tmp/body" | wc -c)" \
	"200 17"
ranks=$(sum '[.[] | select(.rank >= 0) | .pid] | unique | .[]')
kill "$pid"
wait "$pid"
is "SIGTERM ends it well" "$?" 0
is "with all its ranks" "$(for r in $ranks; do kill -0 "$r" 2>/dev/null && echo "$r lives"; done)" ""
is "the first 200 is in the log" "$(sum '[.[] | select(.sub == "ready")] | length')" 1
status "an unknown step is refused" 2 run --slow weihgts=3
done_testing
