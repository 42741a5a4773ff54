-- SPDX-License-Identifier: Apache-2.0
-- question: In what state did the start find the machine?
-- column name text: what is described
-- column value text: how it was
-- caveat: A state is called cold only when it was verified; unknown is no kind of warm.
SELECT name, value FROM (
	SELECT 0 AS part, 0 AS id, 'state' AS name, coalesce(state, 'unknown') AS value FROM run WHERE id = :run
	UNION ALL SELECT 0, 1, 'state_files', coalesce(state_files, 'unknown') FROM run WHERE id = :run
	UNION ALL SELECT 0, 2, 'state_caches', coalesce(state_caches, 'unknown') FROM run WHERE id = :run
	UNION ALL SELECT 0, 3, 'engine', engine FROM run WHERE id = :run
	UNION ALL SELECT 0, 4, 'host', host FROM run WHERE id = :run
	UNION ALL SELECT 0, 5, 'kernel', kernel FROM run WHERE id = :run
	UNION ALL SELECT 0, 6, 'cwd', cwd FROM run WHERE id = :run
	UNION ALL SELECT 0, 7, 'tier', tier FROM run WHERE id = :run
	UNION ALL SELECT 0, 8, 'observed', (SELECT group_concat(word, ' ') FROM (
		SELECT word FROM saw_bit b WHERE b.bit & run.saw ORDER BY bit)) FROM run WHERE id = :run
	UNION ALL SELECT 1, x.id, n.text, v.text FROM setting x LEFT JOIN string n ON n.id = x.name
		LEFT JOIN string v ON v.id = x.value WHERE x.run = :run)
ORDER BY part, id;
