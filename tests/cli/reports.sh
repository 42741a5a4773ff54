# SPDX-License-Identifier: Apache-2.0
# Reports, diff, list and export: names of columns, shapes of formats, what is refused, what a terminal may be shown.
. "$top_srcdir/tests/tap.sh"
coldprof=$top_builddir/coldprof
db=$tmp/runs.db
"$top_builddir/tests/cli/make_db" "$db" || bail "make_db failed"
COLDPROF_DB=$db
export COLDPROF_DB
unset COLDPROF_REPORTS NO_COLOR
LC_ALL=C.UTF-8
export LC_ALL
have_python=
python3 -c 'import csv, json' 2>/dev/null && have_python=1

# The names of columns are contracts.
columns() {
	"$coldprof" report "$1" --run 1 --format csv | head -n 1 | tr -d '\r'
}
is "columns of list" "$("$coldprof" list --format csv | head -n 1 | tr -d '\r')" \
	run,label,started_at,state,ready_mark,wall_ns,complete
is "columns of files" "$(columns files)" \
	path,bytes_size,bytes_asked,bytes_cached,bytes_storage,resident_before_bytes,faults,wait_ns,mode,fs
is "columns of processes" "$(columns processes)" pid,ppid,name,start_ns,end_ns,status,item_wall_ns
is "columns of imports" "$(columns imports)" pid,package,modules,self_ns,inclusive_ns,storage_wait_ns
is "columns of graphs" "$(columns graphs)" pid,graph,nodes,capture_ns,instantiate_ns,upload_ns,first_replay_ns
is "columns of jit" "$(columns jit)" pid,what,path,state,reason,wall_ns,work_ns
is "columns of cuda" "$(columns cuda)" pid,symbol,calls,total_ns,bytes
is "columns of coverage" "$(columns coverage)" symbol,route,calls,hooked
is "columns of readiness" "$(columns readiness)" mark,ns
is "columns of state" "$(columns state)" name,value
is "columns of diagnostics" "$(columns diagnostics)" source,severity,count,text
is "columns of export csv" "$("$coldprof" export csv --run 1 | head -n 1 | tr -d '\r')" \
	run,label,started_at,state,ready_mark,tier,item,sub,evidence,wall_ns,work_ns,bytes
is "the ledger as CSV is what export writes" "$("$coldprof" report ledger --run 1 --format csv)" \
	"$("$coldprof" export csv --run 1)"

# What make_db put in comes out.
is "a line of the CSV" "$("$coldprof" export csv --run 1 | sed -n 7p | tr -d '\r')" \
	"1,model=tiny;node=a,2026-01-02T03:04:05.678Z,cold,http:8000/health,1,weights,fault wait,measured,6000000000,6000000000,400000000"
is "unknown is an empty cell" "$("$coldprof" export csv --run 1 | sed -n 9p | tr -d '\r' | cut -d, -f10-)" 1000000000,,
is "lines end as RFC 4180 says" "$("$coldprof" export csv --run 1 | grep -c "$(printf '\r')\$")" 11
is "--all has the rows of all runs" "$("$coldprof" export csv --all | cut -d, -f1 | grep -c '^[12]$')" 20
is "files: bytes from storage of the cold start" \
	"$("$coldprof" report files --run 1 --format csv | sed -n 2p | tr -d '\r')" \
	"/models/tiny/model-00001-of-00001.safetensors,400000000,400000000,0,400000000,0,1000,200000000,mapped,ext4"
is "files: and from the page cache of the warm one" \
	"$("$coldprof" report files --run 2 --format csv | sed -n 2p | tr -d '\r' | cut -d, -f3-6)" 400000000,400000000,0,400000000
is "processes: who drove how long" "$("$coldprof" report processes --run 1 --format csv | sed -n '2,3p' | tr -d '\r' | tr '\n' ' ')" \
	"100,1,vllm,0,,,1000000000 101,100,VLLM::Worker,1000000000,,,13000000000 "
is "readiness" "$("$coldprof" report readiness --run 1 --format csv | sed 1d | tr -d '\r' | tr '\n' ' ')" \
	"port:8000,15000000000 http:8000/health,16000000000 "
is "jit: summed per object" "$("$coldprof" report jit --run 1 --format csv | sed 1d | tr -d '\r')" \
	"101,module_load,/models/tiny/model-00001-of-00001.safetensors,unknown,,1250000000,500000000"
is "the last run is the default" "$("$coldprof" report state --format csv | sed -n 2p | tr -d '\r')" state,unknown
is "a run that was never finished is listed" "$("$coldprof" list --format csv | sed -n '$p' | tr -d '\r' | cut -d, -f1,6,7)" 4,,0
like "and has no ledger" "$("$coldprof" report --run 4)" "begun and not finished"
like "what it cannot have is null" "$("$coldprof" report --run 4 --format json)" '"wall_ns":null,"ready_mark":null,.*"tier":null,"rows":\[\]'
is "and no line for capacity sums" "$("$coldprof" export csv --run 4 | wc -l | tr -d ' ')" 1
status "nor can it be compared" 125 "$coldprof" diff 1 4
like "in words" "$(cat "$tap_err")" 'run 4 was begun and not finished: it has no ledger to compare'

# Every format of every report.
all="ledger processes files state diagnostics imports graphs jit cuda coverage readiness list"
if [ "$have_python" ]; then
	for run in 1 3 4; do
		for r in $all; do
			"$coldprof" report $r --run $run --format json >"$tmp/j" && python3 -m json.tool "$tmp/j" "$tmp/jj" || echo "$r $run"
		done
	done >"$tmp/bad" 2>&1
	is "a second reader takes all JSON" "$(cat "$tmp/bad")" ""
	for run in 1 3; do
		for r in $all; do
			[ $r = ledger ] && continue
			for f in json csv markdown table; do
				"$coldprof" report $r --run $run --format $f >"$tmp/$f"
			done
			python3 "$top_srcdir/tests/cli/same_rows.py" "$tmp/json" "$tmp/csv" "$tmp/markdown" || echo "in $r of run $run"
		done
	done >"$tmp/bad" 2>&1
	is "JSON, CSV and Markdown of a report hold the same rows" "$(cat "$tmp/bad")" ""
	"$coldprof" export csv --run 3 >"$tmp/csv"
	ok "hostile names come back from the CSV as they are in the database" \
		python3 "$top_srcdir/tests/cli/same_rows.py" --database "$db" "$tmp/csv"
	"$coldprof" report ledger --run 1 --format json >"$tmp/json"
	ok "the ledger's JSON has the promised shape, and its rows sum to the wall" \
		python3 "$top_srcdir/tests/cli/same_rows.py" --ledger "$tmp/json"
else
	for n in 1 2 3 4; do
		skip "a second reader" "no python3"
	done
fi
like "JSON of a report says what it is" "$("$coldprof" report readiness --run 1 --format json)" \
	'^\{"schema":1,"report":"readiness","run":1,"columns":\[\{"name":"mark","unit":"text"\},\{"name":"ns","unit":"ns"\}\],"rows":\['
like "the table has the rows too" "$("$coldprof" report readiness --run 1)" '^http:8000/health +16\.000 s$'
is "a table has a line for each row" "$("$coldprof" report cuda --run 1 | wc -l | tr -d ' ')" 3

# What people see.
ledger=$("$coldprof" report --run 1)
like "the ledger tells when it was ready" "$ledger" '^coldprof: ready after 16\.000 s \(http:8000/health\); run 1, tier 1, state cold'
like "item, seconds, share, bar, work, bytes, evidence" "$ledger" '^weights +6\.000 +37\.5% █+[▏▎▍▌▋▊▉]? +6\.000 +400\.0 MB m$'
like "a rate below it" "$ledger" '^  fault wait +6\.000 +37\.5% .* 66\.7 MB/s m$'
like "other is always there" "$("$coldprof" report --run 3)" '^other +0\.000'
like "the rows sum" "$ledger" '^total +16\.000 100\.0%$'
like "the largest cause in words" "$ledger" '^largest +6\.000 s \(38%\) weights: fault wait'
is "our own cost, and no line of a log" "$(printf '%s\n' "$ledger" | grep 'coldprof itself')" \
	'our cost 12.5 ms of CPU that coldprof itself used while it recorded'
like "losses" "$ledger" '^loss +records that found no room \(3\)'
like "notes" "$ledger" '^note +cuInit was called by one process of two'
delta=$("$coldprof" diff 1 2)
like "the delta ledger charges the difference" "$delta" '^weights +6\.000 +2\.000 +-4\.000 100\.0%'
like "and sums" "$delta" '^total +16\.000 +12\.000 +-4\.000$'
like "the file that made it is named" "$delta" '^files +/models/tiny/model-00001-of-00001.safetensors: 400\.0 MB from'
like "and the cause" "$delta" '^causes +-4\.000 s weights: fault wait'
like "unlike states are told" "$delta" '^warning .*weights were cold against warm'
unlike "like ones are not" "$("$coldprof" diff 1 1)" '^warning'
like "an item that one ledger has no row of is no 0 there" "$("$coldprof" diff 1 3)" '^CUDA context +1\.500 +- +-1\.500'
like "nor one that neither has" "$("$coldprof" diff 3 3)" '^CUDA context +- +- *$'
like "other is known to be nothing" "$("$coldprof" diff 3 3)" '^other +0\.000 +0\.000 +\+0\.000'
for run in 1 3; do
	for r in $all; do
		"$coldprof" report $r --run $run
	done
done >"$tmp/shown"
"$coldprof" diff 1 3 >>"$tmp/shown"
is "no line is wider than 80 columns, whatever the names" "$(test "$(wc -L <"$tmp/shown")" -le 80 || wc -L <"$tmp/shown")" ""
is "nothing raw reaches a terminal" "$(LC_ALL=C tr -d '\n\040-\176\200-\377' <"$tmp/shown" | wc -c | tr -d ' ')" 0
is "no bytes that are not UTF-8 either" "$(iconv -f UTF-8 -t UTF-8 "$tmp/shown" 2>&1 >/dev/null)" ""
like "our own signs have plain ones there" "$(LC_ALL=C "$coldprof" report --run 1)" '^ +weights -> jit '
is "and no UTF-8 in a locale without it" "$(LC_ALL=C; export LC_ALL; for r in $all; do "$coldprof" report $r --run 3; done | tr -d '\n\040-\176' | wc -c | tr -d ' ')" 0
unlike "no colour into a pipe" "$ledger" "$(printf '\033')"
if command -v script >/dev/null; then
	in_terminal() {
		TERM=xterm script -qec "$1" /dev/null </dev/null
	}
	esc=$(printf '\033')
	like "colour on a terminal" "$(in_terminal "$coldprof report --run 1")" "$esc"
	unlike "not with NO_COLOR" "$(NO_COLOR=1 in_terminal "$coldprof report --run 1")" "$esc"
	unlike "CSV of hostile names on a terminal" "$(in_terminal "$coldprof export csv --run 3")" "$esc"
else
	skip "colour on a terminal" "no script(1)"
	skip "not with NO_COLOR" "no script(1)"
	skip "CSV of hostile names on a terminal" "no script(1)"
fi

# Cutting anew.
before=$(cksum <"$db")
like "report --until port" "$("$coldprof" report --run 1 --until port:8000)" 'ready after 15\.000 s \(port:8000\)'
like "report --until log:REGEX" "$("$coldprof" report --run 1 --until 'log:took [0-9.]+ sec')" 'ready after 11\.500 s'
like "report --until http" "$("$coldprof" report --run 1 --until http)" 'ready after 16\.000 s \(http:8000/health\)'
status "a mark that was not reached" 125 "$coldprof" report --run 1 --until log:never
like "is told with those that were" "$(cat "$tap_err")" 'hint: it has port:8000'
is "each once" "$(tr -s ' ' '\n' <"$tap_err" | grep -c '^port:8000$')" 1
status "what is no mark" 125 "$coldprof" report --run 1 --until nonsense
is "nothing is written" "$(cksum <"$db")" "$before"

# Own reports.
mkdir "$tmp/own"
printf -- '-- column n count: processes\nSELECT count(*) AS n FROM process WHERE run = :run;\n' >"$tmp/own/mine.sql"
is "a folder of own reports" "$(COLDPROF_REPORTS=$tmp/own "$coldprof" report mine --run 1 --format csv | tr -d '\r' | tr '\n' ' ')" "n 2 "
printf 'DELETE FROM run;\n' >"$tmp/own/mine.sql"
COLDPROF_REPORTS=$tmp/own status "a report cannot write" 125 "$coldprof" report mine --run 1
printf 'SELECT 1; DELETE FROM run;\n' >"$tmp/own/mine.sql"
COLDPROF_REPORTS=$tmp/own status "nor hide a second statement" 125 "$coldprof" report mine --run 1
printf 'SELECT a FROM nowhere;\n' >"$tmp/own/mine.sql"
COLDPROF_REPORTS=$tmp/own status "nor be wrong" 125 "$coldprof" report mine --run 1
like "it is named, with the reason" "$(cat "$tap_err")" "report 'mine' is refused: no such table: nowhere"
like "and the next step" "$(cat "$tap_err")" 'hint: a report is one SELECT'
rm "$tmp/own/mine.sql"
mkdir "$tmp/own/mine.sql"
COLDPROF_REPORTS=$tmp/own status "nor be a folder" 125 "$coldprof" report mine --run 1
like "which says where it is looked for" "$(cat "$tap_err")" 'hint: COLDPROF_REPORTS names its folder'
for f in "$top_srcdir"/reports/*.sql; do
	sed -n 2p "$f" | grep -q '^-- question: .*[?]$' && grep -q '^-- caveat: ' "$f" || echo "$f"
done >"$tmp/bad"
is "every report says its question and its caveat" "$(cat "$tmp/bad")" ""

# What is refused.
status "no such run" 125 "$coldprof" report --run 99
like "in words" "$(cat "$tap_err")" "has no run 99"
status "no such report" 125 "$coldprof" report nonsense
like "names those there are" "$(cat "$tap_err")" "hint: there are: coverage cuda"
status "no such database" 125 "$coldprof" list --db "$tmp/none.db"
is "and none is made" "$(ls "$tmp/none.db" 2>/dev/null)" ""
status "diff wants two" 125 "$coldprof" diff 1
like "in words, with the next step" "$(cat "$tap_err")" 'hint: coldprof diff A B'
status "diff of a run that is not there" 125 "$coldprof" diff 1 99
status "a run before the first" 125 "$coldprof" report --run 0
like "in words" "$(cat "$tap_err")" "whole number from 1, not '0'"
status "export to what" 125 "$coldprof" export
status "export of more than one thing" 125 "$coldprof" export csv table
like "names the one that is too much" "$(cat "$tap_err")" "takes no 'table'"
status "export of one and all" 125 "$coldprof" export csv --run 1 --all
status "export to a file that cannot be made" 125 "$coldprof" export csv --run 1 -o "$tmp/no/such/file"
if [ -w /dev/full ]; then
	for v in "list" "report --run 1" "report files --run 1" "export csv --all" "diff 1 2" --help "list --help" --version; do
		"$coldprof" $v >/dev/full 2>"$tmp/err" && echo "$v succeeded"
		grep -q "No space left" "$tmp/err" || echo "$v: $(cat "$tmp/err")"
	done >"$tmp/bad"
	is "a full disk under the output is an error" "$(cat "$tmp/bad")" ""
else
	skip "a full disk under the output" "no /dev/full"
fi
done_testing
