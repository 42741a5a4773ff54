#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The shim's cost, paired: bare and under it by turns, medians. One line a figure:
#	name ours reference ratio goal ok|SHORT
# A difference of two times is `ours`; `reference` is what it may be; ratio = ours / reference, goal: at most 1.
rounds=${BENCH_ROUNDS:-7}
bench=$top_builddir/tests/bench
shim=$top_builddir/.libs/libcoldprof-shim.so
under="$top_builddir/tests/guests/wire-dump -o /dev/null $shim --"
null=$bench/.libs/libnull.so
out=$(mktemp -d "${TMPDIR:-/tmp}/coldprof-bench.XXXXXX") || exit 1
trap 'rm -rf "$out"' EXIT

for i in $(seq "$rounds"); do
	"$bench/calls" "$null" | sed 's/^/bare /' >>"$out/calls"
	$under "$bench/calls" "$null" | sed 's/^/shim /' >>"$out/calls"
	$under "$bench/spawn" 200 "$null" /bin/true >>"$out/calls"
done

# Medians of each figure; `record` may cost two reads of the clock and 40 ns, other calls 10 ns, the constructor 100 us.
sort -k1,2 -k3n "$out/calls" | awk '
	{ k = $1 " " $2; v[k, ++n[k]] = $3 }
	function med(k) { return v[k, int((n[k] + 1) / 2)] }
	function line(name, ours, may) {
		printf "%s %.1f %.1f %.2f 1.00 %s\n", name, ours, may, ours / may, ours <= may ? "ok" : "SHORT"
	}
	END {
		if (!NR) {
			print "# shim: nothing ran"
			exit 1
		}
		line("shim_record_ns", med("shim record") - med("bare record"), 2 * med("bare clock") + 40)
		split("launch dlsym read write", name)
		for (i = 1; i in name; i++)
			line("shim_" name[i] "_ns", med("shim " name[i]) - med("bare " name[i]), 10)
		# Beyond what an empty preloaded library costs; that cost is of the dynamic loader.
		line("shim_constructor_us", (med("shim spawn") - med("empty spawn")) / 1000, 100)
	}'
