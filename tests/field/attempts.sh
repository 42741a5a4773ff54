#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts that are killed before they are ready, one after the other and beside each other, in one database; what a
# capacity sheet makes of them.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/field/field.sh"

mkfifo "$tmp/told" "$tmp/go" "$tmp/ran"
last()
{
	ask "select $1 from run order by id desc limit 1"
}
# attempt: begins a start that stands still after one of three equal files; its process in $guest, ours in $us.
attempt()
{
	"$coldprof" --db "$db" --until port:1 -- "$python" "$tmp/guest.py" some "$tmp/told" "$tmp/go" 1 \
		"$model"/*.safetensors >"$tmp/out" 2>"$tmp/err" &
	us=$!
	guest=$(timeout "$limit" head -n 1 "$tmp/told")
}
over()
{
	end=0
	wait "$us" || end=$?
}

attempt
kill -TERM "$us" # a probe gives the server up: the supervisor is told, and passes it on
over
is "given up: the status" "$end" 143
is "given up: how it ended" "$(last ending) $(last complete) $(last "coalesce(ready_ns, 'never')")" "signal 0 never"
like "given up: when and where" "$(cat "$tmp/err")" 'not ready, after [0-9.]+ s: killed by signal 15'
like "given up: how far the weights were" "$(note 'not ready')" "SIGTERM.*; 33% of the weights' 12\\.6 MB had been read"
attempt
kill -KILL "$guest"
over
is "killed: the status" "$end" 137
like "killed: how far the weights were" "$(note 'not ready')" "SIGKILL.*; 33% of the weights' 12\\.6 MB had been read"
record -q --until exit -- "$python" "$tmp/guest.py" some "$tmp/told" "$tmp/go" 9 "$model"/*.safetensors
is "the third becomes ready" "$(last ready_mark)" exit
"$coldprof" list --db "$db" --format csv >"$tmp/list"
is "the list has all three" "$(sed 1d "$tmp/list" | wc -l)" 3
"$coldprof" export csv --db "$db" --all >"$tmp/all.csv"
is "a sheet tells those that were ready by their mark" "$(python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
print(sorted({r["run"] for r in rows}), sorted({r["run"] for r in rows if r["ready_mark"]}))' "$tmp/all.csv")" \
	"['1', '2', '3'] ['3']"

# Eight at once into one file, beside a reader with a long question open.
cat >"$tmp/reader.py" <<'PY'
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("begin")
before = db.execute("select count(*) from run").fetchone()[0]
open(sys.argv[2], "w").write("reading\n")
open(sys.argv[3]).read()
print(before == db.execute("select count(*) from run").fetchone()[0])
PY
python3 "$tmp/reader.py" "$db" "$tmp/told" "$tmp/go" >"$tmp/reader" &
reader=$!
timeout "$limit" head -n 1 "$tmp/told" >"$tmp/out"
exec 9<>"$tmp/ran"
for i in 1 2 3 4 5 6 7 8; do
	(
		end=0
		timeout "$limit" "$coldprof" --db "$db" -q --label "n=$i" -- sh -c "echo $i >'$tmp/ran'; exit $i" \
			2>"$tmp/err.$i" || end=$?
		echo "$end" >"$tmp/end.$i"
	) &
	eight="${eight-} $!"
done
# All guests have run: none waits for the file that the reader keeps.
is "eight at once: the guests wait for nothing" "$(timeout "$limit" head -n 8 <&9 | sort | tr '\n' ' ')" "1 2 3 4 5 6 7 8 "
echo end >"$tmp/go"
wait $eight
is "eight at once: each guest's status" "$(cat "$tmp"/end.* | tr '\n' ' ')" "1 2 3 4 5 6 7 8 "
wait "$reader"
is "eight at once: the reader sees one state of the file" "$(cat "$tmp/reader")" True
is "eight at once: all are stored, each with its status" "$(ask "select group_concat(label || '/' || (status / 256), ' ') from
	(select label, status from run where label is not null order by label)")" \
	"n=1/1 n=2/2 n=3/3 n=4/4 n=5/5 n=6/6 n=7/7 n=8/8"
is "eight at once: the file is whole" "$(ask 'pragma integrity_check')" ok

# Options that split rows elsewhere: commas, quotes, brackets, tabs.
tab=$(printf '\t')
path="$tmp/a, \"b\"${tab}c"
mkdir "$path"
record -q --label "opts={\"a\": [1, \"x,y\"]}" --label "dir=$path" --until exit -- true --json '{"a": [1, "x,y"]}' \
	"$path/model.safetensors"
"$coldprof" export csv --db "$db" -o "$tmp/one.csv"
is "hostile options: two readers and the database agree" "$(python3 - "$tmp/one.csv" "$db" <<'PY'
import csv
import json
import sqlite3
import sys

rows = list(csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8"), strict=True))
run, label, command = sqlite3.connect(sys.argv[2]).execute(
    "select id, label, command_json from run order by id desc limit 1").fetchone()
print(all(r["label"] == label and r["run"] == str(run) and None not in r for r in rows), len(rows) > 0, json.loads(command)[2])
PY
)" 'True True {"a": [1, "x,y"]}'
sqlite3 :memory: ".import --csv '$tmp/one.csv' r" "select distinct label from r" >"$tmp/label"
is "hostile options: sqlite3 reads the same label" "$(cat "$tmp/label")" "$(last label)"
done_testing
