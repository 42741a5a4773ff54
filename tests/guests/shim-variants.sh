#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every symbol of hooks.def under the shim, against a driver that tells which of its functions was called; and callers
# whose place in the search order must not change.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/guests/shim.sh"

recorder=$guests/.libs/librecorder.so

# The guest knows its own answers: the bare run shows that it can tell a hooked function from one that is not.
same() {
	"$@" >"$tmp/out" 2>&1
	rc=$?
	grep '^not ok' "$tmp/out" | sed 's/^/# /'
	grep '^# ' "$tmp/out"
	[ "$rc" = 0 ] && grep -q '^1\.\.42$' "$tmp/out"
}
ok "bare: nothing is hooked" same "$guests/variants" "$recorder" bare
nok "bare: the guest would notice a shim that is not there" same "$guests/variants" "$recorder" shim
ok "shim: every variant, every route" same dump "$guests/variants" "$recorder" shim
nok "shim: the guest would notice that it is there" same dump "$guests/variants" "$recorder" bare

dump "$guests/variants" "$recorder" shim >/dev/null
hooks=$(grep -Ec '^(CALL|COPY|SPECIAL)\(' "$top_srcdir/src/shim/hooks.def")
is "each has a counter of its own" "$(grep '^counter' "$tmp/dump" | fields name | sort -u | wc -l)" "$hooks"
# Once through dlsym and once through each of the six resolvers: seven calls of each that is no resolver.
is "seven calls of each" "$(grep '^counter' "$tmp/dump" | grep -v 'class=resolve' | fields calls | sort -u)" 7
is "each by all three routes" \
	"$(grep '^counter' "$tmp/dump" | grep -v 'class=resolve' | fields routes | sort -u)" 14
is "unknown variants are told" "$(grep '^unhooked' "$tmp/dump" | fields text | sort | uniq -c | tr -s ' \n' ' ')" \
	" 6 cuMemAlloc 1 cuMemAlloc_v9 "
is "nothing was lost" "$(fields records <"$tmp/dump")" 0

is "three libraries that ask for the next one" "$(dump "$guests/next-main" | sort | uniq -c | tr -s ' ')" " 10 321"
export LD_PRELOAD="$guests/.libs/libmalloc.so" PRELOAD_MALLOC_TELL="$tmp/told"
is "a preload with an allocator that asks dlsym" "$(dump "$guests/next-main" | sort -u)" 321
is "it served the program" "$(readlink "$tmp/told")" counted
unset LD_PRELOAD
done_testing
