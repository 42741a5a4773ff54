-- SPDX-License-Identifier: Apache-2.0
-- question: Which processes were there, when, and how much of the wall did each drive?
-- column pid id: process id, as seen from where coldprof ran
-- column ppid id: of the parent that made it
-- column name text: the last name it gave itself
-- column start_ns ns: since the start of the run
-- column end_ns ns: since the start of the run; empty when it outlived the run
-- column status count: as wait(2) gives it; empty when not known
-- column item_wall_ns ns: wall time of the ledger that this process drove; empty where the run has no ledger
-- caveat: Time that nobody drove (serving up) is charged to no process.
SELECT p.pid, p.ppid, n.text AS name, p.start_ns - r.start_ns AS start_ns, p.end_ns - r.start_ns AS end_ns, p.status,
	CASE WHEN EXISTS (SELECT 1 FROM segment WHERE run = :run) THEN coalesce(d.wall_ns, 0) END AS item_wall_ns
FROM process p JOIN run r ON r.id = p.run LEFT JOIN string n ON n.id = p.name
	LEFT JOIN (SELECT process, sum(end_ns - start_ns) AS wall_ns FROM segment WHERE run = :run GROUP BY process) d
		ON d.process = p.id
WHERE p.run = :run
ORDER BY p.start_ns, p.id;
