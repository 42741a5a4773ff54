-- SPDX-License-Identifier: Apache-2.0
-- question: Which runs does this database hold?
-- column run id: number of the run
-- column label text: key=value;key=value, as given with --label
-- column started_at time: UTC
-- column state text: of the weights before the start: cold, warm, mixed, unknown
-- column ready_mark text: the mark that the ledger stops at
-- column wall_ns ns: from exec to ready, or to where the run ended
-- column complete flag: 0 when coldprof itself did not live to the end of the run
-- caveat: wall_ns of a run that never became ready is the time until it ended.
SELECT r.run, r.label, r.started_at, r.state, r.ready_mark, n.end_ns - n.start_ns AS wall_ns, r.complete
FROM runs r JOIN run n ON n.id = r.run
ORDER BY r.run;
