#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is not of the start: a daemon that was there before reads the model for it; others hold the disk meanwhile.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/field/field.sh"

one=$model/model-00001-of-00003.safetensors
mkfifo "$tmp/go" "$tmp/done"
cat >"$tmp/daemon.py" <<'PY'
import sys

go, done, path = sys.argv[1:]
with open(go) as f:
    f.read()
model = open(path, "rb", buffering=0)
while model.read(1 << 20):
    pass
with open(done, "w") as f:
    f.write("read\n")
with open(go) as f:
    f.read()
PY
notes()
{
	ask "select text from diagnostics where run = (select max(id) from run) and severity = 'warning'"
}
# The command only asks a daemon, which reads and keeps the model open.
dd if="$one" iflag=nocache count=0 2>/dev/null
timeout "$limit" "$python" "$tmp/daemon.py" "$tmp/go" "$tmp/done" "$one" &
daemon=$!
record -q --until exit -- sh -c 'echo load >"$0"; head -n 1 "$1"; : "$2"' "$tmp/go" "$tmp/done" "$one"
like "who has the model is named" "$(notes)" "no process of this start read the model: pid [0-9]+ \\($(basename "$python" |
	cut -c1-15)\\) has it open; 4\\.[12] MB of it came into the page cache meanwhile"
is "and nothing of it is the start's" "$(ask "select count(*) from evidence where run = (select max(id) from run) and
	file is not null")" 0
echo end >"$tmp/go"
wait "$daemon"
record -q --until exit -- sh -c ': "$0"' "$one"
unlike "nobody is named where nobody has it" "$(notes)" 'read the model'

# Somebody else reads and writes while the start reads its weights.
record -q --cold --until exit -- "$python" "$tmp/guest.py" read "$one"
tier1 || {
	skip "others at the disk" "needs the kernel side"
	done_testing
}
dd if=/dev/zero of="$tmp/big" bs=1M count=96 conv=fsync 2>"$tmp/dd" || bail "no room"
dd if="$tmp/big" of=/dev/null bs=1M count=1 iflag=direct 2>/dev/null || {
	skip "others at the disk" "$tmp has no direct I/O"
	done_testing
}
(
	head -n 1 "$tmp/go" && dd if="$tmp/big" of=/dev/null bs=1M iflag=direct
	dd if=/dev/zero of="$tmp/big" bs=1M count=64 oflag=direct conv=notrunc
	echo over >"$tmp/done"
) >/dev/null 2>&1 &
record -q --cold --until exit -- sh -c '"$0" "$1" read "$4"; echo begin >"$2"; head -n 1 "$3"' "$python" "$tmp/guest.py" \
	"$tmp/go" "$tmp/done" "$one"
wait
like "who else was at the disk" "$(notes)" "the disk that 4\\.[12] MB of the weights came from \\([0-9]+:[0-9]+\\) was not this \
start's alone: others read (9[0-9]|[1-9][0-9]+[0-9])\\.[0-9] MB from it, others wrote ([6-9][0-9]|[1-9][0-9]+[0-9])\\.[0-9] MB to it"
done_testing
