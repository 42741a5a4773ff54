#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Weight files: from storage or not, how they were read, who read them again, their
# names, what children read.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/field/field.sh"

one=$model/model-00001-of-00003.safetensors
size=$(stat -c %s "$one")
record -q --cold --until exit -- "$python" "$tmp/guest.py" read "$one"
tier1 || skip_all "needs the kernel side"

cell()
{
	cells "select json_extract(j, '$.$1') from r where json_extract(j, '$.path') like '%.safetensors'" files
}

is "the first reads it from storage" "$(cell bytes_asked)/$(cell bytes_cached)" "$size/0"
is "the start is cold because it was" "$(ask 'select state from run')" cold
is "read: the mode" "$(cell mode)" read
ok "read: time in the reads is told" test "$(cell wait_ns)" -gt 0
record -q --until exit -- "$python" "$tmp/guest.py" tell "$tmp/told" "$one"
is "the second asks for as much" "$(cell bytes_asked)" "$size"
# A kernel may have taken pages back meanwhile. It tells what it fetched again, with pages of the interpreter.
as_told() # NAME
{
	told=$(cat "$tmp/told")
	n=$(cell bytes_storage)
	ok "$1 ($n of $told)" test "$n" -le "$told" -a $((n + 400000)) -ge "$told"
}
as_told "and reads of it from storage what was taken"
if [ "$told" -lt $((size / 20)) ]; then
	is "a warm start" "$(ask 'select state from run order by id desc limit 1')" warm
else
	skip "a warm start" "$told of $size bytes were taken from the page cache"
fi
dd if="$one" of=/dev/null bs=1M skip=1 count=2 iflag=nocache 2>"$tmp/dd"
record -q --until exit -- "$python" "$tmp/guest.py" tell "$tmp/told" "$one"
as_told "half of it taken: that comes from storage"
if [ "$told" -gt $((size / 4)) ]; then
	is "neither warm nor cold" "$(ask 'select state from run order by id desc limit 1')" mixed
else
	skip "neither warm nor cold" "no page could be taken: $(tail -n 1 "$tmp/dd")"
fi
record -q --cold --until exit -- "$python" "$tmp/guest.py" map "$one"
is "mapped in order" "$(cell mode)" mapped
walked=$(cell faults)
record -q --cold --until exit -- "$python" "$tmp/guest.py" random "$one"
is "mapped, advised random" "$(cell mode)" mapped-random
ok "that is many more faults" test "$(cell faults)" -gt $((walked * 5))

record --cold --until exit -- "$python" "$tmp/guest.py" ranks "$model"/*.safetensors
like "five times the bytes" "$(note weights:)" ' 5\.0 times the 12\.6 MB of 3 files; 12\.6 MB from storage; 4 processes'
is "the rank that read twice asked twice" "$(ask "select max(n) / min(n) from
	(select sum(asked_bytes) n from reads where run = (select max(id) from run) and path like '%.safetensors'
	group by pid)")" 2

hub=$tmp/hub/models--a--b
mkdir -p "$hub/blobs" "$hub/snapshots/aaa" "$hub/snapshots/bbb"
cp "$one" "$hub/blobs/0123abcd"
for s in aaa bbb; do ln -s ../../blobs/0123abcd "$hub/snapshots/$s/model.safetensors"; done
ln -s ../../blobs/gone "$hub/snapshots/aaa/dangling.safetensors"
cd "$tmp" || bail cd
for tier in 1 0; do
	record -q --tier $tier --until exit -- "$python" "$tmp/guest.py" read \
		hub/models--a--b/snapshots/aaa/model.safetensors hub/models--a--b/snapshots/aaa/../bbb/model.safetensors
	# Tier 0 counts short reads without their file.
	is "tier $tier: one file, its snapshot's name, all bytes" "$(ask "select path, target,
		asked_bytes * 100 >= 99 * 2 * size_bytes and asked_bytes <= 2 * size_bytes from files where run = (select max(id) from run) and size_bytes = $size and class = 'weights'")" \
		"$hub/snapshots/aaa/model.safetensors|$hub/blobs/0123abcd|1"
done

for how in fork spawn forkserver; do
	record -q --until exit -- "$python" "$tmp/guest.py" $how "$model"/*.safetensors
	is "$how: each worker's own file" "$(ask "select count(distinct pid), count(distinct path), sum(asked_bytes)
		from reads where run = (select max(id) from run) and path like '%.safetensors'")" \
		"3|3|$(cat "$model"/*.safetensors | wc -c)"
done
done_testing
