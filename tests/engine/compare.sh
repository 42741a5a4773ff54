#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare itself: a stored run that is right passes, and each way of being wrong is told.
. "$top_srcdir/tests/tap.sh"

command -v sqlite3 >/dev/null || skip_all "no sqlite3 program"
compare=$top_builddir/tests/engine/compare

# One process: init 1 s, context 1 s, alloc 0.2 s, weights 2 s, jit 1 s, serving up 0.8 s; exec 10 ms before main.
ms=1000000
line()
{
	printf '{"view":"%s","item":"%s","sub":"%s","pid":%d,"tid":%d,"start_ns":%d,"end_ns":%d,"bytes":%d,"rank":%d,"delay_ns":%d}\n' \
		"$1" "$2" "$3" "$4" "$4" "$(($5 * ms))" "$(($6 * ms))" "$7" "$8" "$((${9:-0} * ms))"
}
{
	line event process_init begin 7 10010 10010 0 -1
	line step process_init process_init 7 10010 11000 0 -1
	line work cuda_context cu_init 7 11000 11900 0 -1
	line step cuda_context cuda_context 7 11000 12000 0 -1
	line work allocator weights 7 12000 12200 1000 -1
	line step allocator allocator 7 12000 12200 0 -1
	line work weights read 7 12200 13200 100000000 -1
	line work weights h2d 7 13200 14200 100000000 -1
	line step weights weights 7 12200 14200 0 -1
	line work graphs_jit compiler 7 14200 15000 0 -1
	line work graphs_jit capture 7 15000 15200 0 -1
	line step graphs_jit jit 7 14200 15000 0 -1
	line step graphs_jit graphs 7 15000 15200 0 -1
	line step serving_up serving_up 7 15200 15999 0 -1
	line event serving_up ready 7 16000 16001 0 -1
} >"$tmp/truth"

sql()
{
	cat "$top_srcdir/src/store/schema.sql"
	echo "$strings" | tr ' ' '\n' | sed "s/.*/INSERT INTO string(text) VALUES('&');/"
	cat <<-END
	INSERT INTO run(id,start_ns,ready_ns,end_ns,tier) VALUES(1,10000*$ms,16000*$ms,16000*$ms,$tier);
	CREATE TEMP TABLE w(word,id);
	INSERT INTO w SELECT text,id FROM string;
	INSERT INTO process(run,id,pid,ppid,start_ns,role,shim,parent,end_ns)
		SELECT 1,0,7,1,10000*$ms,id,1,NULL,NULL FROM w WHERE word='plain'
		UNION ALL SELECT 1,1,8,7,14200*$ms,id,1,0,15000*$ms FROM w WHERE word='compiler';
	INSERT INTO file(run,id,cls) SELECT 1,0,id FROM w WHERE word='weights';
	INSERT INTO file_total(run,file,asked_bytes,storage_bytes,mode) VALUES(1,0,100000000,100000000,1);
	END
	# id start end item
	while read -r id start end item; do
		echo "INSERT INTO segment(run,id,start_ns,end_ns,item,grade,process) VALUES(1,$id,$start*$ms,$end*$ms,$item,0,0);"
		echo "INSERT INTO ledger_row(run,id,item,grade,wall_ns) VALUES(1,$id,$item,0,($end-$start)*$ms);"
	done <<-END
	0 10000 11000 0
	1 11000 12000 1
	2 12000 12200 2
	3 12200 14200 3
	4 14200 15200 4
	5 15200 16000 5
	END
	while read -r id kind start end bytes; do
		echo "INSERT INTO evidence(run,id,process,tid,kind,source,start_ns,end_ns,bytes)
			SELECT 1,$id,0,7,id,1,$start*$ms,$end*$ms,$bytes FROM w WHERE word='$kind';"
	done <<-END
	0 cu_init 11000 11900 0
	1 alloc 12000 12200 1000
	2 read_storage 12200 13200 100000000
	3 h2d 13200 14200 100000000
	4 capture 15000 15200 0
	END
}

# usage: try NAME WANTED-STATUS EXTRA-SQL [TIER [OPTION]]; output in $tap_out
strings="plain compiler weights cu_init alloc read_storage h2d capture"
try()
{
	tier=${4:-1}
	rm -f "$tmp/db"
	{
		sql
		echo "$3"
	} | sqlite3 "$tmp/db" || bail "cannot make the database"
	status "$1" "$2" "$compare" --db "$tmp/db" --run 1 --truth "$tmp/truth" ${5:-}
}

try "a run that is right" 0 ""
like "prints each item" "$(cat "$tap_out")" '^wall: weights +2000\.000 +2000\.000 +\+0\.000'
try "as cold as it says" 0 "" 1 --cold
try "not warm" 1 "" 1 --warm
like "and why" "$(cat "$tap_out")" '^bytes: from storage .* WRONG$'

# What storage gave, by the kernel's count for the engine: pages may be taken from the page cache at any time.
cp "$tmp/truth" "$tmp/untold"
# usage: stored HEADERS READ H2D: bytes, or null; ours VALUE: what coldprof stored
stored()
{
	sed -e "/\"sub\":\"read\"/s/}/,\"read_bytes\":$2}/" -e "/\"sub\":\"h2d\"/s/}/,\"read_bytes\":$3}/" \
		-e '/"view":"step"/s/}/,"read_bytes":77000000}/' "$tmp/untold" >"$tmp/truth"
	line event weights headers 7 10100 10100 0 -1 | sed "s/}/,\"read_bytes\":$1}/" >>"$tmp/truth"
}
ours()
{
	echo "UPDATE file_total SET storage_bytes=$1"
}
stored 0 0 0
try "warm: none, and none seen" 0 "$(ours 0)" 1 --warm
try "warm: none, and too much seen" 1 "$(ours 1010000)" 1 --warm
try "warm: not known at tier 1" 1 "$(ours NULL)" 1 --warm
try "warm: not known at tier 0" 0 "$(ours NULL)" 0 --warm
stored 1000000 3000000 4000000
try "warm, with pages taken: all that storage gave" 0 "$(ours 8000000)" 1 --warm
like "both sides are told" "$(cat "$tap_out")" '^bytes: from storage +8\.000 +8\.000 +\+0\.000 +1\.0 MB  ok$'
try "to 1 % of the weights" 0 "$(ours 8990000)" 1 --warm
try "too much" 1 "$(ours 9010000)" 1 --warm
like "is told" "$(cat "$tap_out")" '^bytes: from storage +8\.000 +9\.010 .* WRONG$'
try "too little" 1 "$(ours 6990000)" 1 --warm
stored 0 51000000 0
try "more than half was taken: no warm start" 1 "$(ours 51000000)" 1 --warm
like "is told" "$(cat "$tap_out")" '^most of the weights were in the page cache +WRONG$'
stored 0 0 null
try "one count that is not told: none is taken for granted" 1 "$(ours 8000000)" 1 --warm
stored 0 103000000 0
try "cold: fetched again what was taken" 0 "$(ours 103000000)" 1 --cold
try "cold: more than that" 1 "$(ours 104010000)" 1 --cold
stored 0 1000000 0
try "cold: storage gave little, as both say" 1 "$(ours 1000000)" 1 --cold
mv "$tmp/untold" "$tmp/truth"

move="UPDATE segment SET end_ns=end_ns+30*$ms WHERE id=3; UPDATE segment SET start_ns=start_ns+30*$ms WHERE id=4;"
try "weights 30 ms too long" 1 "$move"
like "is told of both items" "$(grep -c WRONG "$tap_out")" '^2$'
try "but within the bounds of tier 0" 0 "$move" 0
# Waits for a CPU widen the bounds, by their length, where they fell, and no further.
cp "$tmp/truth" "$tmp/quiet"
# usage: waited MS VIEW SUB: the thread's wait before that line was written
waited()
{
	sed "/\"view\":\"$2\".*\"sub\":\"$3\"/s/\"delay_ns\":0/\"delay_ns\":$(($1 * ms))/" "$tmp/quiet" >"$tmp/truth"
	cmp -s "$tmp/quiet" "$tmp/truth" && bail "the truth log has no such line"
}
waited 25 step weights
try "weights 30 ms too long, behind a wait of 25" 0 "$move"
like "and the wait is told" "$(cat "$tap_out")" '^wall: weights .* 20.0 ms \+25.0 waited for a CPU  ok$'
waited 12 work h2d
try "a wait in the last piece of weights counts" 1 "$move"
like "for the weights" "$(cat "$tap_out")" '^wall: weights .* \+12.0 waited for a CPU  ok$'
like "and for what follows, where it does not suffice" "$(cat "$tap_out")" \
	'^wall: graphs_jit .* 10.0 ms \+12.0 waited for a CPU  WRONG$'
waited 25 work read
try "one in the middle of the weights does not" 1 "$move"
# A gap of 30 ms between two pieces, in which the threads waited: no piece of either side's.
gap="UPDATE evidence SET end_ns=12700*$ms WHERE id=2;
	INSERT INTO evidence(run,id,process,tid,kind,source,start_ns,end_ns,bytes)
		SELECT 1,10,0,7,id,1,12730*$ms,13200*$ms,0 FROM w WHERE word='read_storage';
	UPDATE segment SET id=id+10 WHERE id>3;
	INSERT INTO segment(run,id,start_ns,end_ns,item,grade,process)
		SELECT run,4,12700*$ms,12730*$ms,6,grade,process FROM segment WHERE id=3;
	INSERT INTO segment(run,id,start_ns,end_ns,item,grade,process)
		SELECT run,5,12730*$ms,14200*$ms,3,grade,process FROM segment WHERE id=3;
	UPDATE segment SET end_ns=12700*$ms WHERE id=3"
# usage: parted MS: the wait before the second piece was logged
parted()
{
	while read -r of_truth; do
		case $of_truth in
		*'"sub":"read"'*)
			line work weights read 7 12200 12700 50000000 -1
			line work weights read 7 12730 13200 50000000 -1 "$1"
			;;
		*) echo "$of_truth" ;;
		esac
	done <"$tmp/quiet" >"$tmp/truth"
}
parted 0
try "a gap in the weights that nobody waited in" 1 "$gap"
like "is told" "$(cat "$tap_out")" '^wall: weights +2000\.000 +1970\.000 .* 20.0 ms  WRONG$'
parted 5
try "one in which less was waited" 1 "$gap"
parted 25
try "one that the threads waited in" 0 "$gap"
like "and the wait is told of it" "$(cat "$tap_out")" '^wall: weights .* 20.0 ms \+25.0 waited for a CPU  ok$'
waited 25 work compiler
try "one in the first piece of what follows does" 0 "$move"
short="UPDATE evidence SET end_ns=end_ns-30*$ms WHERE id=3"
waited 15 work h2d
try "a piece of work 30 ms short, with a wait of 15 in it" 0 "$short"
try "42 ms short" 1 "UPDATE evidence SET end_ns=end_ns-42*$ms WHERE id=3"
try "30 ms too long" 1 "UPDATE evidence SET end_ns=end_ns+30*$ms WHERE id=3"
waited 15 work read
try "a wait in another piece of the item" 0 "$short"
waited 15 work capture
try "a wait in another item" 1 "$short"
cp "$tmp/quiet" "$tmp/truth"
try "a gap in the partition" 1 "UPDATE segment SET end_ns=end_ns-1 WHERE id=2"
like "is told" "$(cat "$tap_out")" '^the segments tile .* WRONG$'
try "rows that do not sum" 1 "UPDATE ledger_row SET wall_ns=wall_ns+1 WHERE id=2"
like "are told" "$(cat "$tap_out")" '^the rows .* WRONG$'
try "too much that nothing explains" 1 "UPDATE segment SET item=6 WHERE id=2"
like "is told" "$(cat "$tap_out")" '^wall: other .* WRONG$'
earlier="UPDATE run SET start_ns=start_ns-120*$ms; UPDATE segment SET start_ns=start_ns-120*$ms WHERE id=0;
	UPDATE ledger_row SET wall_ns=wall_ns+120*$ms WHERE id=0"
try "a run that begins 130 ms before main" 1 "$earlier" 0
like "is told" "$(cat "$tap_out")" '^wall: exec to main +\+130\.000 +100\.0 ms  WRONG$'
sed '1s/"rank"/"cpu_ns":40000000,"rank"/' "$tmp/quiet" >"$tmp/truth"
try "which is right where main's thread used the time" 0 "$earlier" 0
cp "$tmp/quiet" "$tmp/truth"
try "a run that begins behind main" 2 "UPDATE run SET start_ns=start_ns+11*$ms;
	UPDATE segment SET start_ns=start_ns+11*$ms WHERE id=0; UPDATE ledger_row SET wall_ns=wall_ns-11*$ms WHERE id=0"
like "is told" "$(cat "$tap_err")" 'began after the run did'
try "a run that ends too late" 1 "UPDATE run SET end_ns=end_ns+100*$ms;
	UPDATE segment SET end_ns=end_ns+100*$ms WHERE id=5; UPDATE ledger_row SET wall_ns=wall_ns+100*$ms WHERE id=5"
try "work that was not seen" 1 "DELETE FROM evidence WHERE id=3"
like "is told" "$(cat "$tap_out")" '^work: weights of rank 0 .* WRONG$'
try "a compiler that was not seen" 1 "DELETE FROM process WHERE id=1"
try "bytes counted twice" 1 "UPDATE file_total SET asked_bytes=2*asked_bytes"
like "are told" "$(cat "$tap_out")" '^bytes: read .* WRONG$'
try "no bytes at tier 0" 0 "UPDATE file_total SET asked_bytes=NULL" 0
like "are an empty cell" "$(cat "$tap_out")" '^bytes: read or mapped of weights +100\.000 +- '
try "no bytes at tier 1" 1 "UPDATE file_total SET asked_bytes=NULL" 1

# Rank 1 of two lags behind in every stage: it drives; the other one's work is held too.
{
	line event process_init begin 5 10010 10010 0 -1
	line step process_init process_init 5 10010 10500 0 -1
	line step process_init process_init 6 10500 10600 0 0
	line work cuda_context cu_init 6 10600 10700 0 0
	line step cuda_context cuda_context 6 10600 10700 0 0
	line step allocator allocator 6 10700 10700 0 0
	line work weights h2d 6 10700 10701 1 0
	line step weights weights 6 10700 10701 0 0
	line step graphs_jit graphs 6 10701 10702 0 0
	sed -e 's/"rank":-1/"rank":1/' -e '/begin/d' -e '/"ready"/d' -e '/"step".*"serving_up"/d' \
		-e '/"step".*"process_init"/s/10010000000/10500000000/' "$tmp/truth"
	line step other other 5 10600 15250 0 -1
	line step serving_up serving_up 5 15250 15999 0 -1
	line event serving_up ready 5 16000 16001 0 -1
} >"$tmp/truth.late"
mv "$tmp/truth.late" "$tmp/truth"
other="INSERT INTO process(run,id,pid,ppid,start_ns,role,shim) SELECT 1,2,6,5,10500*$ms,role,1 FROM process WHERE id=0;
	INSERT INTO evidence SELECT 1,9,2,6,kind,1,NULL,10600*$ms,10700*$ms,0,NULL,NULL FROM evidence WHERE id=0;"
try "a late rank" 0 "$other"
like "the other one is held as well" "$(cat "$tap_out")" '^work: cuda_context of rank 0 .* ok$'
try "its work not seen" 1 ""
try "the late one's context too short" 1 "$other
	UPDATE segment SET start_ns=start_ns+500*$ms WHERE id=1; UPDATE segment SET end_ns=end_ns+500*$ms WHERE id=0"

head -c 1000 "$tmp/truth" >"$tmp/half"
mv "$tmp/half" "$tmp/truth"
try "a truth log whose last line is half" 2 ""
done_testing
