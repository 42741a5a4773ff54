#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The probes without any right: the tests of the room hold for a user that may load no program.
. "$top_srcdir/tests/tap.sh"

can_be_nobody || skip_all "no right to become another user"
chmod 755 "$tmp"
mkdir "$tmp/work"
chmod 777 "$tmp/work"
for t in probe_tree_test probe_file_test; do
	cp "$top_builddir/tests/unit/$t" "$tmp/$t" || bail "$t is not built"
	(cd "$tmp/work" && $as_nobody "$tmp/$t") >"$tmp/out" 2>&1
	is "$t holds for nobody" "$?" 0
	grep '^not ok' "$tmp/out" | sed 's/^/# /'
	like "$t says why there is no tier 1" "$(cat "$tmp/out")" 'bpf warning.*(needs root|not built in)'
done
done_testing
