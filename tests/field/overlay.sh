#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A model in the layers of a container: stat(2) tells another device than the kernel has, and pages lie in the file
# below. It is one file by the name that the guest used, however it is read and whoever tells of it.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/field/field.sh"

own_mounts "$@"
mkdir "$tmp/layers" "$tmp/rootfs"
trap 'umount -l "$tmp/rootfs" "$tmp/layers" 2>/dev/null; tap_cleanup' EXIT
mount -t tmpfs none "$tmp/layers" 2>"$tmp/why" && mkdir "$tmp/layers/upper" "$tmp/layers/work" &&
	mount -t overlay overlay -o "lowerdir=$model,upperdir=$tmp/layers/upper,workdir=$tmp/layers/work" "$tmp/rootfs" \
		2>"$tmp/why" || skip_all "cannot mount an overlay: $(cat "$tmp/why")"
name="model-00001-of-00003.safetensors"
FILE=$tmp/rootfs/$name
export FILE
size=$(stat -c %s "$FILE")

for tier in 1 0; do
	for how in read map; do
		for told in 1 0; do
			# Named by the command, it is looked at before the start as well.
			[ $told = 1 ] && set -- "$FILE" || set -- '$FILE'
			dd if="$model/$name" iflag=nocache count=0 2>/dev/null
			record -q --tier $tier --until exit -- sh -c "$python $tmp/guest.py $how $1"
			what="tier $tier, $how$([ $told = 1 ] && echo ', told')"
			is "$what: one file by its name" "$(cells "select count(*), min(json_extract(j, '$.path')) from r
				where json_extract(j, '$.path') like '%safetensors%' or ($elsewhere)" \
				files)" "1|$FILE"
			is "$what: weights" "$(ask "select class from files where run = (select max(id) from run) and path = '$FILE'")" \
				weights
			# Tier 0 does not see short reads.
			n=$(cells "select json_extract(j, '$.bytes_asked') from r where json_extract(j, '$.path') = '$FILE'" files)
			ok "$what: its bytes" test "$n" -le "$size" -a "$n" -gt $((size - 8192))
		done
	done
done
done_testing
