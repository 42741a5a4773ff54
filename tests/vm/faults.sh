#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the test machine's console tells of its kernel's faults.
. "$top_srcdir/tests/tap.sh"

# usage: find_in NAME STATUS FIRST-LINE: of the console on standard input
find_in()
{
	cat >"$tmp/console"
	status "$1" "$2" "$top_srcdir/tests/vm/faults" "$tmp/console"
	is "$1: the first line" "$(head -n 1 "$tap_out")" "$3"
}

find_in "a run without a fault" 1 "" <<'end'
[    0.000000] Kernel command line: console=ttyS0 quiet panic=-1
[    0.000000] Spectre V2 : WARNING: Unprivileged eBPF is enabled
WARNING: a test's own line
@vm done
end

find_in "an oops and a panic" 0 "[    3.312400] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI" <<'end'
@vm begin tests/vm/agree.sh
ok 1 - a mod[    3.312400] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI
[    3.312450] RIP: 0010:flush_tlb_func+0x1c3/0x370
[    3.312460] RSP: 0018:ffffd603400c3ed8 EFLAGS: 00000202
[    3.312470] RAX: 0000000000000001 RBX: 0000000000000000 RCX: 0000000000000000
[    3.312480] R10: 0000000000000001 R11: ffffffff8f25a100 R12: 0000000000000001
[    3.312490] FS:  00007f08866883c0(0000) GS:ffff8b1dbdc00000(0000) knlGS:0000000000000000
[    3.312500]  __flush_smp_call_function_queue+0x140/0x410
[    3.312900] Kernel panic - not syncing: Fatal exception in interrupt
end
is "its cause, its trace and its end, no registers" "$(sed 's/^[^]]*\] *//; s/[ +].*//' "$tap_out" | tr '\n' ' ')" \
	"Oops: RIP: __flush_smp_call_function_queue Kernel "

# Linux before 6.10 names the exception alone.
find_in "an oops of an older kernel" 0 "[    3.093098] int3: 0000 [#1] PREEMPT SMP NOPTI" <<'end'
[    3.093098] int3: 0000 [#1] PREEMPT SMP NOPTI
end

find_in "a warning" 0 "[    9.000001] WARNING: CPU: 1 PID: 80 at kernel/events/core.c:2100 x+0x1/0x2" <<'end'
[    9.000000] ------------[ cut here ]------------
[    9.000001] WARNING: CPU: 1 PID: 80 at kernel/events/core.c:2100 x+0x1/0x2
end

find_in "a processor that stood still" 2 "[   40.000001] rcu: INFO: rcu_preempt self-detected stall on CPU" <<'end'
[   40.000001] rcu: INFO: rcu_preempt self-detected stall on CPU
[   40.000002] rcu: 	1-....: (5249 ticks this GP)
end

find_in "a fault behind a stall" 0 "[   50.000003] BUG: kernel NULL pointer dereference, address: 0000000000000008" <<'end'
[   40.000001] watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [sh:80]
[   50.000003] BUG: kernel NULL pointer dereference, address: 0000000000000008
end

awk 'BEGIN { print "[    1.000000] Kernel panic - not syncing: x"; for (i = 0; i < 500; i++) print "[    1.000001]  x+0x1/0x2" }' \
	>"$tmp/console"
is "60 lines at most" "$("$top_srcdir/tests/vm/faults" "$tmp/console" | wc -l)" 60
done_testing
