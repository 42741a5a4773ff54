#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Servers that say they are ready and are not: one that answers its health path at once and maps the weights at the
# first request for work; one that a log line calls ready.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/field/field.sh"

one=$model/model-00001-of-00003.safetensors
size=$(stat -c %s "$one")
mkfifo "$tmp/told"
last()
{
	ask "select $1 from run order by id desc limit 1"
}
post()
{
	port=$(timeout "$limit" head -n 1 "$tmp/told")
	[ "$1" = no ] || python3 -c 'import sys, urllib.request
urllib.request.urlopen(urllib.request.Request(sys.argv[1], data=b"{}")).read()' "http://127.0.0.1:$port/v1/completions"
}
deferred() # POST COLDPROF-OPTIONS...
{
	with=$1
	shift
	post "$with" &
	timeout "$limit" "$coldprof" --db "$db" -n 1 "$@" -- "$python" "$tmp/guest.py" deferred "$tmp/told" "$one" \
		>"$tmp/out" 2>"$tmp/err" || :
	wait $!
}

deferred no
like "healthy at once: that is the mark" "$(last ready_mark)" '^http:[0-9]+/health$'
is "healthy at once: no weights are in the ledger" "$(ask "select count(*) from ledger where run = $(last id) and
	item = 'weights' and wall_s > 0")" 0
like "healthy at once: and that is said" "$(note 'no GPU')" 'no GPU or weight use was seen'
is "healthy at once: its listening is a mark of its own" "$(cells "select count(*) from r where
	json_extract(j, '$.mark') like 'port:%' or json_extract(j, '$.mark') like 'http:%'" readiness)" 2

dd if="$one" iflag=nocache count=0 2>/dev/null
deferred yes --until 'log:first answer'
is "the first answer: that is the mark" "$(last ready_mark)" 'log:first answer'
is "the first answer: the weights come before it" "$(ask "select sum(bytes) >= $size * 99 / 100 from ledger where
	run = $(last id) and item = 'weights' and sub = 'fault wait'")" 1
is "the first answer: and the port was open before them" "$(ask "select min(l.at_s) < min(e.start_s) from listeners l
	join events e on e.run = l.run where l.run = $(last id) and e.kind = 'fault'")" 1
done_testing
