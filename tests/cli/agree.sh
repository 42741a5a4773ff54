#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --help, made from the option tables, the man page and the completion name the same options and verbs.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/cli/cli.sh"

man=$top_srcdir/man/coldprof.1
completion=$top_srcdir/src/cli/completion.bash

# Options at the start of a line of --help: "  -q, --quiet=X  words".
in_help()
{
	"$coldprof" "$@" --help | sed -n 's/^ *\(-[a-z], \)\{0,1\}\(--\{0,1\}[a-z-]*\).*/\1\2/p' |
		tr -d ',' | tr ' ' '\n' | grep -E '^-(-[a-z-]+|[a-z])$' | sort -u
}

in_man()
{
	sed -n 's/^\.It Fl //p' "$man" | sed 's/ Ar .*//' | tr ',' '\n' | tr -d ' ' |
		sed -e 's/^-/--/' -e '/^--/!s/^/-/' | sort -u
}

# The words that completion offers behind a verb ("": none).
offered()
{
	bash -c '. "$1"
	COMP_WORDS=(coldprof ${2:+"$2"} "")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_coldprof
	printf "%s\n" "${COMPREPLY[@]}"' completion "$completion" "$1" | grep -v '^--$' | sort -u
}

verbs=$("$coldprof" --help | sed -n '/^verbs:$/,$s/^  \([a-z]*\)  .*/\1/p')
ok "there are verbs" test -n "$verbs"
all=$({
	in_help
	for v in $verbs; do in_help "$v"; done
} | sort -u)
is "the man page names every option, and no other" "$(in_man)" "$all"
for v in $verbs; do
	ok "the man page shows $v" grep -q "^\.Cm $v" "$man"
	is "completion of $v" "$(offered "$v" | grep '^-')" "$(in_help "$v" | { cat; echo --help; } | sort -u)"
done
is "completion of options" "$(offered "" | grep '^-')" "$(in_help)"
is "completion of verbs" "$(offered "" | grep -v '^-')" "$(printf '%s\n' "$verbs" | sort -u)"
reports=$(ls "$top_srcdir/reports" | sed -n 's/\.sql$//p' | grep -vx list | sort)
is "completion of reports" "$(offered report | grep -v '^-')" "$reports"
for r in $reports; do
	ok "the man page tells the report $r" grep -q "^\.It Cm $r$" "$man"
	like "so does report --help" "$("$coldprof" report --help)" "\\<$r\\>"
done
# Of the program, of its tests; what is only given to a guest is none.
variables()
{
	cd "$top_srcdir" || exit
	grep -rhoE "$1" "$2" | grep -oE 'COLDPROF_[A-Z_]+' | sort -u
}
reads='(getenv\("|environ\.get\("|\$\{?)COLDPROF_[A-Z_]+'
is "the man page or tests/README tells every variable of the program" \
	"$(variables "$reads" src | while read -r v; do
		grep -q "^\.It Ev $v$" "$man" || grep -qw "$v" "$top_srcdir/tests/README" || echo "$v"
	done)" ""
is "tests/README tells every variable of the tests" \
	"$(variables "$reads" tests | grep -vx COLDPROF_SESSION | while read -r v; do
		grep -q "^\.It Ev $v$" "$man" || grep -qw "$v" "$top_srcdir/tests/README" || echo "$v"
	done)" ""
ok "and there are some" test "$(variables "$reads" tests | grep -c .)" -gt 9
for file in coldprof.db libcoldprof-shim.so schema.sql reports/; do
	ok "the man page tells of the file $file" sh -c 'sed -n "/^\.Sh FILES/,/^\.Sh EXIT/p" "$1" | grep -q "^\.It Pa .*$2"' sh "$man" "$file"
done
ok "-h is --help" sh -c '[ "$("$1" -h)" = "$("$1" --help)" ]' sh "$coldprof"
for n in 124 125 126 127; do
	ok "the man page tells status $n" grep -q "^\.It $n" "$man"
	like "--help tells status $n" "$("$coldprof" --help)" "^  $n  "
done
for m in http port log file exit; do
	like "--help tells the mark $m" "$("$coldprof" --help)" "^  $m"
	ok "the man page tells the mark $m" grep -q "^\.It Cm $m" "$man"
done
if command -v mandoc >/dev/null; then
	is "the man page is sound" "$(mandoc -T lint -W warning "$man" 2>&1)" ""
else
	skip "the man page is sound" "no mandoc"
fi
done_testing
