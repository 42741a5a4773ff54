# SPDX-License-Identifier: Apache-2.0
# For the tests of the shim: dump [OPTION...] COMMAND... runs a command under it and leaves its records in $tmp/dump.
guests=$top_builddir/tests/guests
shim=${COLDPROF_TEST_SHIM:-$top_builddir/.libs/libcoldprof-shim.so}
dump_options=

dump() {
	"$guests/wire-dump" -o "$tmp/dump" $dump_options "$shim" -- "$@"
}

# same NAME COMMAND...: output and status alike, bare and under the shim; the dump is that of the second run.
same() {
	same_name=$1
	shift
	"$@" >"$tmp/bare" 2>&1
	echo "status $?" >>"$tmp/bare"
	dump "$@" >"$tmp/ours" 2>&1
	echo "status $?" >>"$tmp/ours"
	ok "$same_name" diff "$tmp/bare" "$tmp/ours"
}

# fields NAME: the values of NAME= in the lines of the input; text= runs to the end of its line.
fields() {
	case $1 in
	text | argv | path) sed -n "s/.* $1=//p" ;;
	*) sed -n "s/^\(.* \)\{0,1\}$1=\([^ ]*\).*/\2/p" ;;
	esac
}

# sum NAME: of a field.
sum() {
	fields "$1" | awk '{ n += $1 } END { print n + 0 }'
}

# for_all: the path of a copy of the shim that another user can read, wherever the build folder is.
for_all() {
	chmod 755 "$tmp"
	cp "$shim" "$tmp/for-all.so"
	echo "$tmp/for-all.so"
}
