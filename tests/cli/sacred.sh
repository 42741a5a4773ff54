#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a parent hands down, with and without coldprof: descriptors, signals, limits, group, environment.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/cli/cli.sh"

unset COLDPROF_SESSION COLDPROF_DB
export LANG=C

# Documented: LD_PRELOAD begins with the shim, COLDPROF_SESSION is new. Nothing else.
less_documented()
{
	sed -e '/^env COLDPROF_SESSION=/d' -e 's|^env LD_PRELOAD=[^:]*libcoldprof-shim\.so:|env LD_PRELOAD=|' \
		-e '/^env LD_PRELOAD=[^:]*libcoldprof-shim\.so$/d' "$1"
}

# same NAME SETUP: the witness under `sh -c SETUP`, bare and under coldprof.
same()
{
	export WITNESS=$witness COLDPROF=$coldprof DB=$db
	sh -c "$2 exec \"\$WITNESS\"" >"$tmp/bare" 2>"$tmp/bare.err" <"$tmp/in"
	sh -c "$2 exec \"\$COLDPROF\" --db \"\$DB\" -q -- \"\$WITNESS\"" >"$tmp/ours" 2>"$tmp/ours.err" <"$tmp/in"
	# Both wrote to files of their own name.
	sed -i "s|$tmp/bare|OUT|" "$tmp/bare"
	sed -i "s|$tmp/ours|OUT|" "$tmp/ours"
	sed -i 's/ group [0-9]* session/ group G session/' "$tmp/bare" "$tmp/ours"
	less_documented "$tmp/ours" >"$tmp/ours.less"
	like "$1: the witness told" "$(cat "$tmp/bare")" '^env '
	ok "$1" diff "$tmp/bare" "$tmp/ours.less"
	is "$1: standard error" "$(cat "$tmp/ours.err")" "$(cat "$tmp/bare.err")"
}

echo in >"$tmp/in"
same "plain" ''
same "closed standard descriptors" 'exec <&- 2>&-;'
same "more descriptors" "exec 3<'$tmp/in' 4<'$tmp/in' 7>/dev/null;"
same "signals ignored" 'trap "" HUP INT USR1 USR2 PIPE TERM;'
same "limits" 'ulimit -n 128; ulimit -c 0; ulimit -l 64;'
same "umask and folder" 'umask 027; cd /;'
same "the user's preload list" 'export LD_PRELOAD=libc.so.6:libm.so.6;'
same "nice" 'renice -n 19 -p $$ >/dev/null;'

# A process group of its own is the shell's affair: under job control the guest shares coldprof's.
is "the guest is in coldprof's process group" \
	"$(run -q -- sh -c 'test "$(ps -o pgid= -p $$)" = "$(ps -o pgid= -p $PPID)" && echo same')" same
is "the guest has no child that it did not start" "$(run -q -- sh -c 'pgrep -P $$ -x coldprof-holder | wc -l')" 0

env=$(run -q -- env | sort)
if printf '%s\n' "$env" | grep -q '^COLDPROF_SESSION='; then
	like "the shim stands first" "$(LD_PRELOAD=libm.so.6 run -q -- env)" '^LD_PRELOAD=/[^:]*libcoldprof-shim\.so:libm\.so\.6$'
	is "coldprof under coldprof preloads once" \
		"$(run -q -- "$coldprof" -q --db "$tmp/inner.db" -- env | grep '^LD_PRELOAD=' | grep -o 'shim\.so' | wc -l)" 1
else
	skip "the shim stands first" "no shim is built"
	skip "coldprof under coldprof preloads once" "no shim is built"
fi

if unshare -m sh -c 'umount -l /proc' 2>/dev/null; then
	status "where /proc is not mounted" 5 unshare -m sh -c "umount -l /proc; exec '$coldprof' -q --db '$db' -- sh -c 'exit 5'"
else
	skip "where /proc is not mounted" "no right to unmount it"
fi

# Programs that a preloaded library would break or cannot reach.
printf 'int main(void) { return 42; }\n' >"$tmp/p.c"
if ${CC:-cc} -static -o "$tmp/static" "$tmp/p.c" 2>/dev/null; then
	status "a static program" 42 run -q -- "$tmp/static"
	run -- "$tmp/static" 2>"$tmp/err"
	like "it is said why the shim is not in it" "$(cat "$tmp/err")" 'linked statically|not installed'
else
	skip "a static program" "no static libc"
	skip "it is said why the shim is not in it" "no static libc"
fi
if ${CC:-cc} -fsanitize=address -o "$tmp/asan" "$tmp/p.c" 2>/dev/null && "$tmp/asan"; [ $? = 42 ]; then
	status "a sanitizer program runs" 42 run -q -- "$tmp/asan"
	is "and says nothing" "$(run -q -- "$tmp/asan" 2>&1)" ""
else
	skip "a sanitizer program runs" "no address sanitizer"
	skip "and says nothing" "no address sanitizer"
fi
# Without a libc, of which there may be none of that size: the loader is enough.
printf '.globl _start\n_start: movl $1,%%eax\nmovl $42,%%ebx\nint $0x80\n.section .note.GNU-stack,"",%%progbits\n' >"$tmp/m32.S"
if ${CC:-cc} -m32 -nostdlib -pie -Wl,-dynamic-linker,/lib/ld-linux.so.2 -o "$tmp/m32" "$tmp/m32.S" 2>/dev/null &&
	"$tmp/m32"; [ $? = 42 ]; then
	is "a 32-bit program: the loader has nothing to complain of" "$(run -q -- "$tmp/m32" 2>&1)" ""
else
	skip "a 32-bit program: the loader has nothing to complain of" "no 32-bit loader"
fi

# A build below a folder that only root may enter: the loader of another user would complain in each program.
if [ "$(id -u)" = 0 ] && ! can_be_nobody; then
	status "--user who cannot be become" 125 run -q --user nobody -- true
	like "--user who cannot be become: said" "$(cat "$tap_err")" "cannot become user 'nobody': "
elif ! can_be_nobody; then
	skip "--user who cannot read the shim" "no right to become another user"
elif [ ! -e "$top_builddir/.libs/libcoldprof-shim.so" ]; then
	skip "--user who cannot read the shim" "no shim is built"
else
	chmod 755 "$tmp"
	mkdir -m 700 "$tmp/closed"
	mkdir "$tmp/closed/.libs"
	cp "$coldprof" "$tmp/closed/"
	cp "$top_builddir/.libs/libcoldprof-shim.so" "$tmp/closed/.libs/"
	timeout "$limit" "$tmp/closed/coldprof" -q --db "$db" --user nobody -- sh -c 'id -u; sh -c "id -u"' >"$tmp/out" 2>&1
	is "--user who cannot read the shim" "$(cat "$tmp/out")" "$(printf '%s\n' "$(id -u nobody)" "$(id -u nobody)")"
	timeout "$limit" "$tmp/closed/coldprof" --db "$db" --user nobody -- true 2>"$tmp/err"
	like "--user who cannot read the shim: told" "$(cat "$tmp/err")" "user 'nobody' cannot read $tmp/closed/"
fi
done_testing
