#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The list of the project's own files, by git and without it, in a tree that was built in.
. "$top_srcdir/tests/tap.sh"

without_git()
{
	GIT_DIR=/nowhere sh "$top_srcdir/tests/house/files" "$1"
}

mkdir -p "$tmp/t/a/.deps" "$tmp/t/b" "$tmp/t/.git"
printf '%s\n' '# what is made' '*.o' '.deps/' '/made' '/made-*.x' '*.log' '!/b/*.log' >"$tmp/t/.gitignore"
(cd "$tmp/t" && touch a/x.c a/x.o a/.deps/x.d a/made a/xo made made-1.2.x b/kept.log a/y.log .git/HEAD)
is "without git: all that .gitignore does not name" "$(without_git "$tmp/t" | tr '\n' ' ')" \
	".gitignore a/made a/x.c a/xo b/kept.log "

if [ "$(cd "$top_srcdir" && git rev-parse --show-toplevel 2>/dev/null)" = "$(cd "$top_srcdir" && pwd -P)" ]; then
	is "without git: the same files as with it" "$(without_git "$top_srcdir")" \
		"$(cd "$top_srcdir" && git ls-files -co --exclude-standard | sort -u)"
else
	skip "without git: the same files as with it" "no git, or not a clone"
fi
# What the build made, wherever it was made, as if made in the tree.
mkdir "$tmp/made"
cp "$top_srcdir/.gitignore" "$tmp/made/"
if [ "$(cd "$top_builddir" && pwd -P)" = "$(cd "$top_srcdir" && pwd -P)" ]; then
	without_git "$top_srcdir" | (cd "$top_srcdir" && xargs grep -al "^$(printf '\177')ELF")
else
	(cd "$top_builddir" && find . -name .git -prune -o -type f \( -name '*.[ch]' -o -exec grep -aq "^$(printf '\177')ELF" {} \; \) -print)
fi >"$tmp/list"
(cd "$tmp/made" && xargs -n 1 dirname <"$tmp/list" | sort -u | xargs -r mkdir -p && xargs -r touch <"$tmp/list")
is "what a build makes is named in .gitignore" "$(without_git "$tmp/made")" .gitignore
done_testing
