-- SPDX-License-Identifier: Apache-2.0
-- question: Which runs does this database hold?
-- column run id: number of the run
-- column label text: key=value;key=value, as given with --label
-- column started_at time: UTC
-- column state text: of the weights before the start: cold, warm, mixed, unknown
-- column ready_mark text: the mark that the ledger stops at; empty when it was never reached
-- column wall_ns ns: from exec to ready, or to where the run ended; empty when it was begun and never finished
-- column complete flag: 1 when it became ready; 0 when it ended before, or coldprof did not live to its end
-- caveat: wall_ns of a run that never became ready is the time until it ended: no time of a start. Sum complete ones.
SELECT r.run, r.label, r.started_at, r.state, iif(n.ready_ns IS NULL, NULL, r.ready_mark) AS ready_mark, n.end_ns - n.start_ns AS wall_ns, r.complete
FROM runs r JOIN run n ON n.id = r.run
ORDER BY r.run;
