#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Children that the shim cannot enter, or must not: nothing is said on their standard error and they run as they would.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/guests/shim.sh"

chmod 755 "$tmp"
head -c 60000 /dev/urandom >"$tmp/file"

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

# Every way to exec, to what takes the shim and to what does not.
execs=$guests/execs
printf '#!/bin/sh\necho "$# $1 $2 A=$A"\nexit 3\n' >"$tmp/script"
printf 'echo "$# $1 $2 A=$A"\nexit 4\n' >"$tmp/headless"
: >"$tmp/empty"
chmod 755 "$tmp/script" "$tmp/headless" "$tmp/empty"
same "every exec of a script" "$execs" "$tmp/script" two
is "every exec of a script: the shim is in each" "$(grep -c '^process.* exe=.*/script ' "$tmp/dump")" 11
same "every exec of what has no head" "$execs" "$tmp/headless" two
same "posix_spawn of what has no head, as of old" "$guests/execs-old" "$tmp/headless" two
if [ "$(uname -m)" = x86_64 ]; then
	is "posix_spawn of what has no head, as of old: sh ran it" "$(sed -n '/^posix_spawn/,/^status/p' "$tmp/ours" | grep -c '^status 4$')" 2
else
	skip "posix_spawn of what has no head, as of old: sh ran it" "one posix_spawn alone on this machine"
fi
same "the same by a program without symbols of its own" "$guests/spawn-old" "$tmp/headless"
same "every exec of nothing" "$execs" "$tmp/empty" two
same "every exec of what is not there" "$execs" "$tmp/missing" two
same "every exec of a folder" "$execs" "$tmp" two
PATH=$tmp:$PATH same "every exec by PATH" "$execs" script two
mkdir "$tmp/first"
: >"$tmp/first/script"
PATH=$tmp/first:$tmp:$PATH same "every exec past a file that may not run" "$execs" script two
same "a longer argument than a page" "$execs" "$tmp/script" "$(printf '%09000d' 0)"

# A program of another word size: without a libc, since none may be there; the loader alone is needed.
printf '.globl _start\n_start: movl $1,%%eax\nmovl $42,%%ebx\nint $0x80\n.section .note.GNU-stack,"",%%progbits\n' >"$tmp/m32.S"
if $cc -m32 -nostdlib -pie -Wl,-dynamic-linker,/lib/ld-linux.so.2 -o "$tmp/m32" "$tmp/m32.S" 2>/dev/null && "$tmp/m32"
	[ $? = 42 ]; then
	printf '#!%s\n' "$tmp/m32" >"$tmp/script32"
	chmod 755 "$tmp/script32"
	same "every exec of a 32-bit program" "$execs" "$tmp/m32" two
	is "every exec of a 32-bit program: it ran" "$(grep -c '^status 42$' "$tmp/ours")" 11
	same "posix_spawn of a 32-bit program, as of old" "$guests/execs-old" "$tmp/m32" two
	same "every exec of a script for one" "$execs" "$tmp/script32" two
	PATH=$tmp:$PATH same "every exec of one by PATH" "$execs" m32 two
	same "a 32-bit child of a shell, then another" sh -c "'$tmp/m32'; echo \$?; /bin/echo more"
	like "the other has the shim" "$(cat "$tmp/dump")" '^process .* exe=/bin/echo '
	LD_PRELOAD="$guests/.libs/libnext1.so" same "the user's own list stays" "$execs" "$tmp/m32" two
	like "it is passed on" "$(cat "$tmp/ours")" 'libnext1.so.* cannot be preloaded'
else
	skip "programs of another word size" "no 32-bit loader"
fi

# Who may not read the shim, and a root in which it is not.
if can_be_nobody; then
	mkdir -m 700 "$tmp/closed"
	cp "$shim" "$tmp/closed/shim.so"
	had=$shim
	shim=$tmp/closed/shim.so
	same "a child that dropped its user and cannot read the shim" \
		$as_nobody sh -c 'echo alive; echo "${LD_PRELOAD-none}"'
	shim=$had
	shim=$(for_all)
	same "a child that dropped its user and can" \
		$as_nobody sh -c 'echo alive'
	like "a child that dropped its user and can: it is told" "$(cat "$tmp/dump")" '^process .* argv=sh '
else
	skip "a child that dropped its user and cannot read the shim" "no right to become another user"
	skip "a child that dropped its user and can" "the same"
fi
PATH=$PATH:/usr/sbin:/sbin
if chroot / true 2>"$tmp/log"; then
	mkdir "$tmp/root"
	ldd /bin/sh | grep -o '/[^ ]*' | xargs cp -L --parents -t "$tmp/root" /bin/sh
	same "a root without the shim" chroot "$tmp/root" /bin/sh -c 'echo alive; echo "${LD_PRELOAD-none}"'
else
	skip "a root without the shim" "$(cat "$tmp/log")"
fi

# A filter that ends whoever calls what the shim would, handed to a child.
same "a seccomp filter handed to a child" "$guests/stunts" handed 0 "$tmp/file"
same "the same by syscall" "$guests/stunts" handed 1 "$tmp/file"
like "the same by syscall: it was not ended" "$(cat "$tmp/ours")" '^status 0$'
done_testing
