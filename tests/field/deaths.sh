#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who died first, and of what: a rank of a bus error, a compiler that is killed; what compilers did.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/field/field.sh"

one=$model/model-00001-of-00003.safetensors
record --until port:1 -- "$python" "$tmp/guest.py" bus_error "$one"
is "status of the launcher" "$end" 1
if tier1; then
	like "the rank's death, its last item and file" "$(note 'first to die')" \
		'SIGBUS [0-9.]+ s after the start, last seen in weights \(.*\.cut\.safetensors\)'
	ok "it stands before the launcher's own end" test "$(grep -n 'first to die' "$tmp/err" | cut -d: -f1)" -lt \
		"$(grep -n 'not ready; exit' "$tmp/err" | cut -d: -f1)"
	ok "the time after it is the death's" test "$(cells "select sum(json_extract(j, '$.wall_ns')) from r
		where json_extract(j, '$.sub') like '% died → end'" ledger)" -gt 290000000
else
	skip "the rank's death" "needs the kernel side: a status is there only while the zombie is"
fi

mkdir "$tmp/bin"
cat >"$tmp/c.c" <<'C'
#include <signal.h>
#include <string.h>
#include <time.h>
int main(int argc, char **argv)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while (t.tv_sec == 0 && t.tv_nsec < 100000000);
	return argc > 1 && !strcmp(argv[1], "die") ? raise(SIGKILL) : 0;
}
C
${CC:-cc} -o "$tmp/bin/cc1plus" "$tmp/c.c" || bail "no compiler"
record --until port:1 -- "$python" "$tmp/guest.py" compilers "$one" "$tmp/bin"
is "a compiler was killed: the status" "$end" 1
if tier1; then
	like "which compiler died" "$(note 'first to die')" 'cc1plus \(pid [0-9]+\), of SIGKILL'
	# Their own clocks began with the fork, before they were compilers.
	like "how many, how many at once, their CPU" "$(note '6 compilers')" \
		'^6 compilers ran, up to [2-6] at once, 0\.[5-7][0-9]+ s of CPU$'
	is "a compile is not asleep" "$(cells "select count(*) from r where json_extract(j, '$.sub') = 'compiler'
		and json_extract(j, '$.cause.sleep_ns') * 2 > json_extract(j, '$.wall_ns')" ledger)" 0
else
	skip "which compiler died, the compilers' CPU" "needs the kernel side"
fi

# A rank that was started by way of /proc/self/exe is known by its program.
FAKECUDA=cuInit=1ms,ctx=1ms
export FAKECUDA
record --timeout 5 --until http:1 -- "$top_builddir/tests/engine/truth-engine" --model "$model" --driver fake --init 20 \
	--ranks 2 --spawn exec --crash weights
is "a rank of exec dies: the status" "$end" 1
is "its name" "$(ask "select distinct name from processes where run = (select max(id) from run)")" truth-engine
if tier1; then
	like "its death" "$(note 'first to die')" 'truth-engine \(pid [0-9]+\), of SIGKILL'
else
	skip "its death" "needs the kernel side"
fi
done_testing
