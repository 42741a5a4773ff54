#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The status line is drawn on a terminal that the guest does not write to, and only there;
# job control is the shell's, the guest's and ours alike.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/cli/cli.sh"

mkfifo "$tmp/go"
cat >"$tmp/on_terminal.py" <<'END'
import os, pty, sys
# on_terminal.py FIFO WAIT COMMAND: run COMMAND by sh on a terminal; release the guest once WAIT was seen there ("": at once).
fifo, wait, command = sys.argv[1:4]
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv("/bin/sh", ["sh", "-c", command])
seen, released = b"", False
while True:
    if not released and wait.encode() in seen:
        with open(fifo, "w") as f:
            f.write("go\n")
        released = True
    try:
        more = os.read(fd, 4096)
    except OSError:
        break
    if not more:
        break
    seen += more
os.waitpid(pid, 0)
sys.stdout.write(seen.decode(errors="replace"))
END
guest="sh -c 'read x <$tmp/go; echo guest; echo guest >&2'"
seen=$(timeout "$limit" python3 "$tmp/on_terminal.py" "$tmp/go" "waiting for" \
	"$coldprof --db $db -- $guest >$tmp/out 2>$tmp/err")
like "apart from the guest's output there is a status line" "$seen" 'coldprof: [0-9]+ s, process init; waiting for'
is "nothing of it in the guest's output" "$(cat "$tmp/out")" guest
unlike "nor in what is redirected with it" "$(cat "$tmp/err")" '; waiting for'
# What is wider than the terminal would wrap, and its first rows stay there.
for columns in 20 80; do
	seen=$(timeout "$limit" python3 "$tmp/on_terminal.py" "$tmp/go" "coldprof: " "stty cols $columns
		$coldprof --db $db --until 'log:$(printf %0100d 7)' -- $guest >$tmp/out 2>$tmp/err")
	ok "a status line fits into $columns columns" test "$(printf '%s\n' "$seen" | tr '\r' '\n' |
		sed 's/^.\[K//' | wc -L)" -lt "$columns"
done
seen=$(timeout "$limit" python3 "$tmp/on_terminal.py" "$tmp/go" "" "$coldprof --db $db -- $guest")
unlike "on the guest's own terminal there is none" "$seen" '; waiting for'
is "whose lines stay whole" "$(printf '%s\n' "$seen" | tr -d '\r' | grep -c '^guest$')" 2
seen=$(timeout "$limit" python3 "$tmp/on_terminal.py" "$tmp/go" "" "$coldprof -q --db $db -- $guest >$tmp/out 2>$tmp/err")
is "with -q there is none" "$seen" ""

# Job control: the same happens with and without us.
if command -v bash >/dev/null; then
	export COLDPROF_DB="$db"
	for how in "" "$coldprof -q --" "$coldprof -q --tier 0 --"; do
		timeout "$limit" python3 "$top_srcdir/tests/cli/jobs.py" bash "$how" \
			python3 "$top_srcdir/tests/cli/job_guest.py" >"$tmp/jobs" 2>&1
		is "a shell's job${how:+ under $(basename "$how")}" "$(cat "$tmp/jobs")" "$(cat <<'END'
a line is read
the size reaches it
interrupts: 1
both stopped
continued, and reads
status 6
a shell inside: 9
END
)"
	done
else
	skip "a shell's job" "no bash"
fi
done_testing
