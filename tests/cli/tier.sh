#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tier that a start got, and why it got no higher one, in one line of its ledger.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/cli/cli.sh"

# usage: remarks FILE: the ledger's warnings, a line each.
remarks()
{
	sed -n '/^warning /,$p' "$1" | tr '\n' ' ' | sed 's/  */ /g; s/ warning /\nwarning /g'
}

run --tier 0 -- true 2>"$tmp/err"
like "--tier 0: tier 0" "$(cat "$tmp/err")" ', tier 0,'
unlike "--tier 0: nobody is told why what they asked for" "$(remarks "$tmp/err")" 'tier'
run --tier 2 -- true 2>"$tmp/err"
like "--tier 2: says what it got instead" "$(remarks "$tmp/err")" 'tier 2 was asked for; CUPTI is not part of this version, tier [01] was taken'
if ! can_be_nobody; then
	skip "without rights" "no right to become another user"
elif ! $as_nobody test -x "$coldprof"; then
	skip "without rights" "another user cannot reach the build folder"
else
	chmod 755 "$tmp"
	mkdir -m 777 "$tmp/work"
	(cd "$tmp/work" && $as_nobody "$coldprof" -- true) 2>"$tmp/err"
	is "without rights: the command's status" "$?" 0
	like "without rights: tier 0" "$(cat "$tmp/err")" ', tier 0,'
	like "without rights: one line says why" "$(remarks "$tmp/err")" 'tier 0: kernel probes (cannot be loaded: .*needs root, or CAP_BPF and CAP_PERFMON|are not built in)'
fi

# As root of a container: no capability but those that one has by default.
less="setpriv --bounding-set=-bpf,-perfmon,-sys_admin --inh-caps=-bpf,-perfmon,-sys_admin"
if ! is_root || ! $less true 2>"$tmp/tool"; then
	skip "root without the capabilities" "only root has some to give up, with setpriv"
else
	$less timeout "$limit" "$coldprof" --db "$db" -- true 2>"$tmp/err"
	is "root without the capabilities: the command's status" "$?" 0
	like "root without the capabilities: told which" "$(remarks "$tmp/err")" \
		'tier 0: kernel probes (cannot be loaded: .*--cap-add=BPF --cap-add=PERFMON|are not built in)'
fi
if unshare -U -r true 2>"$tmp/tool"; then
	timeout "$limit" unshare -U -r "$coldprof" --db "$db" -- true 2>"$tmp/err"
	is "root of a user namespace: the command's status" "$?" 0
	like "root of a user namespace: told" "$(remarks "$tmp/err")" \
		'tier 0: kernel probes (cannot be loaded: .*that of a user namespace|are not built in)'
else
	skip "root of a user namespace" "$(cat "$tmp/tool")"
fi
done_testing
