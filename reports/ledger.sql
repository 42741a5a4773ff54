-- SPDX-License-Identifier: Apache-2.0
-- question: Where did every second between exec and ready go?
-- column item text: process_init, cuda_context, allocator, weights, graphs_jit, serving_up, other
-- column sub text: what it was within the item
-- column evidence text: measured, declared or inferred
-- column wall_ns ns: of the wall partition; all rows sum to the wall
-- column work_ns ns: busy time of all threads and processes
-- column bytes bytes: moved
-- column cpu_ns ns: of wall_ns, the driving thread on a CPU
-- column runnable_ns ns: of wall_ns, waiting for a CPU
-- column io_wait_ns ns: of wall_ns, waiting for storage
-- column sleep_ns ns: of wall_ns, asleep
-- caveat: Wall and work are two views; only wall_ns sums to the wall.
SELECT i.word AS item, s.text AS sub, g.word AS evidence, l.wall_ns, l.work_ns, l.bytes, l.cpu_ns, l.runnable_ns,
	l.io_wait_ns, l.sleep_ns
FROM ledger_row l JOIN item i ON i.id = l.item JOIN grade g ON g.id = l.grade LEFT JOIN string s ON s.id = l.sub
WHERE l.run = :run
ORDER BY l.id;
