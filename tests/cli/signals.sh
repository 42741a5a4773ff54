#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Signals: what a process sends to coldprof reaches the guest once, what the group gets is not doubled.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/cli/cli.sh"

mkfifo "$tmp/up"

# begin ARG...: coldprof with the witness of signals; sets $us and $guest.
begin()
{
	"$coldprof" --db "$db" "$@" -q -- "$witness" signals "$tmp/up" >"$tmp/out" 2>"$tmp/err" &
	us=$!
	guest=$(await "$tmp/up" | cut -d' ' -f2)
}

# got N: wait until the witness has told N signals.
got()
{
	timeout "$limit" tail -n +1 -f "$tmp/out" | head -n "$1" >/dev/null
}

finish()
{
	end=0
	wait "$us" || end=$?
}

begin
kill -HUP "$us"
got 1
kill -USR2 "$us"
got 2
kill -PIPE "$us"
got 3
kill -TERM "$us"
finish
is "each signal arrives once, as sent" "$(cat "$tmp/out")" "$(printf '1 sent\n12 sent\n13 sent\n15 sent')"
is "the guest's own answer is our status" "$end" 3
is "the database is closed" "$(ask 'pragma integrity_check')" ok

# The whole group is told by a process, which coldprof cannot know: it passes on what the guest has heard already.
cat >"$tmp/group.py" <<'END'
import os, signal, subprocess, sys
p = subprocess.Popen(sys.argv[2:], start_new_session=True)
with open(sys.argv[1]) as f:
    f.readline()
os.killpg(p.pid, signal.SIGTERM)
sys.exit(p.wait())
END
python3 "$tmp/group.py" "$tmp/up" "$coldprof" --db "$db" -q -- "$witness" signals "$tmp/up" >"$tmp/out" 2>"$tmp/err"
is "status after a signal to the group" "$?" 3
n=$(wc -l <"$tmp/out")
ok "a signal sent to the group ends the guest" test "$n" -ge 1

# By a terminal's Ctrl-C: si_code tells that the kernel sent it.
cat >"$tmp/terminal.py" <<'END'
import os, pty, signal, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
with open(sys.argv[1]) as f:
    guest = int(f.readline().split()[1])
seen = b""
def until(what):
    global seen
    while what not in seen:
        seen += os.read(fd, 1024)
os.write(fd, b"\x03")
until(b"2 kernel")
os.kill(guest, signal.SIGTERM)
until(b"15 sent")
_, status = os.waitpid(pid, 0)
print(seen.count(b"2 "), seen.count(b"15 "), os.waitstatus_to_exitcode(status))
END
is "Ctrl-C is not doubled" \
	"$(timeout "$limit" python3 "$tmp/terminal.py" "$tmp/up" "$coldprof" --db "$db" -q -- "$witness" signals "$tmp/up")" "1 1 3"

# A guest that signals its own group hears itself alone. The group is of its own, without timeout: that would die of it.
timeout "$limit" setsid -w "$coldprof" --db "$db" -q -- sh -c 'trap "echo heard" USR2; trap "" HUP; kill -USR2 0; :' >"$tmp/out" 2>"$tmp/err"
is "a guest that signals its group hears it once" "$(cat "$tmp/out")" heard

# An ignored SIGCHLD would hide the guest's end from a careless parent.
cat >"$tmp/careless.py" <<'END'
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    os.execv(sys.argv[1], sys.argv[1:])
try:
    os.wait()
except ChildProcessError:
    pass
END
is "SIGCHLD ignored by our parent stays ignored in the guest" \
	"$(python3 "$tmp/careless.py" "$coldprof" --db "$db" -q -- grep SigIgn /proc/self/status)" \
	"$(python3 "$tmp/careless.py" "$(command -v grep)" SigIgn /proc/self/status)"
python3 "$tmp/careless.py" "$coldprof" --db "$db" -q -- sh -c 'exit 9'
is "and the guest's status is seen all the same" "$(ask 'select status from run order by id desc limit 1')" $((9 * 256))

# SIGUSR1 shows the ledger so far and the guest hears nothing.
begin_loud()
{
	"$coldprof" --db "$db" --until exit -- "$witness" signals "$tmp/up" >"$tmp/out" 2>"$tmp/err" &
	us=$!
	guest=$(await "$tmp/up" | cut -d' ' -f2)
}
begin_loud
kill -USR1 "$us"
timeout "$limit" tail -n +1 -f "$tmp/err" | grep -m1 'process init' >/dev/null
kill -TERM "$us"
finish
is "SIGUSR1 is ours" "$(cat "$tmp/out")" "15 sent"
ok "it shows the ledger so far" grep -q 'process init' "$tmp/err"
like "it says that nothing has ended" "$(head -n 2 "$tmp/err")" 'not ready, after [0-9.]+ s: still starting, in process init'

# coldprof killed: the guest goes on, the file opens, the helper is gone.
"$coldprof" --db "$db" -q -- "$witness" signals "$tmp/up" >"$tmp/out" 2>"$tmp/err" &
us=$!
guest=$(await "$tmp/up" | cut -d' ' -f2)
helper=$(pgrep -P "$us" -x coldprof-holder || true)
kill -KILL "$us"
finish
is "our death by SIGKILL" "$end" 137
ok "the guest lives on" kill -0 "$guest"
if [ -n "$helper" ]; then
	ok "the holder ends with us" gone "$helper"
else
	skip "the holder ends with us" "no shim, no holder"
fi
kill -TERM "$guest"
ok "the guest ended by itself" gone "$guest"
is "the file is sound" "$(ask 'pragma integrity_check')" ok
done_testing
