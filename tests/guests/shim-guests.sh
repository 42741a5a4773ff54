#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The guest is sacred: whatever it does, its output, status, descriptors and environment are those of a run without
# the shim; and what it did stands in the records, counted by itself.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/guests/shim.sh"

stunts=$guests/stunts
file=$tmp/file
head -c 3145728 /dev/urandom >"$file"
size=3145728

reads() {
	grep '^read ' "$tmp/dump" | sum bytes
}
lost() {
	grep '^loss' "$tmp/dump" | sum records
}

same "1,000 forks" "$stunts" forks 1000 "$file"
is "1,000 forks: what each 10th child read" "$(reads)" $((100 * size))
is "1,000 forks: only those that did something took an entry" "$(grep -c '^process' "$tmp/dump")" 101
is "1,000 forks: their records are theirs" \
	"$(grep '^read ' "$tmp/dump" | awk '{ print $2 }' | sort -u | wc -l)" 100
is "1,000 forks: nothing is lost" "$(lost)" 0
same "100 children by clone itself" "$stunts" bare 100 "$file"
is "100 children by clone itself: what each 10th read" "$(reads)" $((10 * size))
is "100 children by clone itself: entries" "$(grep -c '^process' "$tmp/dump")" 11
same "200 threads" "$stunts" threads 200 "$file"
is "200 threads: what they read" "$(reads)" $((200 * size))
is "200 threads: each under its own number" "$(grep '^read ' "$tmp/dump" | fields tid | sort -u | wc -l)" 200
is "200 threads: one file" "$(grep '^file ' "$tmp/dump" | fields ino | sort -u)" "$(stat -c %i "$file")"
same "reads" "$stunts" read 13 "$file"
is "reads: the bytes" "$(reads)" $((13 * size))
is "reads: from the first byte to the last" \
	"$(grep '^read ' "$tmp/dump" | fields min | sort -n | head -n 1)-$(grep '^read ' "$tmp/dump" | fields max | sort -n | tail -n 1)" "0-$size"
is "reads: the path" "$(grep '^file ' "$tmp/dump" | fields path)" "$file"
is "reads: the device" "$(grep '^file ' "$tmp/dump" | fields dev)" \
	$((($(stat -c %d "$file") >> 8 & 0xfff) << 20 | $(stat -c %d "$file") & 0xff))
same "maps" "$stunts" map 5 "$file"
is "maps: each is told" "$(grep -c '^map ' "$tmp/dump")" 7
is "maps: what was populated, three ways" "$(grep '^populate ' "$tmp/dump" | fields how | sort | tr '\n' ' ')" "1 2 3 "
same "yields" "$stunts" yield 1000003 "$file"
yields=$(grep '^yield ' "$tmp/dump" | sum calls)
ok "yields: counted, within 15" [ $((1000003 - yields)) -ge 0 -a $((1000003 - yields)) -lt 16 ]
same "vfork and exec" "$stunts" vfork 50 "$file"
is "vfork and exec: each image has its entry" "$(grep -c '^process.* exe=/bin/true ' "$tmp/dump")" 50
same "a program that closes all descriptors" "$stunts" closed 1 "$tmp/alive"
is "a program that closes all descriptors: it wrote" "$(cat "$tmp/alive")" alive
same "results and errno of every hooked call" "$stunts" errno 1 "$file"
same "threads cancelled in read" "$stunts" cancel 20 "$file"
like "threads cancelled in read: cleaned up" "$(cat "$tmp/ours")" '^20 cancelled, 20 cleaned up$'
same "a handler that jumps out of read" "$stunts" jump 20 "$file"
is "a handler that jumps out of read: the next read is told" "$(reads)" $size

# The stack of a thread may be small: what the shim adds to a call of libc.
stack_limit=2048
same "hooked calls of small threads" "$guests/depth" "$file" "$tmp/depth.txt"
"$guests/depth" "$file" "$tmp/depth-bare" >"$tmp/log"
is "hooked calls of small threads: nothing takes more than $stack_limit bytes of stack" \
	"$(paste -d ' ' "$tmp/depth.txt" "$tmp/depth-bare" | awk -v limit=$stack_limit '$2 - $4 > limit { print $1, $2 - $4 }')" ""
is "hooked calls of small threads: each was measured" "$(grep -c . "$tmp/depth.txt")" 9

# Who closes itself in is left alone: no system call of ours, no more of its memory, not the first library.
same "strict seccomp" "$stunts" strict 1 "$file"
if grep -q '^status 1$' "$tmp/bare"; then
	skip "strict seccomp: it is counted" "the kernel refuses it below a filter, as in a container"
	skip "strict seccomp: it was not ended" "the same"
else
	like "strict seccomp: it is counted" "$(grep '^loss' "$tmp/dump")" ' left=1( |$)'
	like "strict seccomp: it was not ended" "$(cat "$tmp/ours")" '^status 7$'
fi
same "a seccomp filter by prctl" "$stunts" filter 0 "$file"
like "a seccomp filter by prctl: it was not ended" "$(cat "$tmp/ours")" '^status 7$'
same "a seccomp filter by syscall" "$stunts" filter 1 "$file"
like "a seccomp filter by syscall: it was not ended" "$(cat "$tmp/ours")" '^status 7$'
same "all memory locked" "$stunts" lock 8 "$file"
like "all memory locked: it was allowed" "$(cat "$tmp/ours")" '^0$'
# By another user, since root may lock what it likes, and one that was there before the exec.
drop=
! can_be_nobody || drop=$as_nobody
had=$shim
shim=$(for_all)
cp "$stunts" "$tmp/stunts"
chmod 644 "$file"
same "all memory locked under 3 threads" $drop "$tmp/stunts" locked 8 "$file"
is "all memory locked under 3 threads: it was allowed" "$(head -n 1 "$tmp/ours")" 0
like "all memory locked under 3 threads: it is counted" "$(grep '^loss' "$tmp/dump")" ' left=1( |$)'
if is_root && [ $((0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status) >> 14 & 1)) = 1 ]; then
	same "all memory locked where nothing limits it" "$stunts" locked 8 "$file"
	like "all memory locked where nothing limits it: we stay" "$(grep '^loss' "$tmp/dump")" ' left=0( |$)'
else
	skip "all memory locked where nothing limits it" "no CAP_IPC_LOCK"
fi
shim=$had
fill() {
	"$@" sh -c 'ulimit -v 100000; exec "$@"' sh python3 -c 'a = []
try:
    while True:
        a.append(bytearray(1 << 22))
except MemoryError:
    n = len(a)
    del a
print(n)'
}
less=$(($(fill env) - $(fill dump)))
ok "an address space of 100 MB: as much of it is the guest's as without us (4 MB less: $less)" [ "$less" -le 1 ]
printf 'int main(void) { return 42; }\n' >"$tmp/c.c"
for sanitizer in address thread leak undefined; do
	for cc in gcc clang 'clang -shared-libasan -Wl,-rpath,'"$(clang -print-runtime-dir 2>/dev/null)"; do
		$cc -fsanitize=$sanitizer -o "$tmp/san" "$tmp/c.c" 2>/dev/null && "$tmp/san" 2>/dev/null
		[ $? = 42 ] || continue
		same "a child built by $cc with the $sanitizer sanitizer" sh -c "'$tmp/san' 2>&1"
	done
done

# Log lines: split, bounded, and only those that go where the root's output goes.
"$stunts" lines 7 "$file" >"$tmp/bare"
dump_options=-l dump "$stunts" lines 7 "$file" >"$tmp/ours"
ok "lines: the output is the same" cmp "$tmp/bare" "$tmp/ours"
is "lines: each is told" "$(grep '^log ' "$tmp/dump" | fields text | tr '\n' ' ')" \
	"line 0 line 1 line 2 line 3 line 4 line 5 line 6 one t w o three "
is "lines: how each ended" "$(grep '^log ' "$tmp/dump" | fields flags | tail -n 5 | tr '\n' ' ')" "0 2 2 4 2 "
dump_options=-l dump sh -c "'$stunts' lines 7 '$file' >'$tmp/elsewhere'" >"$tmp/ours"
is "lines: what goes elsewhere is not told" "$(grep -c '^log ' "$tmp/dump")" 0
dump_options=-l dump sh -c "'$stunts' lines 7 '$file' | cat" >"$tmp/ours"
is "lines: nor what goes through a pipe first, but what comes out of it" \
	"$(grep '^log ' "$tmp/dump" | awk '{ print $2 }' | sort -u | wc -l)" 1
head -c 1000 /dev/zero | tr '\0' x >"$tmp/long"
dump_options=-l dump dd bs=1000 status=none if="$tmp/long" >"$tmp/ours"
ok "a long line: the output is whole" cmp "$tmp/long" "$tmp/ours"
is "a long line: cut at 480" "$(grep '^log ' "$tmp/dump" | fields text | tr -d '\n' | wc -c)" 480

# Whole programs.
export LANG=C
same "sh" sh -c 'echo out; echo err >&2; exit 7'
same "python3" python3 -c 'import subprocess, sys, os
print(subprocess.run(["sh", "-c", "exit 3"]).returncode, sorted(os.listdir("/proc/self/fd")))
sys.exit(5)'
printf '#include <stdio.h>\nint main(void) { puts("built"); return 3; }\n' >"$tmp/p.c"
same "gcc" ${CC:-cc} -O1 -o "$tmp/p" "$tmp/p.c"
same "what gcc built" "$tmp/p"
if ${CC:-cc} -static -o "$tmp/static" "$tmp/p.c" 2>/dev/null; then
	same "a static program" "$tmp/static"
else
	skip "a static program" "no static libc"
fi
same "descriptors" sh -c 'ls -l /proc/self/fd | awk "{ print \$9, \$11 }" | sed "s|/proc/[0-9]*|/proc/N|;s,pipe:.*,pipe,;s|/bare\$|/OUT|;s|/ours\$|/OUT|"'
same "under env -i" env -i /bin/sh -c 'echo alive; env'
env >"$tmp/bare"
dump env >"$tmp/ours"
is "the environment: two additions" \
	"$(diff "$tmp/bare" "$tmp/ours" | sed -n 's/^> \([A-Z_]*\)=.*/\1/p' | grep -vx _ | sort | tr '\n' ' ')" "COLDPROF_SESSION LD_PRELOAD "

# Watched by a debugger, and one itself. Process numbers differ.
if command -v strace >/dev/null && strace -o "$tmp/trace" true 2>/dev/null; then
	same "strace and what it follows" strace -f -q -o "$tmp/trace" sh -c 'echo out; "$1" forks 20 "$2"; exit 3' sh "$stunts" "$file"
	like "strace and what it follows: it is told" "$(cat "$tmp/dump")" '^process .*/stunts forks 20 '
	same "a guest that is traced from outside" sh -c 'strace -f -q -o "$1" "$2" threads 8 "$3"; exit 4' sh "$tmp/trace" "$stunts" "$file"
else
	skip "strace and what it follows" "no strace, or it may not trace"
fi
if command -v gdb >/dev/null && gdb -q -batch -ex run --args true >"$tmp/gdb" 2>&1; then
	same "gdb and what it runs" sh -c 'gdb -nx -q -batch -ex "break write" -ex run -ex "info breakpoints" -ex delete \
		-ex continue --args /bin/echo held 2>&1 | sed "s/process [0-9]*/process N/; s/0x[0-9a-f]*/ADDRESS/" | grep -v ADDRESS'
else
	skip "gdb and what it runs" "no gdb, or it may not trace"
fi

# A library whose own dependencies come first: its calls pass us by, and it works.
same "a library opened with RTLD_DEEPBIND" python3 -c 'import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1], os.RTLD_NOW | os.RTLD_DEEPBIND)
table = (ctypes.c_void_p * 512)()
library.route_elf(table)
print(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint)(table[0])(0))' "$top_builddir/tests/engine/.libs/route-elf.so"

# Killed at 20 moments: what was told until then is whole.
whole=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	mkfifo "$tmp/fifo$i"
	dump sh -c 'echo $$ >&3; exec "$@"' sh "$stunts" endless 1 "$file" 3>"$tmp/pid" >"$tmp/fifo$i" &
	while read -r _; do
		# One more read's worth of work each time, so that the moments differ.
		head -c $((i * 200000)) "$file" >"$tmp/copy"
		kill -KILL "$(cat "$tmp/pid")"
	done <"$tmp/fifo$i"
	rc=0
	wait $! || rc=$?
	bytes=$(reads)
	grep -q '^loss.*damaged=0 ' "$tmp/dump" && [ "$rc" = 137 ] && [ "$bytes" -ge 0 ] && grep -q '^file ' "$tmp/dump" &&
		whole=$((whole + 1))
done
is "killed at 20 moments: the records are whole" $whole 20

# Room that runs out is counted; the guest does not notice.
dump_options="-s 264 -p 500"
same "room for one chunk" "$stunts" forks 200 "$file"
ok "room for one chunk: the loss is counted" [ "$(lost)" -gt 0 ]
ok "room for one chunk: no more than that is used" grep -q 'chunks=1/1 ' "$tmp/dump"
dump_options="-p 8"
same "8 entries for 101 processes" "$stunts" forks 1000 "$file"
ok "8 entries: those that found none are counted" [ "$(grep '^loss' "$tmp/dump" | fields processes)" -ge 93 ]
dump_options=
done_testing
