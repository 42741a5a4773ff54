-- SPDX-License-Identifier: Apache-2.0
-- question: What was compiled, and what did a cache save?
-- column pid id: of the process that waited for it, or of the compiler
-- column what text: compiler, compile (in the process itself), module_load, cache_io
-- column path text: file, module or command
-- column state text: hit, miss or unknown
-- column reason text: why
-- column wall_ns ns: first begin to last end
-- column work_ns ns: summed
-- caveat: One row a process, kind and object; state is unknown until caches are judged entry by entry.
SELECT p.pid, k.text AS what, o.text AS path, 'unknown' AS state, NULL AS reason, j.last_ns - j.first_ns AS wall_ns,
	j.work_ns
FROM jit_total j JOIN string k ON k.id = j.kind LEFT JOIN string o ON o.id = j.object
	LEFT JOIN process p ON p.run = j.run AND p.id = j.process
WHERE j.run = :run
ORDER BY j.first_ns, j.id;
