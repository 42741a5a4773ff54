-- SPDX-License-Identifier: Apache-2.0
-- question: What was compiled, and what did a cache save?
-- column pid id: of the process that waited for it, or of the compiler
-- column what text: compiler, in-process compile, module load, compile-cache I/O
-- column path text: file, module or command
-- column state text: hit, miss or unknown
-- column reason text: why
-- column wall_ns ns: first begin to last end
-- column work_ns ns: summed
-- caveat: One row a process, kind and object; state is unknown until caches are judged entry by entry.
SELECT p.pid, k.text AS what, coalesce(w.text, f.text, c.text) AS path, 'unknown' AS state, NULL AS reason,
	max(e.end_ns) - min(e.start_ns) AS wall_ns, sum(e.end_ns - e.start_ns) AS work_ns
FROM evidence e JOIN string k ON k.id = e.kind LEFT JOIN process p ON p.run = e.run AND p.id = e.process
	LEFT JOIN string w ON w.id = e.what LEFT JOIN string c ON c.id = p.command
	LEFT JOIN file x ON x.run = e.run AND x.id = e.file LEFT JOIN string f ON f.id = x.path
WHERE e.run = :run AND k.text IN ('compiler', 'compile', 'module_load', 'cache_io')
GROUP BY e.process, k.text, coalesce(w.text, f.text, c.text)
ORDER BY min(e.start_ns), e.process;
