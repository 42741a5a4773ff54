#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The arrows between rooms: src/README lists, after "arrows", what each room may include; an #include
# of another room is a fault, and so is a room that the list does not know.
. "$top_srcdir/tests/tap.sh"

# usage: check SRC; prints FILE: why
check()
{
	sed -n '/^arrows/,$p' "$1/README" | grep '^[a-z]*:' >"$tmp/arrows"
	(cd "$1" && find . -name '*.[chS]' -o -name '*.def' | sort | sed 's|^\./||') | while read -r f; do
		case $f in
		*/*) room=${f%%/*} ;;
		*) echo "$f: in no room" && continue ;;
		esac
		if ! grep -q "^$room:" "$tmp/arrows"; then
			echo "$f: README draws no room $room"
			continue
		fi
		may=$(sed -n "s/^$room://p" "$tmp/arrows")
		grep -E '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$1/$f" |
			sed 's/^[^"]*"\([^"]*\)".*/\1/' | while read -r inc; do
			case $inc in
			../*) echo "$f: \"$inc\": name the room" && continue ;;
			*/*) to=${inc%%/*} ;;
			*) continue ;;
			esac
			[ "$to" != "$room" ] || continue
			case " $may " in
			*" $to "*) ;;
			*) echo "$f: $room may not include $to" ;;
			esac
		done
	done
}

# usage: order SRC; an arrow must point to a room that stands above it in the list
order()
{
	sed -n '/^arrows/,$p' "$1/README" | grep '^[a-z]*:' | while IFS=: read -r room may; do
		for to in $may; do
			case " $seen " in
			*" $to "*) ;;
			*) echo "$room: $to is not below it" ;;
			esac
		done
		seen="$seen $room"
	done
}

seen=
is "every include follows an arrow of src/README" "$(check "$top_srcdir/src")" ""
is "the arrows point one way" "$(order "$top_srcdir/src")" ""

mkdir -p "$tmp/s/low" "$tmp/s/high" "$tmp/s/stray"
printf 'rooms\narrows (room: may include)\nlow:\nhigh: low\n' >"$tmp/s/README"
echo '#include "low/low.h"' >"$tmp/s/high/good.c"
echo '#include "high/high.h"' >"$tmp/s/low/bad.c"
echo '#include "../low/low.h"' >"$tmp/s/high/dots.c"
echo 'int a;' >"$tmp/s/stray/a.c"
is "a wrong include is found, a way around it, and a room unknown" "$(check "$tmp/s" | tr '\n' ';')" \
	'high/dots.c: "../low/low.h": name the room;low/bad.c: low may not include high;stray/a.c: README draws no room stray;'
printf 'arrows\nlow: high\nhigh: low\n' >"$tmp/s/README"
is "a circle is found" "$(order "$tmp/s")" "low: high is not below it"
done_testing
