# SPDX-License-Identifier: Apache-2.0
# What the tests of reported cases share: . "$top_srcdir/tests/field/field.sh" behind tap.sh.
coldprof=$top_builddir/coldprof
db=$tmp/t.db
limit=60
python=$(python3 -c 'import sys; print(sys.executable)')
model=$tmp/model

# own_mounts "$@": the test again from its start, in a mount namespace of its own.
own_mounts()
{
	[ "${1-}" != inside ] || return 0
	unshare -m true 2>/dev/null || skip_all "no right to make a mount namespace"
	tap_cleanup
	exec unshare -m sh "$0" inside
}

# record ARG...: a start into the database; the ledger in $tmp/err, the status in $end.
record()
{
	end=0
	timeout "$limit" "$coldprof" --db "$db" "$@" >"$tmp/out" 2>"$tmp/err" || end=$?
}

ask()
{
	sqlite3 "$db" "$1"
}

# Rows of a report of the last run as JSON, and SQL over them: cells QUERY REPORT; the table is called r.
cells()
{
	"$coldprof" report "$2" --db "$db" --format json >"$tmp/report.json"
	sqlite3 :memory: "create table r as select json(value) as j from
		json_each(json_extract(readfile('$tmp/report.json'), '\$.rows')); $1"
}

# For cells: much came from storage for a file that is none of the system's, whose pages may have been taken meanwhile.
elsewhere="json_extract(j, '\$.bytes_storage') > 1000000
	and coalesce(json_extract(j, '\$.path'), '') not like '/usr/%'
	and coalesce(json_extract(j, '\$.path'), '') not like '/lib%'
	and coalesce(json_extract(j, '\$.path'), '') not like '$("$python" -c 'import sys; print(sys.base_prefix)')/%'"

note()
{
	ask "select s.text from note n join string s on s.id = n.text
		where n.run = (select max(id) from run) and s.text like '$1%'"
}

tier1()
{
	[ "$(ask 'select tier from run order by id desc limit 1')" = 1 ]
}

cp "$top_srcdir/tests/field/guest.py" "$tmp/guest.py"
"$top_builddir/tests/engine/truth-engine" --make-model 12582912 "$model" >"$tmp/made" || bail "no model"
