#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Exit statuses, bad input before anything is started, and the guest's own output.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/cli/cli.sh"

for n in 0 1 77 255; do
	status "exit $n" $n run -q -- sh -c "exit $n"
done
for n in 9 11 15; do
	# The shell that waits tells a death by signal as 128+n, as coldprof does.
	status "signal $n" $((128 + n)) run -q -- sh -c "kill -$n \$\$"
done
# What was not started is no run.
before=$("$coldprof" list --db "$db" --format csv)
for until in "" "--until exit" "--until file:$tmp" "-n 2" "-n 2 --until exit"; do
	# shellcheck disable=SC2086
	status "a missing command${until:+ with $until}" 127 run $until -- no-such-command-at-all
	like "a missing command${until:+ with $until}: it is told" "$(cat "$tap_err")" \
		"^coldprof: cannot run 'no-such-command-at-all': No such file"
	unlike "a missing command${until:+ with $until}: no ledger" "$(cat "$tap_err")" '^total '
done
status "no permission with --until exit" 126 run --until exit -- "$tmp"
is "what was not started is not in the list" "$("$coldprof" list --db "$db" --format csv)" "$before"
status "a missing command" 127 run -q -- "$tmp/no-such-command"
status "a missing command in PATH" 127 run -q -- no-such-command-at-all
echo 'exit 0' >"$tmp/not-executable"
status "no permission" 126 run -q -- "$tmp/not-executable"
status "a folder" 126 run -q -- "$tmp"
printf 'exit 5\n' >"$tmp/script"
chmod +x "$tmp/script"
status "a script without #!" 5 run -q -- "$tmp/script"

# Bad input: 125, a message, and the command is not started.
refused()
{
	name=$1
	pattern=$2
	shift 2
	rm -f "$tmp/started"
	status "$name" 125 timeout "$limit" "$coldprof" "$@" -- touch "$tmp/started"
	like "$name: says why" "$(cat "$tap_err")" "$pattern"
	nok "$name: nothing was started" test -e "$tmp/started"
}
refused "unknown option" "unknown option '--nonsense'" --nonsense
refused "unknown option with a value" "unknown option '--nonsense'" --nonsense=secret
unlike "the value of an unknown option is not shown" "$(cat "$tap_err")" secret
refused "no number" "whole number from 1" -n none
refused "no seconds" "seconds above 0" --timeout 0
refused "a bad tier" "not a value of --tier" --tier 3
refused "a bad label" "not a label" --label nokey
refused "cold and as-is" "exclude each other" --cold --as-is
refused "keep-last alone" "wants -n" --keep-last
for mark in http:0 http:99999 http:8000x port:x port:80/x log: 'log:(' file: exit:1 nonsense ''; do
	refused "mark '$mark'" "is not a mark" --db "$db" --until "$mark"
done
echo "this is no database, whatever it is called" >"$tmp/foreign.db"
refused "a foreign file" "foreign.db" --db "$tmp/foreign.db"
sqlite3 "$tmp/other.db" 'create table t(x)'
refused "another program's database" "other.db" --db "$tmp/other.db"
run -q -- true
cp "$db" "$tmp/newer.db"
sqlite3 "$tmp/newer.db" 'pragma user_version = 9999'
refused "a newer schema" "newer" --db "$tmp/newer.db"
refused "a database without a name" "not the name" --db ''
refused "a database whose reads fail" "mem.*Input/output error" --db /proc/self/mem
refused "a database that nobody finds again" "not the name" --db :memory:
refused "a folder that is not there" "no-such-folder" --db "$tmp/no-such-folder/x.db"
refused "no such user" "no user" --user no-such-user-at-all --db "$db"
if [ "$(id -u)" = 0 ]; then
	skip "an unreadable database" "root reads everything"
else
	cp "$db" "$tmp/unreadable.db"
	chmod 0 "$tmp/unreadable.db"
	refused "an unreadable database" "unreadable.db" --db "$tmp/unreadable.db"
fi
# A small stack is the guest's; what coldprof needs it takes elsewhere. The environment lies there too: little of it.
# With less, the loader of glibc 2.39 does not get through our libraries for any program, now and then.
small()
{
	name=$1
	want=$2
	shift 2
	status "a stack of 24 kB: $name" "$want" timeout "$limit" env -i PATH="$PATH" sh -c 'ulimit -s 24; exec "$@"' sh "$@"
}
for tier in 0 1; do
	small "tier $tier" 9 "$coldprof" --db "$tmp/small.db" --tier $tier -- sh -c 'ulimit -s; exit 9'
	is "a stack of 24 kB: it is the guest's at tier $tier" "$(cat "$tap_out")" 24
	like "a stack of 24 kB: a ledger at tier $tier" "$(cat "$tap_err")" '^total '
	like "a stack of 24 kB: what it costs at tier $tier" "$(cat "$tap_err")" 'the shim is not in .sh.: its stack is limited'
done
small "two starts" 0 "$coldprof" --db "$tmp/small.db" -n 2 -- true
like "a stack of 24 kB: the delta" "$(cat "$tap_err")" '^total .*'
for verb in report "report files --format json" "report processes --format csv" "diff 3 4" list "export csv" doctor; do
	# shellcheck disable=SC2086
	small "$verb" 0 "$coldprof" $verb --db "$tmp/small.db"
done
# Few descriptors: the guest keeps its limit, coldprof takes more where it may and else does with what there is.
limits='ulimit -S -n; ulimit -H -n'
is "a low limit of open files stays the guest's" \
	"$(sh -c 'ulimit -S -n 24; exec "$@"' sh "$coldprof" --db "$db" -q -- sh -c "$limits")" \
	"$(sh -c "ulimit -S -n 24; $limits")"
few()
{
	timeout "$limit" sh -c 'n=$1; shift; ulimit -n $n; exec "$@"' sh "$1" $bound \
		"$coldprof" --db "$db" -- sh -c 'echo "limit $(ulimit -n)"'
}
bound=
[ "$(id -u)" != 0 ] || bound="setpriv --bounding-set=-sys_resource"
if $bound true 2>"$tmp/err"; then
	for n in 32 36 40 48 64 96; do
		is "at most $n open files" "$(few $n 2>"$tmp/err")" "limit $n"
		like "at most $n open files: a ledger" "$(cat "$tmp/err")" 'process init'
	done
	# The sampler alone, and a program that ends between two looks and without the shim.
	printf 'int main(void) { return 3; }\n' >"$tmp/brief.c"
	if ${CC:-cc} -static -o "$tmp/brief-program" "$tmp/brief.c" 2>"$tmp/err"; then
		status "at most 32 open files: a brief program" 3 timeout "$limit" \
			sh -c 'ulimit -n 32; exec "$@"' sh $bound "$coldprof" --db "$db" --tier 0 -- "$tmp/brief-program"
		last="FROM processes WHERE run = (SELECT max(id) FROM run)"
		is "at most 32 open files: its name" "$(ask "SELECT group_concat(name) $last")" brief-program
		is "at most 32 open files: not our file" \
			"$(ask "SELECT count(*) $last AND exe IS NOT NULL AND exe NOT LIKE '%/brief-program'")" 0
		is "at most 32 open files: it begins with its exec" "$(ask "SELECT start_s = 0 AND exec_s = 0 $last")" 1
	else
		skip "at most 32 open files: a brief program" "no static libc: $(head -n 1 "$tmp/err")"
	fi
	status "at most 20 open files" 125 few 20
	like "at most 20 open files: says why" "$(cat "$tap_err")" 'limit of open files is 20, and coldprof needs 32'
	unlike "at most 20 open files: nothing was started" "$(cat "$tap_out")" limit
else
	skip "at most 32 open files" "$bound: $(cat "$tmp/err")"
fi
# No process to be had: the kernel counts those of a user who is not root.
nobody=
[ "$(id -u)" != 0 ] || nobody=$as_nobody
chmod 755 "$tmp"
mkdir -m 777 "$tmp/open"
alone()
{
	(cd "$tmp/open" && exec timeout "$limit" $nobody prlimit --nproc=1 "$coldprof" "$@")
}
if alone --version >"$tmp/out" 2>"$tmp/err"; then
	status "no process to be had" 125 alone -- touch started
	like "no process to be had: for the memory" "$(cat "$tap_err")" 'shim is off: no process to hold .*: Resource temporarily'
	like "no process to be had: for the command" "$(cat "$tap_err")" "cannot start 'touch': no process: Resource temporarily"
	nok "no process to be had: nothing was started" test -e "$tmp/open/started"
	is "no process to be had: it is no run" "$(sqlite3 "$tmp/open/coldprof.db" 'SELECT count(*) FROM run')" 0
else
	skip "no process to be had" "another user cannot run coldprof here: $(head -n 1 "$tmp/err")"
fi
status "no command" 125 run
like "no command: says so" "$(cat "$tap_err")" 'no command'
status "no command behind --" 125 run --
status "neither verb nor option" 125 run nonsense
like "it tells how" "$(cat "$tap_err")" 'coldprof -- nonsense'

status "a verb behind options" 125 run list
like "tells the order" "$(cat "$tap_err")" "the verb 'list' comes first"

# Output, input and arguments pass unchanged.
is "standard output is the guest's alone" "$(run -- printf 'a\nb')" "$(printf 'a\nb')"
is "standard input reaches it" "$(echo through | run -q -- cat)" through
is "short options in one word" "$(run -qn1 --until exit -- sh -c 'echo out' 2>&1)" out
is "arguments stay as they are" "$(run -q -- printf '%s|' -n 3 --db 'a b' --)" '-n|3|--db|a b|--|'
is "-q leaves standard error to the guest" "$(run -q --until exit -- sh -c 'echo only >&2' 2>&1)" only
like "the ledger is on standard error" "$(run -- true 2>&1 >/dev/null)" 'process init'
is "every run is stored whole" "$(ask 'select count(*) > 0, count(*) filter (where end_ns is null) from run')" "1|0"
is "the file is sound" "$(ask 'pragma integrity_check')" ok
done_testing
