#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Weights that come by no read(2): sendfile, splice, copy_file_range, io_uring, through the page cache and past it; and
# by none that asks for bytes: readahead, posix_fadvise. What was not asked is empty, what storage gave is told.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/field/field.sh"

# The command does not tell the file: only who saw the call can name it.
FILE=$model/model-00001-of-00003.safetensors COPY=$tmp/copy
export FILE COPY
size=$(stat -c %s "$FILE")
transfer() # HOW
{
	dd if="$FILE" iflag=nocache count=0 2>"$tmp/dd"
	record -q --until exit -- sh -c "$top_builddir/tests/guests/transfer $1 \"\$FILE\" \"\$COPY\"; exit \$?"
}
transfer sendfile
tier1 || skip_all "needs the kernel side"

# of COLUMN: of the file, in the report
of()
{
	cells "select coalesce(json_extract(j, '$.$1'), 'empty') from r where json_extract(j, '$.path') = '$FILE'" files
}
# Whole pages, and at least as much as the file has; a kernel reads the end of a file in one page.
from_storage()
{
	n=$(of bytes_storage)
	ok "$1: what came from storage" test "$n" -ge "$size" -a "$n" -lt $((size + 8192))
}
weights()
{
	ask "select sum(bytes) >= $size and sum(end_ns - start_ns) > 0 from evidence where run = (select max(id) from run)
		and kind = (select id from string where text = 'read_storage')"
}

for how in sendfile splice copy_file_range io_uring io_uring_worker io_uring_direct; do
	transfer $how
	if [ "$end" = 77 ]; then
		skip "$how" "the kernel lacks it: $(cat "$tmp/err")"
		continue
	fi
	is "$how: the status" "$end" 0
	is "$how: the bytes that were asked for" "$(of bytes_asked)" "$size"
	ok "$how: in calls" test "$(ask "select sum(reads) from files where run = (select max(id) from run)
		and path = '$FILE'")" -ge 4
	[ $how = io_uring_direct ] || from_storage $how
	is "$how: that is evidence of weights" "$(weights)" 1
	is "$how: nothing else came from storage" "$(cells "select count(*) from r where json_extract(j, '$.path') != '$FILE'
		and ($elsewhere)" files)" 0
done
is "io_uring_direct: the mode" "$(of mode)" direct
for how in readahead fadvise; do
	transfer $how
	is "$how: the status" "$end" 0
	is "$how: nothing was asked for, which is not known to be nothing" "$(of bytes_asked)" empty
	from_storage $how
	is "$how: that is evidence of weights" "$(weights)" 1
done
done_testing
