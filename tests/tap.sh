# SPDX-License-Identifier: Apache-2.0
# The Test Anything Protocol for shell tests: . "$top_srcdir/tests/tap.sh", then
#   ok NAME COMMAND [ARG...]      holds when the command succeeds; its output is shown when it does not
#   nok NAME COMMAND [ARG...]     holds when it fails
#   is NAME GOT WANT              the same text
#   like NAME TEXT PATTERN        a line of TEXT matches the extended regular expression
#   unlike NAME TEXT PATTERN      none does
#   status NAME WANT COMMAND...   holds when the command exits with WANT; output in $tap_out and $tap_err
#   can_be_nobody                 may we become another user, by $as_nobody COMMAND...? Root of a user namespace may not.
#   is_root                       may we do all, as root of no namespace?
#   skip NAME WHY | skip_all WHY | diag TEXT | bail TEXT
#   free_port                     a port that nobody listens on now
#   done_testing                  last: prints the plan (when plan N did not), sets the exit status
# $tmp is a fresh folder that goes away at the end.

tap_count=0
tap_failed=0
tap_planned=
tmp=$(mktemp -d "${TMPDIR:-/tmp}/coldprof-test.XXXXXX") || exit 1
tap_out=$tmp/.tap.out
tap_err=$tmp/.tap.err
# Not in a child that a signal meets before it has let go of our traps.
tap_cleanup() {
	tap_self=$$
	read -r tap_self tap_rest </proc/self/stat
	[ "$tap_self" != $$ ] || rm -rf "$tmp"
}
trap tap_cleanup EXIT
trap 'exit 1' HUP INT TERM

plan() {
	tap_planned=$1
	echo "1..$1"
}

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

bail() {
	echo "Bail out! $*"
	exit 1
}

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

pass() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1"
}

fail() {
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $1"
	return 0
}

skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

tap_show() {
	for tap_file in "$tap_out" "$tap_err"; do
		[ -s "$tap_file" ] && head -n 40 "$tap_file" | sed 's/^/# /'
	done
	return 0
}

ok() {
	tap_name=$1
	shift
	if "$@" >"$tap_out" 2>"$tap_err"; then
		pass "$tap_name"
	else
		fail "$tap_name"
		diag "failed: $*"
		tap_show
	fi
}

nok() {
	tap_name=$1
	shift
	if "$@" >"$tap_out" 2>"$tap_err"; then
		fail "$tap_name"
		diag "succeeded: $*"
		tap_show
	else
		pass "$tap_name"
	fi
}

is() {
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1"
		diag "got    $2"
		diag "wanted $3"
	fi
}

like() {
	if printf '%s\n' "$2" | grep -Eq -e "$3"; then
		pass "$1"
	else
		fail "$1"
		diag "nothing matches $3 in:"
		diag "$2"
	fi
}

unlike() {
	if printf '%s\n' "$2" | grep -Eq -e "$3"; then
		fail "$1"
		diag "matches $3:"
		diag "$2"
	else
		pass "$1"
	fi
}

status() {
	tap_name=$1
	tap_want=$2
	shift 2
	tap_got=0
	"$@" >"$tap_out" 2>"$tap_err" || tap_got=$?
	if [ "$tap_got" = "$tap_want" ]; then
		pass "$tap_name"
	else
		fail "$tap_name"
		diag "status $tap_got, wanted $tap_want: $*"
		tap_show
	fi
}

free_port() {
	python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
can_be_nobody() {
	[ "$(id -u)" = 0 ] && $as_nobody true 2>"$tap_err"
}

is_root() {
	[ "$(id -u)" = 0 ] && grep -Eq '^ *0 +0 +4294967295$' /proc/self/uid_map
}

done_testing() {
	[ -n "$tap_planned" ] || echo "1..$tap_count"
	[ "$tap_failed" = 0 ] || diag "$tap_failed of $tap_count failed"
	[ "$tap_failed" = 0 ] && { [ -z "$tap_planned" ] || [ "$tap_planned" = "$tap_count" ]; }
	exit
}
