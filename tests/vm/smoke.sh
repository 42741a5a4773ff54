#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs inside the test machine: what the other tests there build upon.
. "$top_srcdir/tests/tap.sh"

is "the build tree lies on a block device" "$(stat -f -c %T "$top_builddir" 2>/dev/null)" ext2/ext3
ok "the kernel has BTF" test -r /sys/kernel/btf/vmlinux
ok "tracefs is mounted" test -r /sys/kernel/tracing/events/exceptions/page_fault_user/id
ok "cachestat or mincore: a file written is there after a drop of the caches" sh -c \
	'echo kept >"$0/f"; sync; echo 3 >/proc/sys/vm/drop_caches; grep -q kept "$0/f"' "$tmp"
if [ -x "$top_builddir/coldprof" ]; then
	status "coldprof starts" 0 "$top_builddir/coldprof" --version
fi
done_testing
