#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Readiness: every mark, no byte where none may go, ports of others, daemons, ends before ready, --timeout.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/cli/cli.sh"

mkfifo "$tmp/go" "$tmp/up"
hits=$tmp/hits
port=$(free_port)

last()
{
	ask "select $1 from run order by id desc limit 1"
}

# Start in the background with FIFOs; the ledger's appearance says that the run is over. The last
# run's must not be seen before the new one has its files.
begin()
{
	: >"$hits"
	: >"$tmp/err"
	"$coldprof" --db "$db" "$@" >"$tmp/out" 2>"$tmp/err" &
	us=$!
}

ledger_shown()
{
	timeout "$limit" tail -n +1 -f "$tmp/err" | grep -m1 -E 'process init|serving up' >/dev/null
}

finish()
{
	end=0
	wait "$us" || end=$?
}

begin --until "http:$port" -- "$serve" --port "$port" --first 503,503,503 --hits "$hits" --wait "$tmp/go"
echo >"$tmp/go"
ledger_shown
ok "http: the guest runs on after ready" kill -0 "$us"
is "http: so that its end is not known" "$(ask "select r.status is null and p.status is null and p.end_ns is null
	from run r join process p on p.run = r.id where r.id = $(last id) and p.id = 0")" 1
is "http: 503 until 200, then no more requests" "$(grep -c 'GET /health' "$hits")" 4
kill -TERM "$us"
finish
is "http: the guest's end is ours" "$end" 143
is "http: the mark" "$(last ready_mark)" "http:$port/health"
ok "http: at most four polls a second" test "$(last '(ready_ns - start_ns) / 1000000')" -ge 750
is "http: the port is a mark of its own" "$(ask "select count(*) from mark where run = $(last id)")" 2

# It answered 503 a quarter of a second before: it may have been ready since.
is "http: how late that may be" "$(ask "select h.late_ns between 240000000 and h.at_ns - p.at_ns from mark h, mark p
	where h.run = $(last id) and p.run = h.run and h.name = (select id from string where text = 'http:$port/health')
	and p.name = (select id from string where text = 'port:$port')")" 1
like "http: and the ledger says so" "$(cat "$tmp/err")" 'ready after [0-9.]+ s \(http:[0-9]+/health, up to 0\.[0-9]+ s'

begin --until "http:$port/v2/ready" -- "$serve" --port "$port" --hits "$hits"
ledger_shown
kill -TERM "$us"
finish
is "http with a path" "$(cat "$hits")" "GET /v2/ready HTTP/1.1"

begin --until "http:$port" -- "$serve" --port "$port" --first 404,404 --hits "$hits"
ledger_shown
kill -TERM "$us"
finish
# Paths that are not there say nothing of its readiness: it may have been ready since it listens.
ok "the usual paths: how late that may be" test "$(ask "select late_ns from mark where run = $(last id) order by id desc
	limit 1")" -ge 490000000
is "the usual paths are tried where none is told" "$(cut -d' ' -f2 "$hits" | tr '\n' ' ')" "/health /v1/models / "

http_proxy=http://127.0.0.1:1 all_proxy=http://127.0.0.1:1
export http_proxy all_proxy
begin --until "http:$port/up" -- "$serve" --port "$port" --first 302,302 --hits "$hits"
unset http_proxy all_proxy
ledger_shown
kill -TERM "$us"
finish
is "it is asked itself, whatever proxy there is, and is not ready where it leads elsewhere" \
	"$(cut -d' ' -f2 "$hits" | tr '\n' ' ')" "/up /up /up "

# The status line decides, whenever the rest of the answer comes.
for kind in held endless; do
	begin --until "http:$port" --timeout 20 -- "$serve" --port "$port" --body $kind --hits "$hits"
	ledger_shown
	is "an answer that never ends ($kind): ready by its status line" "$(last ready_mark)" "http:$port/health"
	ok "an answer that never ends ($kind): at once" test "$(last '(ready_ns - start_ns) / 1000000000')" -lt 5
	kill -TERM "$us"
	finish
	begin --until "http:$port/" --timeout 20 -- "$serve" --port "$port" --first 503,503 --body $kind --hits "$hits"
	ledger_shown
	is "503 that never ends ($kind), then 200" "$(grep -c GET "$hits")" 3
	kill -TERM "$us"
	finish
done
mkfifo "$tmp/body"
begin --until "http:$port" -- "$serve" --port "$port" --body "$tmp/body" --hits "$hits"
ledger_shown
echo >"$tmp/body"
like "a body behind the status line is taken to its end" "$(timeout "$limit" tail -n +1 -f "$hits" | grep -m1 whole)" whole
kill -TERM "$us"
finish

if "$serve" --v6 --port "$port" --exit 0 2>"$tmp/err"; then
	begin -- "$serve" --v6 --port "$port" --hits "$hits"
	ledger_shown
	kill -TERM "$us"
	finish
	is "a server on IPv6 alone" "$(last ready_mark)" "http:$port/health"
else
	skip "a server on IPv6 alone" "$(cat "$tmp/err")"
fi

# A server of TLS that ends a plain request without a word, and one that does so and speaks no TLS either.
cat >"$tmp/silent.py" <<'END'
import socket, ssl, sys
port, hits = int(sys.argv[2]), sys.argv[3]
context = None
if len(sys.argv) > 4:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[4])
listener = socket.create_server(("127.0.0.1", port))
asked = 0
while True:
    peer, _ = listener.accept()
    first = peer.recv(1, socket.MSG_PEEK)
    with open(hits, "a") as f:
        f.write("tls\n" if first == b"\x16" else "plain\n")
    asked += first != b"\x16"
    try:
        if context and first == b"\x16":
            peer = context.wrap_socket(peer, server_side=True)
        if first == b"\x16" and not context or first != b"\x16" and (context or asked < 3):
            peer.close()
            continue
        peer.recv(4096)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    except OSError:
        pass
    peer.close()
END
if openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tmp/key" -out "$tmp/cert" -days 2 -subj /CN=localhost 2>"$tmp/err"; then
	cat "$tmp/key" "$tmp/cert" >"$tmp/both"
	begin -- python3 "$tmp/silent.py" --port "$port" "$hits" "$tmp/both"
	ledger_shown
	kill -TERM "$us"
	finish
	is "a server of TLS" "$(tr '\n' ' ' <"$hits")" "plain tls "
else
	skip "a server of TLS" "no openssl: $(cat "$tmp/err")"
fi
begin -- python3 "$tmp/silent.py" --port "$port" "$hits"
ledger_shown
kill -TERM "$us"
finish
is "one that ends its first requests is tried with TLS once" "$(tr '\n' ' ' <"$hits")" "plain tls plain plain "

# The command tells its port; what speaks no HTTP is ready when it listens.
begin -- "$serve" --port "$port" --first raw --hits "$hits"
ledger_shown
kill -TERM "$us"
finish
is "default: no HTTP spoken, the port counts" "$(last ready_mark)" "port:$port"

begin -- "$serve" --port "$port" --hits "$hits"
ledger_shown
kill -TERM "$us"
finish
is "default: 200 on the port of the command" "$(last ready_mark)" "http:$port/health"

begin --until "port:$port" -- "$serve" --port "$port" --hits "$hits"
ledger_shown
is "port: not a byte is sent" "$(cat "$hits")" ""
kill -TERM "$us"
finish
is "port: the mark" "$(last ready_mark)" "port:$port"

other=$(free_port)
begin --until "port:$other" --timeout 1.5 -- "$serve" --port "$port" --hits "$hits"
finish
is "another port than the one that is asked for is not ready" "$end" 124
is "and gets no byte" "$(cat "$hits")" ""

begin --until 'log:server [a-z]+ up$' -- "$serve" --port "$port" --say "the server is up" --hits "$hits"
ledger_shown
kill -TERM "$us"
finish
if [ "$(last ready_mark)" = 'log:server [a-z]+ up$' ]; then
	pass "log: a line that matches"
else
	fail "log: a line that matches"
	diag "$(cat "$tmp/err")"
fi
is "log: the guest's output is untouched" "$(cat "$tmp/out")" "the server is up"

begin --tier 0 --until log:never --timeout 1 -- "$serve"
finish
like "log: without kernel probes a line may come unseen, and that is said" "$(tr -s '\n ' '  ' <"$tmp/err")" \
	"the line of log:never may have come unseen"

touch "$tmp/old"
begin --until "file:$tmp/old" --timeout 1 -- "$serve"
finish
is "file: one that was there before does not count" "$end" 124
begin --until "file:$tmp/new" -- sh -c "touch '$tmp/new'; exec '$serve'"
ledger_shown
kill -TERM "$us"
finish
is "file: the mark" "$(last ready_mark)" "file:$tmp/new"

begin --until exit -- sh -c 'exit 6'
finish
is "exit: status" "$end" 6
is "exit: the mark" "$(last ready_mark)" exit

# A port that another process holds.
"$serve" --port "$port" --told "$tmp/up" --hits "$hits" &
stranger=$!
await "$tmp/up" >/dev/null
begin --until "http:$port" --timeout 1.5 -- "$serve"
finish
is "a port that another process holds is never ready" "$end" 124
is "and it gets no byte" "$(cat "$hits")" ""
held="port $port is held by 'serve' \(pid $stranger\), no process of this start"
like "and is named" "$(cat "$tmp/err")" "^coldprof: $held"
is "and is named in the run" "$(ask "select count(*) from diagnostics where run = $(last id) and text like 'port $port is held%'")" 1
begin --until log:enough -- sh -c 'echo "Starting vLLM server on http://127.0.0.1:$1"; echo enough' sh "$port"
finish
like "a stranger on the port that the log names is named" "$(cat "$tmp/err")" "^coldprof: $held"
begin -n 2 --until log:up -- sh -c 'echo up; exec sleep 60' sh --port "$port"
finish
is "two starts beside it" "$end" 0
is "two starts beside it: it is named before each" "$(grep -Ec "^coldprof: $held" "$tmp/err")" 2
is "two starts beside it: it is not waited for" \
	"$(grep -Ec "^coldprof: port $port is held by 'serve' \(pid $stranger\) as before this start: it is not waited for" "$tmp/err")" 2
unlike "two starts beside it: not even in vain" "$(cat "$tmp/err")" "still held 30 s"
# A stranger who came during the start may go with it.
kill "$stranger"
gone "$stranger"
mkfifo "$tmp/later"
begin -n 1 --until "file:$tmp/came" -- sh -c 'echo >"$1"; exec sleep 60' sh "$tmp/later" --port "$port"
await "$tmp/later" >"$tmp/log"
"$serve" --port "$port" --told "$tmp/up" &
stranger=$!
await "$tmp/up" >"$tmp/log"
: >"$tmp/came"
timeout "$limit" tail -n +1 -f "$tmp/err" | grep -m1 -E "^coldprof: port $port is held by 'serve' \(pid $stranger\) after the last" >"$tmp/told"
ok "one who came during the start is waited for, and named at once" test -s "$tmp/told"
kill "$stranger"
finish
unlike "and no longer than it is there" "$(cat "$tmp/err")" "still held 30 s"
"$serve" --port "$port" --told "$tmp/up" --hits "$hits" &
stranger=$!
await "$tmp/up" >"$tmp/log"
begin -- "$serve" --port "$port"
finish
is "a guest that cannot have its port ends, and so do we" "$end" 1
is "it never was ready" "$(last "ready_mark is null")" 1
kill "$stranger"

# --timeout: stopped, 124, a partial ledger.
begin --until "http:$port" --timeout 1 -- "$serve" --worker
finish
is "timeout" "$end" 124
like "timeout: a partial ledger" "$(cat "$tmp/err")" 'process init'
is "timeout: stored" "$(last ending)" timeout
is "timeout: nothing of the guest is left" "$(pgrep -f "^$serve --worker" || true)" ""

# A daemon: its starter exits 0 at once, coldprof waits for the mark, shows it and leaves the daemon.
begin --until "http:$port" -- "$serve" --daemon --port "$port" --wait "$tmp/go"
echo >"$tmp/go"
finish
is "daemon: status of its starter" "$end" 0
is "daemon: ready" "$(last ready_mark)" "http:$port/health"
daemon=$(pgrep -f "^$serve --daemon --port $port" | head -n 1)
ok "daemon: it lives on" test -n "$daemon"
kill "$daemon"
gone "$daemon"

begin --until "http:$port" -- "$serve" --daemon --exit 0
finish
is "a daemon that ends before ready ends the run" "$end" 0
is "and was not ready" "$(last "ready_mark is null")" 1

# The main process ends otherwise: the run ends there, survivors are named and left alone.
begin --until "http:$port" -- "$serve" --worker --exit 3
finish
is "survivors: status" "$end" 3
# By a command that may be cut: a build folder's name can be long.
like "survivors: named" "$(cat "$tmp/err")" "live on: [0-9]+ \\($(printf %.40s "$serve")"
worker=$(pgrep -f "^$serve --worker --exit 3")
ok "survivors: not touched" kill -0 "$worker"
kill -KILL "$worker"

# One that left its parent and lost its environment is known by what was seen of it before: here, that it listened.
mkfifo "$tmp/asked"
begin --until "http:$port" -- sh -c 'env -i "$1" --port "$2" --first 503 --hits "$3" & read -r line <"$3"; exit 3' sh \
	"$serve" "$port" "$tmp/asked"
finish
is "a survivor without its environment: status" "$end" 3
like "a survivor without its environment: named" "$(cat "$tmp/err")" "live on: [0-9]+ \\($(printf %.40s "$serve")"
pkill -KILL -f "^$serve --port $port --first 503 --hits $tmp/asked"
done_testing
