# SPDX-License-Identifier: Apache-2.0
# What the tests of the command line share: . "$top_srcdir/tests/cli/cli.sh" behind tap.sh.
coldprof=$top_builddir/coldprof
serve=$top_builddir/tests/guests/serve
witness=$top_builddir/tests/guests/witness
db=$tmp/t.db
limit=60 # seconds until a test gives an event up

# One value of the database.
ask()
{
	sqlite3 "$db" "$1"
}

# await FIFO: the line that somebody writes there, within the limit.
await()
{
	timeout "$limit" head -n 1 "$1"
}

# gone PID: wait until that process is no more, within the limit.
gone()
{
	timeout "$limit" tail --pid="$1" -f /dev/null
}

run()
{
	timeout "$limit" "$coldprof" --db "$db" "$@"
}
