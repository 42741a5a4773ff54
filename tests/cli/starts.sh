#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several starts: cold and verified, warm, stopped and awaited; what is kept with a run, and what is masked.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/cli/cli.sh"

engine=$top_builddir/tests/engine/truth-engine
port=$(free_port)
ok "a model" "$engine" --make-model 30000000 "$tmp/model"

truth()
{
	run "$@" -- "$engine" --truth "$tmp/truth" --model "$tmp/model" --driver fake --loader read --init 1 --port "$port" >"$tmp/out" 2>"$tmp/err"
}

states()
{
	ask "select group_concat(state, ' ') from (select state from run order by id desc limit $1)"
}

truth -n 2
is "-n 2: every start became ready" "$?" 0
like "-n 2: says what was evicted" "$(cat "$tmp/err")" 'evicted [0-9]+ weight files'
like "-n 2: the delta ledger follows" "$(cat "$tmp/err")" 'run 1 took .* run 2 took'
case $(stat -f -c %T "$tmp") in
tmpfs | ramfs)
	skip "-n 2: cold, then warm" "the test's folder is in memory"
	;;
*)
	# A kernel may take pages back between the two; it tells how many it fetched again for the second.
	taken=$(sed -e 's/.*"sub":"begin".*/begin/' -e 's/.*"item":"weights".*"read_bytes":\([0-9]*\).*/\1/' "$tmp/truth" |
		awk '/begin/ { n = 0 } /^[0-9]+$/ { n += $1 } END { printf "%d", n }')
	if [ "$taken" -lt 1500000 ]; then
		is "-n 2: cold, then warm (the later one first)" "$(states 2)" "warm cold"
	else
		is "-n 2: cold" "$(ask "select state from run order by id limit 1")" cold
		skip "-n 2: then warm" "$taken of 30000000 bytes were taken from the page cache"
	fi
	;;
esac
is "-n 2: two runs, ready" "$(ask "select group_concat(ending) from run")" "ready,ready"
ok "-n 2: nothing listens any more" python3 -c "import socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', $port))"
truth -n 2 --as-is
unlike "--as-is: nothing is evicted" "$(cat "$tmp/err")" evicted
truth -n 1 --cold
like "-n 1 --cold: evicted" "$(cat "$tmp/err")" evicted
truth -n 1
is "-n 1: stopped, status 0" "$?" 0
unlike "-n 1: taken as found" "$(cat "$tmp/err")" evicted

# Weights that no word of the command names, and no earlier run: they are seen when it is too late to evict them.
# By way of a pipe: what the kernel copies from file to file, as cat may ask it to, is not seen at tier 0.
models=$tmp run -n 1 --cold -- sh -c 'cat "$models"/mod*/*.safetensors | wc -c' >"$tmp/out" 2>"$tmp/err"
like "weights that were not known: not called cold" "$(tr -s '\n ' '  ' <"$tmp/err")" \
	'was to be cold; its weights were not known before it, .*its state is (warm|mixed|unknown)'

# Stopped whole: a child that SIGTERM to the main process leaves behind is killed after 30 seconds.
run -n 1 --until "http:$port" -- "$serve" --port "$port" --worker >"$tmp/out" 2>"$tmp/err"
is "-n 1 with a worker" "$?" 0
like "it is told" "$(cat "$tmp/err")" '30 s after SIGTERM'
is "no worker is left" "$(pgrep -f "^$serve --port $port --worker" || true)" ""
# A daemon has no main process any more: whoever is left at the top is asked in its place.
run -n 1 --until "http:$port" -- "$serve" --daemon --port "$port" >"$tmp/out" 2>"$tmp/err"
is "-n 1 with a daemon" "$?" 0
unlike "a daemon is asked to end, not killed" "$(cat "$tmp/err")" 'after SIGTERM'
is "no daemon is left" "$(pgrep -f "^$serve --daemon --port $port" || true)" ""
# A cache that is still being written is waited for: the guest writes for 3 seconds, each piece soon after the last.
mkdir "$tmp/kernels"
TRITON_CACHE_DIR=$tmp/kernels run -q -n 1 --until "file:$tmp/up" -- sh -c ': >"$1/up"
	i=0
	while [ $i -lt 30 ]; do
		echo "$i" >"$1/kernels/$i"
		sleep 0.1
		i=$((i + 1))
	done
	: >"$1/written"
	exec sleep 60' sh "$tmp"
is "-n 1: a guest that writes its caches" "$?" 0
ok "-n 1: is let write them" test -e "$tmp/written"
run -n 3 --until "http:$port" -- "$serve" --exit 7 >"$tmp/out" 2>"$tmp/err"
is "a start that did not become ready: its status" "$?" 7
run -n 3 --until "http:$port" -- "$serve" --exit 0 >"$tmp/out" 2>"$tmp/err"
is "a start that ended with 0 before ready is no success" "$?" 1
is "and is the last" "$(ask "select count(*) from run where command_json like '%--exit%'")" 2

# --keep-last: the delta comes, then the server runs on until it is told.
"$coldprof" --db "$db" -n 2 --keep-last --until "http:$port" -- "$serve" --port "$port" >"$tmp/out" 2>"$tmp/err" &
us=$!
timeout "$limit" tail -n +1 -f "$tmp/err" | grep -m1 ' took .* took ' >/dev/null
ok "--keep-last: it runs on" kill -0 "$us"
kill -TERM "$us"
end=0
wait "$us" || end=$?
is "--keep-last: the guest's status" "$end" 143

# What is stored of a run.
COLDPROF_TEST_SECRET=x HF_TOKEN=hidden HF_HUB_OFFLINE=1 run -q --label image=v7 --label node=a -- \
	sh -c ': --api-key shown' s --api-key hidden --hf-token=hidden 'http://u:hidden@h/p?sig=hidden'
is "labels" "$(ask 'select label from run order by id desc limit 1')" "image=v7;node=a"
is "the command, masked" "$(ask 'select command_json from run order by id desc limit 1')" \
	'["sh","-c",": --api-key ***","s","--api-key","***","--hf-token=***","http://h/p"]'
nok "no secret is anywhere in the file" grep -aq hidden "$db"
nok "no variable that is not known to matter" grep -aq COLDPROF_TEST_SECRET "$db"
ok "a variable that matters is kept" grep -aq HF_HUB_OFFLINE "$db"

# Where the kernel does not tell what is resident no number is made up: in a file system without a page cache, to whom
# does not own the file.
nobody=
[ "$(id -u)" != 0 ] || nobody=$as_nobody
chmod 755 "$tmp"
mkdir -m 777 "$tmp/open"
ln -s /sys/devices/system/cpu/online "$tmp/open/dark.safetensors"
if (cd "$tmp/open" && $nobody timeout "$limit" "$coldprof" --cold -- true dark.safetensors) 2>"$tmp/err"; then
	like "residency that is not told: said" "$(cat "$tmp/err")" 'the kernel does not tell whether they went'
	unlike "residency that is not told: no number" "$(cat "$tmp/err")" 'were resident'
	is "residency that is not told: NULL in the file" \
		"$(sqlite3 "$tmp/open/coldprof.db" "select resident_before_bytes is null from files where path like '%dark%'")" 1
else
	skip "residency that is not told" "another user cannot run coldprof here: $(head -n 1 "$tmp/err")"
fi

# A writer that keeps the database locked delays nothing of the guest and changes nothing of its status.
mkfifo "$tmp/locked" "$tmp/unlock"
python3 -c 'import sqlite3, sys
d = sqlite3.connect(sys.argv[1], isolation_level=None)
d.execute("begin immediate")
open(sys.argv[2], "w").write("locked\n")
open(sys.argv[3]).read()' "$db" "$tmp/locked" "$tmp/unlock" &
locker=$!
await "$tmp/locked" >/dev/null
status "a locked database: the guest's status" 5 run -- sh -c 'exit 5'
like "a locked database: told" "$(cat "$tmp/.tap.err")" 'another writer'
echo >"$tmp/unlock"
wait "$locker"
is "the file is sound" "$(ask 'pragma integrity_check')" ok
done_testing
