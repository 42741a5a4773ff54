-- SPDX-License-Identifier: Apache-2.0
-- question: What was compiled, and what did a cache save?
-- column pid id: of the process that waited for it, or of the compiler
-- column what text: compiler, compile (in the process itself), module_load, cache_io
-- column path text: file, module or command
-- column state text: hit, miss or unknown
-- column reason text: why
-- column wall_ns ns: first begin to last end
-- column work_ns ns: summed
-- caveat: One row a process, kind and object. Where writes are not seen (tier 0) a cached file is neither hit nor miss.
WITH cached AS (
	SELECT f.path AS object, max(coalesce(b.written_bytes, 0) > 0) AS written
	FROM file f JOIN file_total b ON b.run = f.run AND b.file = f.id WHERE f.run = :run GROUP BY f.path),
done AS (
	SELECT j.*, k.text AS what, o.text AS path, c.written, r.saw & 2 AS seen
	FROM jit_total j JOIN run r ON r.id = j.run JOIN string k ON k.id = j.kind LEFT JOIN string o ON o.id = j.object
		LEFT JOIN cached c ON c.object = j.object
	WHERE j.run = :run)
SELECT p.pid, what, path,
	CASE WHEN what IN ('compiler', 'compile') THEN 'miss'
		WHEN what = 'cache_io' AND seen THEN CASE written WHEN 1 THEN 'miss' WHEN 0 THEN 'hit' ELSE 'unknown' END
		ELSE 'unknown' END AS state,
	CASE WHEN what IN ('compiler', 'compile') THEN 'a compiler ran'
		WHEN what = 'cache_io' AND seen THEN CASE written WHEN 1 THEN 'written in this start' WHEN 0 THEN 'only read' END
		END AS reason,
	last_ns - first_ns AS wall_ns, work_ns
FROM done j LEFT JOIN process p ON p.run = j.run AND p.id = j.process
ORDER BY first_ns, j.id;
