#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A guest of the fake driver that makes prime numbers of calls, by every route to it: what the shim tells is what it did.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/guests/shim.sh"

fake=$top_builddir/tests/fakecuda/.libs
[ -e "$fake/libcuda.so.1" ] || skip_all "no fake driver is built"
LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
FAKECUDA=cuInit=20ms,ctx=30ms,first_launch=2ms,module=4ms
export LD_LIBRARY_PATH FAKECUDA

# What cuda-guest.c does: class, calls, failed.
cat >"$tmp/truth" <<'END'
alloc 9 2
capture_begin 3 0
capture_end 3 0
context 1 0
copy 10 0
d2h 7 0
device 8 0
free 1 0
function 2 0
graph_destroy 1 0
graph_launch 11 0
h2d 30 0
init 1 0
instantiate 3 0
launch 34 0
meminfo 2 0
module 1 0
query 23 0
sync 2 0
upload 3 0
END
counts() {
	sed -n 's/^counter .* class=\([a-z0-9_]*\) calls=\([0-9]*\) failed=\([0-9]*\).*/\1 \2 \3/p' "$tmp/dump" |
		awk '$1 != "resolve" { c[$1] += $2; f[$1] += $3 } END { for (k in c) if (c[k]) print k, c[k], f[k] }' | LC_ALL=C sort
}
calls() { # CLASS: how many records
	grep -c "^call .* class=$1 " "$tmp/dump"
}
of() { # CLASS FIELD
	grep "^call .* class=$1 " "$tmp/dump" | fields "$2"
}

check() { # NAME ROUTE-BITS SUFFIX COMMAND...
	name=$1 routes=$2 suffix=$3
	shift 3
	"$@" >"$tmp/bare" 2>&1
	dump "$@" >"$tmp/ours" 2>&1
	is "$name: the guest is content" "$?" 0
	is "$name: its output" "$(grep -v '^memory' "$tmp/ours")" "$(grep -v '^memory' "$tmp/bare")"
	is "$name: the counts" "$(counts)" "$(cat "$tmp/truth")"
	is "$name: the route of what it called" \
		"$(grep '^counter' "$tmp/dump" | grep -v 'class=resolve' | grep -v ' calls=0 ' | fields routes | sort -u)" "$routes"
	is "$name: H2D, the bytes" "$(grep '^call .* class=h2d ' "$tmp/dump" | sum bytes)" $((13 * 1000 + 78 + 17 * 4099))
	is "$name: allocated, the bytes" "$(grep '^call .* class=alloc ' "$tmp/dump" | sum bytes)" $((7 * 1048576))
	is "$name: copies of any direction" "$(of copy direction | sort | uniq -c | tr -s ' \n' ' ')" " 3 1 5 2 2 4 "
	is "$name: to the device, the bytes" \
		"$(grep '^call .* class=copy .*direction=1' "$tmp/dump" | sum bytes)" $((3 * 5003))
	is "$name: one record for each function's first launch" "$(calls launch) $(of launch handle | sort -u | wc -l)" "2 2"
	is "$name: one for each graph's first replay" "$(calls graph_launch) $(of graph_launch handle | sort -u | wc -l)" "3 3"
	is "$name: nodes of each graph" "$(of capture_end extra | tr '\n' ' ')" "3 5 7 "
	is "$name: failures are told as such" "$(of alloc result | sort -n | uniq -c | tr -s ' \n' ' ')" " 7 0 1 2 1 3 "
	is "$name: the first successful allocation came after cuInit and the context" \
		"$(grep -E '^call .*(class=init|class=context|class=alloc .*result=0)' "$tmp/dump" | sed 's/.* start=\([0-9]*\)/\1 &/' | sort -n | head -n 3 | fields class | tr '\n' ' ')" "init context alloc "
	is "$name: the variant of the stream" \
		"$(grep '^counter' "$tmp/dump" | fields name | grep -c "^cuStreamSynchronize$suffix\$")" 1
	is "$name: every symbol is wrapped" "$(grep -c '^unhooked' "$tmp/dump")" 0
}

check "bound by the linker" 1 "" "$guests/cuda-guest-elf" elf
check "dlsym" 2 "" "$guests/cuda-guest" dlsym
check "cuGetProcAddress" 4 "" "$guests/cuda-guest" proc
check "cuGetProcAddress_v2" 4 "" "$guests/cuda-guest" proc2
check "cuGetProcAddress, per-thread stream" 4 _ptsz "$guests/cuda-guest" proc thread
check "cuGetProcAddress_v2, per-thread stream" 4 _ptsz "$guests/cuda-guest" proc2 thread

# The times are those that the fake driver was told to take.
longer() { # CLASS MS
	ns=$(grep "^call .* class=$1 " "$tmp/dump" | awk -F'start=|end=' '{ split($2, a, " "); split($3, b, " "); print b[1] - a[1]; exit }')
	[ "${ns:-0}" -ge $(($2 * 1000000)) ]
}
ok "cuInit takes its 20 ms" longer init 20
ok "the context takes its 30 ms" longer context 30
ok "a first launch takes its 2 ms" longer launch 2
ok "a module takes its 4 ms" longer module 4

# A program that links the driver but starts where there is none behaves as it would alone.
unset LD_LIBRARY_PATH
"$guests/cuda-guest" dlsym >"$tmp/bare" 2>&1
bare=$?
dump "$guests/cuda-guest" dlsym >"$tmp/ours" 2>&1
is "no driver: the same status" "$?" "$bare"
ok "no driver: the same words" cmp "$tmp/bare" "$tmp/ours"
done_testing
