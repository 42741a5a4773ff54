#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernel side against the truth engine's own log: bytes from storage, bytes read, time in faults
# and reads, the process tree. Shares and bytes, never milliseconds: it runs in emulated machines too.
. "$top_srcdir/tests/tap.sh"

dump=$top_builddir/tests/guests/probe-dump
engine=$top_builddir/tests/engine/truth-engine
[ "$(id -u)" = 0 ] || skip_all "dropping the page cache needs root"
[ -w /proc/sys/vm/drop_caches ] || skip_all "/proc/sys/vm/drop_caches cannot be written"
case $(stat -f -c %T "$tmp") in
tmpfs | ramfs | overlayfs) skip_all "$tmp is not on a disk" ;;
esac
for program in "$dump" "$engine"; do
	[ -x "$program" ] || bail "$program is not built"
done
"$dump" --tier 1 -o "$tmp/probe" -- true >"$tmp/out" 2>&1 || bail "probe-dump: $(head -n 3 "$tmp/out")"
if ! grep -q '^trace tier=1' "$tmp/probe"; then
	# In the test machine all rights are there, so this is a fault.
	[ -z "${COLDPROF_TEST_VM:-}" ] || bail "tier 1 is not to be had: $(grep severity= "$tmp/probe")"
	skip_all "no kernel probes here: $(grep -m 1 severity=warning "$tmp/probe")"
fi

size=64000000
ok "a model" "$engine" --make-model $size "$tmp/model"
stat -c %i "$tmp"/model/*.safetensors >"$tmp/inodes"
total=$(cat "$tmp"/model/*.safetensors | wc -c)
sync

# usage: start cold|warm OPTION...: one observed start; its trace in $tmp/dump, its truth in $tmp/truth.
start()
{
	rm -f "$tmp/truth"
	[ "$1" = warm ] || echo 3 >/proc/sys/vm/drop_caches
	shift
	timeout -k 5 100 "$dump" --tier 1 -o "$tmp/dump" -- "$engine" --truth "$tmp/truth" --model "$tmp/model" --driver fake \
		"$@" >"$tmp/start.out" 2>&1 && grep -q '^trace .*status=0' "$tmp/dump"
}

# usage: sum FIELD MODE [SINCE]: of the accesses to the model's files whose mode is MODE (0: any) and that ended after
# the moment SINCE
sum()
{
	awk -v field="$1" -v mode="$2" -v since="${3:-0}" '
		function value(key,   i) {
			for (i = 2; i <= NF; i++)
				if (index($i, key "=") == 1)
					return substr($i, length(key) + 2)
			return ""
		}
		FILENAME ~ /inodes$/ { inode[$1] = 1; next }
		$1 == "file" && inode[value("ino")] { ours[value("i")] = 1 }
		$1 == "access" && ours[value("file")] && (!mode || value("mode") == mode) && value("end_ns") > since + 0 { n += value(field) }
		END { printf "%.0f\n", n }' "$tmp/inodes" "$tmp/dump"
}

# usage: truth SUB FIELD: bytes, ns (the union over threads), or since (its begin), of the weights work of that name
truth()
{
	sed -n "s/.*\"view\":\"work\",\"item\":\"weights\",\"sub\":\"$1\".*\"start_ns\":\([0-9]*\),\"end_ns\":\([0-9]*\),\"bytes\":\([0-9]*\).*/\1 \2 \3/p" \
		"$tmp/truth" | sort -n | awk -v field="$2" '
		{ bytes += $3; b = $1 > end ? $1 : end; if ($2 > b) ns += $2 - b; if ($2 > end) end = $2 }
		NR == 1 { since = $1 }
		END { printf "%.0f\n", field == "bytes" ? bytes : field == "since" ? since : ns }'
}

# Bytes of weights that storage gave, by the kernel's own count for the engine; none where it does not tell.
storage_told()
{
	awk '/"item":"weights"/ && /"view":"work"|"sub":"headers"/ && match($0, /"read_bytes":[0-9]+/) {
		n += substr($0, RSTART + 13, RLENGTH - 13) }
		END { printf "%.0f\n", n }' "$tmp/truth"
}

# usage: within NAME GOT LOW HIGH BASE: LOW and HIGH in hundredths of BASE
within()
{
	if awk -v g="$2" -v l="$3" -v h="$4" -v b="$5" 'BEGIN { exit !(g >= l * b / 100 && g <= h * b / 100) }'; then
		pass "$1"
	else
		fail "$1"
		diag "got $2, wanted $3 to $4 hundredths of $5"
	fi
}

for loader in mmap mmap-random read threads direct; do
	if ! start cold --loader $loader; then
		fail "$loader: the cold start"
		diag "$(cat "$tmp/start.out")"
		continue
	fi
	# Reads ahead of a random mapping may fetch a page twice; nothing is fetched that is not there.
	within "$loader, cold: bytes from storage" "$(sum storage 0)" 99 105 "$total"
	case $loader in
	mmap*)
		# Emulated, the copy itself is slow beside the fault.
		within "$loader, cold: faults took a good part of the copies, and no more" "$(sum busy_ns 4)" 10 100 \
			"$(truth mapped ns)"
		;;
	direct)
		within "$loader, cold: bytes read" "$(sum bytes 0)" 99 102 "$total"
		;;
	read)
		within "$loader, cold: bytes read" "$(sum bytes 1)" 99 101 "$(truth read bytes)"
		# The headers are read before, and the log does not tell how long that took.
		within "$loader, cold: time in reads" "$(sum busy_ns 1 "$(truth read since)")" 50 101 "$(truth read ns)"
		;;
	threads)
		within "$loader, cold: bytes read" "$(sum bytes 1)" 99 101 "$(truth read bytes)"
		;;
	esac
	[ $loader != direct ] || continue
	ok "$loader: the warm start" start warm --loader $loader
	within "$loader, warm: from storage what the kernel took back, and no more" \
		$(($(sum storage 0) - $(storage_told))) -2 2 "$total"
	within "$loader, warm: that is not most" "$(storage_told)" 0 50 "$total"
done

for spawn in fork exec; do
	ok "ranks by $spawn: the start" start warm --loader read --ranks 3 --spawn $spawn
	sed -n 's/.*"pid":\([0-9]*\),.*/\1/p' "$tmp/truth" | sort -un >"$tmp/want"
	sed -n 's/^process .* pid=\([0-9]*\) .*/\1/p' "$tmp/dump" | sort -un >"$tmp/got"
	is "ranks by $spawn: every process of the truth is in the tree" "$(grep -vxFf "$tmp/got" "$tmp/want")" ""
	root=$(sed -n 's/^process i=0 pid=\([0-9]*\) .*/\1/p' "$tmp/dump")
	is "ranks by $spawn: three children of the root" \
		"$(grep -c "^process .* ppid=$root " "$tmp/dump")" 3
	is "ranks by $spawn: each one's end is known" "$(grep -c '^process .* end_ns=-' "$tmp/dump")" 0
	if [ $spawn = exec ]; then
		is "ranks by exec: one exec each, and the root's" "$(grep -c '^exec ' "$tmp/dump")" 4
	fi
done
done_testing
