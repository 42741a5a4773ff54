#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each file names its licence in its first three lines: bpf/ the two that the kernel and a user space
# may share, all else Apache-2.0. COPYING, prose and data have none.
. "$top_srcdir/tests/tap.sh"

check()
{
	sh "$top_srcdir/tests/house/files" "$1" | while read -r f; do
		case $f in
		COPYING | NEWS | README.md | */README | .gitignore | .clang-format) continue ;;
		*.txt | *.json | *.jsonl | *.csv | *.svg | *.expected | *.in | *.out | *.seed) continue ;;
		*/corpus/* | */golden/*) continue ;;
		bpf/local.mk) want=Apache-2.0 ;;
		bpf/*) want='GPL-2.0-only OR BSD-2-Clause' ;;
		*) want=Apache-2.0 ;;
		esac
		head -n 3 "$1/$f" | grep -Eq "SPDX-License-Identifier: $want( \*/)?$" || echo "$f: no '$want'"
	done
}

is "every file says its licence" "$(check "$top_srcdir")" ""

mkdir -p "$tmp/t/bpf"
printf '/* SPDX-License-Identifier: Apache-2.0 */\nint a;\n' >"$tmp/t/good.c"
printf 'int a;\n' >"$tmp/t/bad.c"
printf '/* SPDX-License-Identifier: Apache-2.0 */\n' >"$tmp/t/bpf/x.bpf.c"
is "a file without one is found, and a wrong one" "$(check "$tmp/t" | tr '\n' ' ')" \
	"bad.c: no 'Apache-2.0' bpf/x.bpf.c: no 'GPL-2.0-only OR BSD-2-Clause' "
done_testing
