#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compile caches: empty at the start, kept, wiped, in a folder that only the command tells, in one that nobody knows;
# a start that visits thousands of cached files and compiles nothing.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/field/field.sh"

HOME=$tmp/home TMPDIR=$tmp/tmp
export HOME TMPDIR
mkdir "$HOME" "$TMPDIR"
cache=$tmp/cache
caches()
{
	ask 'select state_caches from run order by id desc limit 1'
}
states() # what the report jit says of cached files: state/rows
{
	cells "select group_concat(state || '/' || n, ' ') from (select json_extract(j, '$.state') state, count(*) n from r
		where json_extract(j, '$.what') = 'cache_io' group by 1 order by 1)" jit
}

TRITON_CACHE_DIR=$cache
export TRITON_CACHE_DIR
run() # MORE...: the guest on that cache
{
	record -q --until exit -- "$@" "$python" "$tmp/guest.py" cache "$cache" 20
}
hit=hit miss=miss
run
tier1 || hit=unknown miss=unknown
is "nothing there: the state" "$(caches)" empty
is "nothing there: each file is a miss" "$(states)" $miss/20
run
is "kept: the state" "$(caches)" filled
is "kept: each file is a hit" "$(states)" $hit/20
rm -r "$cache"
run
is "empty at the start again" "$(caches)" empty
# All that was there is written anew: it was there all the same.
find "$cache" -type f -exec touch -d '+1 hour' {} +
run
is "files younger than the start were there before" "$(caches)" filled

unset TRITON_CACHE_DIR
run
is "a folder that nobody knows: the state" "$(caches)" unknown
is "a folder that nobody knows is no cache" "$(states)" ""
rm -r "$cache"
run
is "a folder that nobody knows is never said to be empty" "$(caches)" unknown
run env TRITON_CACHE_DIR="$cache"
is "a folder that the command tells" "$(caches)" filled

TRITON_CACHE_DIR=$cache
export TRITON_CACHE_DIR
record -q --until exit -- "$python" "$tmp/guest.py" visit "$cache" 16384
if tier1; then
	is "16384 visits to cached files: no compile" "$(ask "select count(*) from events where run = (select max(id) from run)
		and kind in ('compiler', 'compile')")" 0
	is "and each file a hit" "$(states)" $hit/20
	is "in which so many reads were done" "$(ask "select sum(reads) from reads where run = (select max(id) from run)
		and path like '$cache/%'")" 16384
else
	skip "16384 visits to cached files" "needs the kernel side: small reads are not counted without"
fi
done_testing
