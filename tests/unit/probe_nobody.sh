#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The probes without any right: the tests of the room hold for a user that may load no program.
. "$top_srcdir/tests/tap.sh"

[ "$(id -u)" = 0 ] || skip_all "only root can become another user"
command -v setpriv >"$tmp/tool" || skip_all "no setpriv"
chmod 755 "$tmp"
mkdir "$tmp/work"
chmod 777 "$tmp/work"
for t in probe_tree_test probe_file_test; do
	cp "$top_builddir/tests/unit/$t" "$tmp/$t" || bail "$t is not built"
	(cd "$tmp/work" && setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/$t") >"$tmp/out" 2>&1
	is "$t holds for nobody" "$?" 0
	grep '^not ok' "$tmp/out" | sed 's/^/# /'
	like "$t says why there is no tier 1" "$(cat "$tmp/out")" 'bpf warning.*(needs root|not built in)'
done
done_testing
