# SPDX-License-Identifier: Apache-2.0
# A full disk at any moment of writing: an error in words, and a sound file behind it.
. "$top_srcdir/tests/tap.sh"
coldprof=$top_builddir/coldprof
make_db=$top_builddir/tests/cli/make_db
if [ -z "$COLDPROF_IN_NAMESPACE" ]; then
	unshare -m true 2>/dev/null || skip_all "no right to mount a small file system (unshare -m)"
	COLDPROF_IN_NAMESPACE=1
	export COLDPROF_IN_NAMESPACE
	tap_cleanup
	exec unshare -m "${SHELL:-/bin/sh}" "$0"
fi
mkdir "$tmp/small"
mount -t tmpfs -o size=16k none "$tmp/small" || bail "cannot mount a tmpfs"
grows=yes
mount -o remount,size=16m "$tmp/small" 2>"$tmp/why" || grows=
umount "$tmp/small"
[ -n "$grows" ] || skip_all "a small file system may not grow here: $(head -n 1 "$tmp/why")"
full=0
for size in 16 32 64 96 128 192 256 320 384 448 512 576 640 704 768 1024; do
	mount -t tmpfs -o size=${size}k none "$tmp/small" || bail "cannot mount a tmpfs"
	db=$tmp/small/runs.db
	if "$make_db" "$db" 2>"$tmp/err"; then
		echo "$size: fits" >>"$tmp/how"
	else
		full=$((full + 1))
		grep -Eq "full|No space" "$tmp/err" || echo "$size: said '$(cat "$tmp/err")'"
	fi
	mount -o remount,size=16m "$tmp/small"
	"$coldprof" list --db "$db" >"$tmp/out" 2>"$tmp/err" || grep -q "is empty\|No such file" "$tmp/err" ||
		echo "$size: then '$(cat "$tmp/err")'"
	if [ -s "$db" ]; then
		[ "$("$top_builddir/tests/cli/integrity" "$db")" = ok ] || echo "$size: not sound"
	fi
	"$make_db" "$db" 2>"$tmp/err" || echo "$size: with room again '$(cat "$tmp/err")'"
	[ -e "$db-wal" ] && echo "$size: a log is left"
	umount "$tmp/small"
done >"$tmp/bad"
is "a clear error, a sound file, and it goes on once there is room" "$(cat "$tmp/bad")" ""
ok "the disk was full at several moments ($full of 16)" test "$full" -ge 4
ok "and it was not at others" test -s "$tmp/how"

# A run that is not stored has no number: nobody finds it by one.
limit=60
small_run()
{
	timeout "$limit" "$coldprof" --db "$tmp/small/runs.db" "$@" 2>"$tmp/err" >"$tmp/out"
}
fill='head -c 16777216 /dev/zero >"$1" 2>&-'
mount -t tmpfs -o size=512k none "$tmp/small" || bail "cannot mount a tmpfs"
small_run -- sh -c "$fill; exit 7" sh "$tmp/small/fill"
is "the disk fills during a start: its status" $? 7
like "the disk fills during a start: it is told" "$(cat "$tmp/err")" '^coldprof: this run is not stored'
like "the disk fills during a start: the ledger is shown" "$(cat "$tmp/err")" '^total '
unlike "the disk fills during a start: no number" "$(cat "$tmp/err")" 'run [0-9]'
small_run -- sh -c 'exit 7'
is "the disk is full before a start: its status" $? 7
like "the disk is full before a start: the ledger is shown" "$(cat "$tmp/err")" '^total '
unlike "the disk is full before a start: no number" "$(cat "$tmp/err")" 'run [0-9]'
rm "$tmp/small/fill"
small_run -n 2 -- sh -c "test -e \"\$1\" && exec rm \"\$1\"; $fill; true" sh "$tmp/small/fill"
is "the first of two starts is not stored: the status" $? 0
like "the first of two starts is not stored: it is told" "$(cat "$tmp/err")" '^coldprof: this run is not stored'
like "the first of two starts is not stored: why no delta is shown" "$(cat "$tmp/err")" '^coldprof: no delta ledger'
is "one run has a number" "$(grep -o 'run [0-9]*,' "$tmp/err" | grep -c .)" 1
"$coldprof" report --db "$tmp/small/runs.db" --run "$(sed -n 's/.* run \([0-9]*\),.*/\1/p' "$tmp/err")" >"$tmp/out" 2>"$tmp/err"
is "and a report by it" "$? $(grep -c '^total ' "$tmp/out")" "0 1"
umount "$tmp/small"
done_testing
