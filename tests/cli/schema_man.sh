# SPDX-License-Identifier: Apache-2.0
# coldprof-trace(5) names every table, view and column of the schema.
. "$top_srcdir/tests/tap.sh"
schema=$top_srcdir/src/store/schema.sql
man=$top_srcdir/man/coldprof-trace.5

names() {
	sed -e 's/--.*//' "$1" | tr '\n' ' ' | tr ';' '\n' | sed -n 's/^ *CREATE TABLE \([a-z_]*\) (\(.*\)) STRICT.*/\1,\2/p' |
		sed 's/PRIMARY KEY ([^)]*)//' | tr ',' '\n' | sed 's/^[ 	]*//; s/ .*//' | grep '^[a-z]' | sort -u
	sed -n 's/^CREATE VIEW \([a-z_]*\) AS.*/\1/p' "$1"
}
missing() {
	names "$1" | while read -r name; do
		grep -qw -- "$name" "$2" || echo "$name"
	done
}
ok "names are found in the schema" test "$(names "$schema" | wc -l)" -gt 60
is "each stands in the manual page" "$(missing "$schema" "$man")" ""
printf 'CREATE TABLE thing (\n\tnowhere_ns INTEGER, PRIMARY KEY (nowhere_ns)\n) STRICT;\n' >"$tmp/schema.sql"
is "one that does not is told" "$(missing "$tmp/schema.sql" "$man" | tr "\n" " ")" "nowhere_ns thing "
if command -v mandoc >/dev/null; then
	is "the page is sound" "$(mandoc -T lint -W warning "$man" 2>&1)" ""
else
	skip "the page is sound" "no mandoc"
fi
done_testing
