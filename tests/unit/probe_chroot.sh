#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The probes in a chroot, below a mount: paths begin at its "/", as the guest and coldprof see them.
. "$top_srcdir/tests/tap.sh"

PATH=$PATH:/usr/sbin:/sbin
unshare -m chroot / true 2>"$tmp/why" || skip_all "$(cat "$tmp/why")"
mkdir "$tmp/root"
mkdir "probe-chroot-$$" && work=$(pwd -P)/probe-chroot-$$
for t in probe_tree_test probe_file_test; do
	# shellcheck disable=SC2016
	unshare -m --propagation private sh -c 'mount --rbind / "$1/root" && chroot "$1/root" sh -c "cd \"\$1\" && \"\$2\"" sh "$2" "$3"' \
		sh "$tmp" "$work" "$top_builddir/tests/unit/$t" >"$tmp/out" 2>&1
	is "$t holds" "$?" 0
	grep '^not ok' "$tmp/out" | sed 's/^/# /'
done
rm -rf "$work"
done_testing
