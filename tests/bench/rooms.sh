#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is done when a start is over: attribution, storing beside bare SQLite, and reports. One line a figure:
#	name ours reference ratio goal ok|SHORT
# BENCH_EVENTS: of the run that is stored (default a million; 10000000 takes minutes and 2 GB).
COLDPROF_TIMES=1 "$top_builddir/tests/golden/test_growth" | awk '
	/s of CPU/ {
		pieces = $2
		sub(/.*: /, "")
		shape[++n] = $1
		size[n] = pieces
	}
	/^ok|^not ok/ { name = $0; sub(/^(not )?ok [0-9]+ - /, "", name); sub(/:.*/, "", name); gsub(/ /, "_", name)
		names[++m] = name }
	# In each shape: ten thousand and a hundred thousand pieces, its name, a million.
	END {
		for (i = 1; i <= m; i++) {
			s = shape[3 * i - 1]
			printf "attribute_100k_%s_s %s 0.3 %.3f 1 %s\n", names[i], s, s / 0.3, s <= 0.3 ? "ok" : "SHORT"
			s = shape[3 * i]
			printf "attribute_1M_%s_s %s 3 %.3f 1 %s\n", names[i], s, s / 3, s <= 3 ? "ok" : "SHORT"
		}
	}'
"$top_builddir/tests/bench/store_bench" ${BENCH_EVENTS:-}
