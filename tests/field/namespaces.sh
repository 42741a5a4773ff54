#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Workers in pid namespaces of their own, each number 1 in its own: what the library reports from inside goes to the
# right process outside, with coldprof beside them and with coldprof in a namespace too.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/field/field.sh"

unshare -pf --mount-proc true 2>/dev/null || skip_all "no right to make a pid namespace"
engine=$top_builddir/tests/engine/truth-engine
FAKECUDA=cuInit=1ms,ctx=1ms,module=1ms
export FAKECUDA

# Each does as many graphs as it was told; both are the same program, begun at the same moment.
cat >"$tmp/two.sh" <<'SH'
for graphs in 3 7; do
	unshare -pf $3 sh -c '"$0" --model "$1" --driver fake --loader threads --init 50 --graphs "$2"; true' \
		"$1" "$2" $graphs &
done
wait
SH

# What a process was told stands in its command, as the kernel or /proc has it: beside it what it called.
judge() {
	is "$1: each made its own graphs" "$(ask "select group_concat(told || '/' || calls, ' ') from
		(select substr(p.command, -1) told, c.calls from processes p join cuda c on c.run = p.run and c.pid = p.pid
		where p.run = (select max(id) from run) and p.name = 'truth-engine' and c.symbol like 'cuGraphInstantiate%'
		order by told)")" "3/3 7/7"
	is "$1: no process is made up" "$(ask "select count(*), count(*) filter (where not shim) from processes
		where run = (select max(id) from run)")" "7|0"
	is "$1: their own numbers" "$(ask "select group_concat(name || ' ' || ns_pid, ', ') from
		(select name, ns_pid from processes where run = (select max(id) from run) and ns_pid order by 1, 2)")" \
		"sh 1, sh 1, truth-engine 2, truth-engine 2"
	# Tier 0 samples threads: one that came and went has no time.
	known="tid in (select tid from thread_time t where t.run = e.run and t.process = e.process)"
	tier1 || known="tid != (select ns_pid from process p where p.run = e.run and p.id = e.process)"
	is "$1: threads have the numbers of this side" "$(ask "select count(*) from evidence e where run =
		(select max(id) from run) and not $known")" 0
}

for tier in 1 0; do
	for proc in --mount-proc ""; do
		record -q --tier $tier --until exit -- sh "$tmp/two.sh" "$engine" "$model" $proc
		judge "tier $tier${proc:+, with their own /proc}"
	done
done
end=0
unshare -pf --mount-proc "$coldprof" --db "$db" -q --until exit -- sh "$tmp/two.sh" "$engine" "$model" --mount-proc \
	>"$tmp/out" 2>"$tmp/err" || end=$?
is "inside one: the status" "$end" 0
judge "inside one"

# There, /proc still numbers processes as outside: coldprof must not take a stranger's number for its own.
inside() # ARG...
{
	end=0
	timeout "$limit" unshare -pf "$coldprof" --db "$db" "$@" >"$tmp/out" 2>"$tmp/err" || end=$?
}
inside -q --until exit -- sh "$tmp/two.sh" "$engine" "$model" --mount-proc
is "inside one, with /proc of outside: the status" "$end" 0
tier1 && judge "inside one, with /proc of outside"
is "inside one, with /proc of outside: it is said" "$(ask "select count(*) from diagnostics where run =
	(select max(id) from run) and text like '/proc is not mounted%'")" 1
if ! tier1; then
	skip "stopped inside one, with /proc of outside" "a port has no known holder there at tier 0"
	done_testing
fi
port=$(free_port)
inside -n 1 --until "http:$port/health" -- "$engine" --model "$model" --driver fake --init 1 --port "$port"
is "stopped inside one, with /proc of outside: the status" "$end" 0
unlike "nobody else is taken for the start's own" "$(cat "$tmp/err")" killing
like "what cannot be seen is said" "$(cat "$tmp/err")" 'cannot see whether processes of this start live on'
done_testing
