#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What doctor says of this machine is what the machine says when it is asked otherwise, and what a start then gets.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/cli/cli.sh"

# row NAME: the verdict and the rest of a line.
row()
{
	sed -n "s/^$1  *\(yes\|no\|-\)  *\(.*\)/\1 \2/p" "$tmp/doctor"
}

status "it ends well" 0 "$coldprof" doctor --db "$db"
cp "$tap_out" "$tmp/doctor"
is "it says nothing beside" "$(cat "$tap_err")" ""
is "the kernel" "$(row kernel)" "- $(uname -r) $(uname -m)"
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2>"$tmp/err")
is "perf events" "$(row 'perf paranoid')" "- ${paranoid:-no perf events in this kernel}"
is "the kernel's types" "$(row 'kernel types')" "$(test -r /sys/kernel/btf/vmlinux && echo yes || echo no) /sys/kernel/btf/vmlinux"
like "who asks" "$(row powers)" "\(uid $(id -u)\)\$"
like "the shim is that of this build" "$(row shim)" "^yes .*/libcoldprof-shim\.so\$"
like "the memory" "$(row 'session memory')" '^yes 16 MiB, reached by '
like "the page cache" "$(row 'page cache')" '^(yes by (cachestat|mincore|samples)|no the kernel does not tell .*)$'
is "a database to be made" "$(row database)" "yes $db (to be made)"
nok "it is not made" test -e "$db"
run -q -- true
is "the tier is that of a start" "$(row tier | cut -d' ' -f2)" "$(ask 'select tier from run')"
"$coldprof" doctor --db "$db" >"$tmp/doctor"
is "a database that is there" "$(row database)" "yes $db"
"$coldprof" doctor --db "$tmp/no/such/folder.db" >"$tmp/doctor"
is "one that cannot be made" "$(row database)" "no $tmp/no/such/folder.db (to be made)"

nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
if [ "$(id -u)" != 0 ] || ! $nobody test -x "$coldprof" 2>"$tmp/err"; then
	skip "without rights" "only root can become another user, one who can reach the build folder"
else
	chmod 755 "$tmp"
	(cd / && $nobody "$coldprof" doctor --db "$tmp/nobody.db") >"$tmp/doctor"
	is "without rights: no powers" "$(row powers)" "no none (uid 65534)"
	like "without rights: no database in a folder of another's" "$(row database)" "^no $tmp/nobody.db"
	is "without rights: tier 0" "$(row tier)" "- 0 of 2"
	is "without rights: one line why" "$(grep -c 'tier 0: kernel probes' "$tmp/doctor")" 1
fi
status "no word beside" 125 "$coldprof" doctor now
like "no word beside: named" "$(cat "$tap_err")" "doctor takes no 'now'"
if [ -w /dev/full ]; then
	# shellcheck disable=SC2016
	status "a full disk under the output" 125 sh -c '"$1" doctor >/dev/full' sh "$coldprof"
else
	skip "a full disk under the output" "no /dev/full"
fi
done_testing
