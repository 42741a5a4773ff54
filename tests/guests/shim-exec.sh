#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Children that the shim cannot enter, or must not: nothing is said on their standard error and they run as they would.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/guests/shim.sh"

chmod 755 "$tmp"
head -c 60000 /dev/urandom >"$tmp/file"

# same NAME COMMAND...: output and status alike, bare and under the shim.
same() {
	same_name=$1
	shift
	"$@" >"$tmp/bare" 2>&1
	echo "status $?" >>"$tmp/bare"
	dump "$@" >"$tmp/ours" 2>&1
	echo "status $?" >>"$tmp/ours"
	ok "$same_name" diff "$tmp/bare" "$tmp/ours"
}

# Another libc: the shim is loaded and must not end it.
if command -v musl-gcc >/dev/null && musl-gcc -o "$tmp/musl" "$top_srcdir/tests/guests/plain.c" 2>"$tmp/log"; then
	same "a program of musl" "$tmp/musl" "$tmp/file"
	like "a program of musl: it did all" "$(cat "$tmp/ours")" '^status 42$'
	same "a child of musl" sh -c '"$@"; echo "rc $?"' sh "$tmp/musl" "$tmp/file"
else
	skip "a program of musl" "no musl-gcc"
	skip "a program of musl: it did all" "no musl-gcc"
	skip "a child of musl" "no musl-gcc"
fi

# A driver that is not there must not be found either where nothing is recorded.
cc=${CC:-cc}
if $cc -o "$tmp/plain" "$top_srcdir/tests/guests/plain.c" -ldl -lpthread 2>"$tmp/log"; then
	same "a program that looks for the driver" "$tmp/plain" "$tmp/file"
	dump_options=-x
	same "the same once the run is over" "$tmp/plain" "$tmp/file"
	dump_options="-r none"
	same "the same out of reach of the memory" "$tmp/plain" "$tmp/file"
	dump_options=
else
	fail "a program that looks for the driver: it builds"
	diag "$(cat "$tmp/log")"
fi
done_testing
