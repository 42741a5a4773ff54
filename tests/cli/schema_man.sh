# SPDX-License-Identifier: Apache-2.0
# coldprof-trace(5) names every table and view of the schema, and every column with its table.
. "$top_srcdir/tests/tap.sh"
schema=$top_srcdir/src/store/schema.sql
man=$top_srcdir/man/coldprof-trace.5

# "TABLE COLUMN" a line, less the columns that stand in COMMON COLUMNS; a table or view alone has no second word.
names() {
	sed -e 's/--.*//' "$1" | tr '\n' ' ' | tr ';' '\n' | sed -n 's/^ *CREATE TABLE \([a-z_]*\) (\(.*\)) STRICT.*/\1,\2/p' |
		sed 's/PRIMARY KEY ([^)]*)//' | awk -F, '{
			print $1
			for (i = 2; i <= NF; i++)
				if (split($i, word, " ") && word[1] ~ /^[a-z]/)
					print $1, word[1]
		}'
	sed -n 's/^CREATE VIEW \([a-z_]*\) AS.*/\1/p' "$1"
}
# The part of the page on a table, with what holds for all.
part() {
	awk -v table="$1" '
		/^\.S[sh]/ { inside = /^\.Sh COMMON/; for (i = 2; i <= NF; i++) { sub(/,$/, "", $i); inside = inside || $i == table } }
		inside' "$2"
}
missing() {
	names "$1" | while read -r table column; do
		if [ -n "$column" ]; then
			part "$table" "$2" | grep -v '^\.Ss' | grep -qw -- "$column" || echo "$table.$column"
		else
			grep -qw -- "$table" "$2" || echo "$table"
		fi
	done
}
ok "names are found in the schema" test "$(names "$schema" | wc -l)" -gt 150
is "each stands in the manual page" "$(missing "$schema" "$man")" ""
printf 'CREATE TABLE thing (\n\tnowhere_ns INTEGER, PRIMARY KEY (nowhere_ns)\n) STRICT;\n' >"$tmp/schema.sql"
printf 'CREATE TABLE graph (\n\trun INTEGER, wait_ns INTEGER\n) STRICT;\n' >>"$tmp/schema.sql"
is "one that does not is told, or only with another table" "$(missing "$tmp/schema.sql" "$man" | tr "\n" " ")" \
	"thing thing.nowhere_ns graph.wait_ns "
if command -v mandoc >/dev/null; then
	is "the page is sound" "$(mandoc -T lint -W warning "$man" 2>&1)" ""
else
	skip "the page is sound" "no mandoc"
fi
done_testing
