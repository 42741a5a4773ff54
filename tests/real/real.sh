#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# coldprof on a real vLLM: the default start and --enforce-eager, each twice (cold, then as it is).
# Ledgers and the delta are left as text in COLDPROF_REAL_OUT (default DIR/out).
# COLDPROF_REAL_MODES (default "eager default") and COLDPROF_REAL_ARGS (more options of coldprof).
. "$top_srcdir/tests/tap.sh"

dir=${COLDPROF_REAL_DIR:-/var/tmp/coldprof-real}
[ -e "$dir/.done-model" ] || skip_all "no vLLM in $dir: tests/real/setup $dir makes it (7 GB)"
free_kb=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
[ "$free_kb" -gt 6000000 ] || skip_all "$free_kb kB of memory are free, a start needs 6 GB"

exec "$dir/venv/bin/python" "$top_srcdir/tests/real/judge.py" "$top_builddir/coldprof" "$dir"
