#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How a guest reaches the memory: each way, each obstacle. Where it cannot be reached the guest goes on as if alone.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/guests/shim.sh"

# reached ROUTE COMMAND...: which way the guest came: proc, socket, none.
reached() {
	reached_route=$1
	shift
	reached_out=$(dump_options="-r $reached_route" dump "$@" 2>&1)
	reached_status=$?
	[ "$reached_status:$reached_out" = "0:alive" ] || {
		echo "the guest ended with $reached_status: $reached_out"
		return
	}
	if grep -q 'loss .*proc=0 socket=0' "$tmp/dump"; then
		echo none
	elif grep -q 'loss .*proc=0 ' "$tmp/dump"; then
		echo socket
	else
		echo proc
	fi
}

is "by the descriptor" "$(reached proc echo alive)" proc
is "by the socket" "$(reached socket echo alive)" socket
is "the descriptor comes first" "$(reached both echo alive)" proc
is "neither" "$(reached none echo alive)" none
is "a descriptor that is another's is left alone" "$(reached wrong echo alive)" none
is "a socket that never answers is given up" "$(reached mute echo alive)" none

# A damaged session string, and none.
for text in "" 1 1.2.3 2.1.1.1.1.1. 1.zz.1.1.1.1. 1.1.1.1.1.1.na%me "$(printf '%0200d' 0)"; do
	is "the string '$(printf %.20s "$text")' passes through" \
		"$(LD_PRELOAD=$shim COLDPROF_SESSION=$text sh -c 'echo alive')" alive
done
is "no string passes through" "$(LD_PRELOAD=$shim sh -c 'echo alive')" alive
is "a holder that is gone passes through" \
	"$(LD_PRELOAD=$shim COLDPROF_SESSION=1.3ffffe.3.1.1.1.nobody-listens sh -c 'echo alive')" alive

dump_options="-x" dump sh -c 'echo alive' >/dev/null
like "a run that is over records nothing more" "$(grep '^loss' "$tmp/dump")" 'chunks=0/'
dump_options=

# The obstacles of containers, users and namespaces.
# unshare itself reached it before: only the inner command counts, so its entries are counted.
inner() { # ROUTE OPTIONS...: how the commands inside came
	inner_route=$1
	shift
	dump_options="-r $inner_route" dump unshare "$@" sh -c 'echo alive' >/dev/null 2>&1
	inner_flags=$(grep '^process.* argv=sh ' "$tmp/dump" | fields flags)
	case $inner_flags in
	"") echo none ;;
	1) echo proc ;;
	3) echo socket ;;
	*) echo "flags $inner_flags" ;;
	esac
}
obstacle() { # NAME WANT ROUTE OPTIONS...
	obstacle_name=$1 obstacle_want=$2
	shift 2
	obstacle_route=$1
	shift
	if ! unshare "$@" true 2>/dev/null; then
		skip "$obstacle_name" "unshare $* is refused"
		return
	fi
	is "$obstacle_name" "$(inner "$obstacle_route" "$@")" "$obstacle_want"
}
obstacle "a new mount namespace" proc both -m
obstacle "a new user namespace, by the socket" socket both -U
obstacle "a new pid namespace with its own /proc, by the socket" socket both -p -f -m --mount-proc
obstacle "a new network namespace, by the descriptor" proc both -n
obstacle "a new user and network namespace: out of reach" none both -U -n

# Whose numbers the pids are: as the kernel tells it from inside.
namespace() { # NAME OPTIONS...: those of unshare
	namespace_name=$1
	shift
	if ! unshare "$@" true 2>/dev/null; then
		skip "$namespace_name" "unshare $* is refused"
		return
	fi
	for namespace_route in both socket; do
		dump_options="-r $namespace_route" dump unshare "$@" sh -c 'stat -L -c %i /proc/self/ns/pid; :' >"$tmp/out"
		is "$namespace_name, reached by $namespace_route" "$(grep '^process.* argv=stat ' "$tmp/dump" | fields ns)" \
			"$(cat "$tmp/out")"
	done
}
namespace "our own pid namespace" -m
namespace "another pid namespace that sees our /proc" -p -f
namespace "another pid namespace with its own /proc" -p -f -m --mount-proc
unlike "they are not all one" "$(cat "$tmp/out")" "^$(stat -L -c %i /proc/self/ns/pid)\$"

if can_be_nobody; then
	shim=$(for_all)
	is "root's guest that dropped its user, by the socket" "$(
		dump_options="-r both" dump $as_nobody sh -c 'echo alive' >/dev/null
		grep '^process.* argv=sh ' "$tmp/dump" | fields flags
	)" 3
else
	skip "root's guest that dropped its user" "no right to become another user"
fi
done_testing
