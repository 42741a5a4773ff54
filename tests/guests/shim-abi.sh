#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# With --with-cuda=DIR: every prototype of hooks.def that cuda.h declares has its parameters and their sizes.
. "$top_srcdir/tests/tap.sh"

[ -n "$CUDA_CPPFLAGS" ] || skip_all "configured without --with-cuda=DIR"
for cxx in clang++ g++ ""; do
	[ -n "$cxx" ] || skip_all "no C++ compiler"
	echo 'int a;' | $cxx -x c++ -fsyntax-only - 2>"$tmp/log" && break
done

compile()
{
	# shellcheck disable=SC2086
	$cxx -std=c++17 -fsyntax-only -I"$top_srcdir/src" $CUDA_CPPFLAGS -DCHECKS="\"$1\"" "$top_srcdir/tests/guests/abi.cc"
}

# A line a symbol.
printf '%s\n' '#define HOOKS_DRIVER_ONLY' '#define CALL(s, c, p, ...) CHECK(s, p)' '#define COPY(s, p, ...) CHECK(s, p)' \
	'#define SPECIAL(s, c, p, ...) CHECK(s, p)' '#include "shim/hooks.def"' |
	$cxx -x c -E -P -I"$top_srcdir/src" - | sed 's/) *CHECK/)\nCHECK/g' >"$tmp/all"
# shellcheck disable=SC2086
printf '%s\n' '#define __CUDA_API_VERSION_INTERNAL' '#include <cuda.h>' | $cxx -x c -E -P $CUDA_CPPFLAGS - |
	tr -cs 'A-Za-z0-9_' '\n' | sort -u >"$tmp/declared"
sed -n 's/^CHECK(\([^,]*\),.*/\1/p' "$tmp/all" | sort -u | comm -12 - "$tmp/declared" >"$tmp/both"
grep -wFf "$tmp/both" "$tmp/all" >"$tmp/checks"
diag "$(wc -l <"$tmp/checks") of $(wc -l <"$tmp/all") are declared by this cuda.h"
ok "it declares most of them" test "$(($(wc -l <"$tmp/checks") * 2))" -gt "$(wc -l <"$tmp/all")"
ok "each has its parameters" compile "$tmp/checks"
echo 'CHECK(cuInit, (unsigned flags, int more))' >"$tmp/more"
nok "one too many is found" compile "$tmp/more"
echo 'CHECK(cuMemFree_v2, (abi_dptr1 dptr))' >"$tmp/narrow"
nok "one too narrow is found" compile "$tmp/narrow"
done_testing
