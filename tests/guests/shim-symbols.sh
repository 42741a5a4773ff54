#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the shim exports is hooks.def; what it needs is libc 2.17 at most, and nothing else. Both architectures build.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/guests/shim.sh"

names() {
	sed -En 's/^(CALL|COPY|SPECIAL|LIBC)\(([A-Za-z0-9_]+).*/\2/p' "$top_srcdir/src/shim/hooks.def" | LC_ALL=C sort
}
exports() {
	nm -D --defined-only "$1" | awk '{ print $3 }' | LC_ALL=C sort
}
# The versions of libc that are needed, beyond 2.17.
too_young() {
	objdump -T "$1" | sed -n 's/.*UND.*GLIBC_\([0-9.]*\).*/\1/p' | sort -u |
		awk -F. '$1 > 2 || $2 > 17'
}
needed() {
	readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | tr '\n' ' '
}
tls_bytes() {
	printf '%d\n' "$(readelf -lW "$1" | awk '$1 == "TLS" { print $6 }')"
}

is "the exports are hooks.def" "$(exports "$shim")" "$(names)"
is "no symbol of libc is younger than 2.17" "$(too_young "$shim")" ""
is "libc alone is needed" "$(needed "$shim")" "libc.so.6 "
is "nothing is left unresolved but libc and the linker's own" \
	"$(nm -D --undefined-only "$shim" | awk '{ print $NF }' | sed 's/@.*//' | LC_ALL=C sort | tr '\n' ' ')" \
	"_ITM_deregisterTMCloneTable _ITM_registerTMCloneTable __cxa_finalize __environ __errno_location __gmon_start__ __register_atfork _r_debug clock_gettime environ getauxval "
ok "thread-local storage is at most 64 bytes" [ "$(tls_bytes "$shim")" -le 64 ]
unlike "it needs no executable stack" "$(readelf -lW "$shim" | grep GNU_STACK)" 'RWE'
nok "no relocation in code" sh -c "readelf -d '$shim' | grep -q TEXTREL"

# shim.h names the files in an order in which each calls only those before it. resolve alone knows the wrappers' table.
order=$(sed -n '/^ \*\tnames /,/^ \*$/s/^ \*\t\([a-z_ ]*\).*/\1/p' "$top_srcdir/src/shim/shim.h" | tr '\n' ' ')
object() {
	echo "$top_builddir/src/shim/.libs/libcoldprof_shim_la-$1.o"
}
for file in $order; do
	nm --undefined-only "$(object "$file")" | awk -v f="$file" '{ print f, $2 }' >>"$tmp/calls"
	nm --defined-only "$(object "$file")" | awk -v f="$file" '$2 ~ /[A-Z]/ { print f, $3 }' >>"$tmp/has"
done
is "the order names every file" "$(printf '%s\n' $order | LC_ALL=C sort | tr '\n' ' ')" \
	"$(ls "$top_srcdir/src/shim" | sed -n 's/\.c$//p' | grep -vx abi_check | LC_ALL=C sort | tr '\n' ' ')"
is "no file calls a later one" "$(awk -v order="$order" '
	BEGIN { n = split(order, o, " "); for (i = 1; i <= n; i++) at[o[i]] = i }
	NR == FNR { in_file[$2] = $1; next }
	$2 in in_file && at[in_file[$2]] > at[$1] { print $1, "calls", $2, "of", in_file[$2] }' \
	"$tmp/has" "$tmp/calls")" "resolve calls hook_wrapper of hooks_cuda"

cross=aarch64-linux-gnu-gcc
if command -v $cross >/dev/null 2>&1; then
	other=$tmp/aarch64.so
	ok "aarch64: it builds" $cross -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden \
		-fno-semantic-interposition -fno-stack-protector -ftls-model=initial-exec \
		-fno-tree-loop-distribute-patterns -mno-outline-atomics -I"$top_srcdir/src" -shared \
		-Wl,-z,defs -Wl,-Bsymbolic -Wl,--version-script,"$top_builddir/src/shim/shim.map" -o "$other" \
		"$top_srcdir"/src/shim/*.c "$top_srcdir/src/shim/dlsym-aarch64.S" "$top_srcdir/src/wire/session.c"
	is "aarch64: the same exports" "$(exports "$other")" "$(names)"
	is "aarch64: no symbol of libc is younger than 2.17" "$(too_young "$other")" ""
else
	skip "aarch64: it builds" "no $cross"
fi
done_testing
