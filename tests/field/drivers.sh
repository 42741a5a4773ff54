#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A driver without any symbols but those that it exports, in a place that only the guest's mount namespace has: its calls
# are seen all the same, and what is there is described by what it is and not by what the path is outside.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/field/field.sh"

own_mounts "$@"
fake=$top_builddir/tests/fakecuda/.libs/libcuda.so.1
[ -e "$fake" ] || skip_all "no fake driver is built"
command -v strip >/dev/null || skip_all "no strip program"
inside=$tmp/inside
mkdir "$inside" "$tmp/stripped"
strip -s -o "$tmp/stripped/libcuda.so.1" "$fake"
is "the driver has no symbols left but its exports" "$(nm "$tmp/stripped/libcuda.so.1" 2>&1 | grep -c ' [tT] ')" 0
cp "$top_builddir/tests/guests/cuda-guest" "$tmp/stripped/model-server"
# Outside, the same path is a script: whoever looks there sees another program.
printf '#!/bin/sh\n' >"$inside/model-server"
chmod +x "$inside/model-server"
cat >"$tmp/start.sh" <<'SH'
mount -t tmpfs none "$1" && cp "$2"/* "$1" && cd / && LD_LIBRARY_PATH=$1 FAKECUDA=cuInit=1ms "$1/model-server" "$3"
SH
for tier in 1 0; do
	for route in dlsym proc proc2; do
		record -q --tier $tier --until exit -- unshare -m sh "$tmp/start.sh" "$inside" "$tmp/stripped" $route
		is "tier $tier, $route: the status" "$end" 0
		is "tier $tier, $route: the calls" "$(cells "select group_concat(s || ' ' || c, ', ') from (select
			json_extract(j, '$.symbol') s, sum(json_extract(j, '$.calls')) c from r
			where json_extract(j, '$.symbol') in ('cuInit', 'cuLaunchKernel', 'cuModuleLoadData') group by 1 order by 1)" \
			cuda)" "cuInit 1, cuLaunchKernel 34, cuModuleLoadData 1"
		is "tier $tier, $route: the program is known, and covered" "$(ask "select count(*), max(uncovered) from processes
			where run = (select max(id) from run) and name = 'model-server' and shim")" "1|"
	done
done
done_testing
