#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The shim built here, in a Debian 11 root (glibc 2.31): programs with and without libdl, and what they tell. The root
# is made once by debootstrap and kept in ${COLDPROF_TEST_CACHE:-/var/tmp/coldprof-roots}.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/guests/shim.sh"

cache=${COLDPROF_TEST_CACHE:-/var/tmp/coldprof-roots}
root=$cache/debian-11
PATH=$PATH:/usr/sbin:/sbin
is_root || skip_all "a root of another system needs root"
if [ ! -e "$root/.ready" ]; then
	command -v debootstrap >/dev/null || skip_all "no debootstrap"
	mkdir -p "$cache"
	rm -rf "$root.new"
	timeout 600 debootstrap --variant=minbase --include=python3-minimal bullseye "$root.new" \
		"${COLDPROF_TEST_MIRROR:-http://deb.debian.org/debian}" >"$tmp/log" 2>&1 ||
		{ tail -n 3 "$tmp/log" | sed 's/^/# /'; rm -rf "$root.new"; skip_all "debootstrap failed"; }
	: >"$root.new/.ready"
	# Another test may have been quicker.
	mv -T "$root.new" "$root" 2>/dev/null || rm -rf "$root.new"
fi

place=$root/tmp/coldprof-$$
mkdir -p "$place" || skip_all "the root is not writable"
trap 'rm -rf "$place"; tap_cleanup' EXIT
cp "$shim" "$place/shim.so"
head -c 100000 /dev/urandom >"$place/file"
inside=/tmp/coldprof-$$

# In the root the path of the shim is another, and so is /proc: the socket is the way in.
old() {
	"$guests/wire-dump" -o "$tmp/dump" -l -r socket "$place/shim.so" -- \
		env -u LD_PRELOAD chroot "$root" /usr/bin/env LD_PRELOAD=$inside/shim.so "$@"
}
is "it is glibc 2.31" "$(chroot "$root" ldd --version | sed -n '1s/.* //p')" 2.31
is "true has no libdl" "$(chroot "$root" ldd /bin/true | grep -c libdl)" 0
status "a program without libdl" 0 old /bin/true
like "and it is told" "$(cat "$tmp/dump")" '^process .* exe=/bin/true '
is "cat reads and writes" "$(old /bin/cat $inside/file | cksum)" "$(cksum <"$place/file")"
is "what it read is told" "$(grep '^read ' "$tmp/dump" | sum bytes)" 100000
is "its inode is told (there is no /proc to tell a path)" "$(grep '^file ' "$tmp/dump" | fields ino)" \
	"$(stat -c %i "$place/file")"
is "a shell and its children" "$(old /bin/sh -c 'echo one; /bin/echo two; exit 0' | tr '\n' ' ')" "one two "
is "python needs libdl" "$(chroot "$root" ldd /usr/bin/python3 | grep -c libdl)" 1
is "python" "$(old /usr/bin/python3 -c 'import math; print(math.sqrt(4) == 2)')" True
like "and its line is told" "$(cat "$tmp/dump")" '^log .*text=True$'
done_testing
