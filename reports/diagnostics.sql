-- SPDX-License-Identifier: Apache-2.0
-- question: What should a reader of this run know: losses, missing powers, our own cost?
-- column source text: who says it
-- column severity text: info, warning, loss, cost (our own)
-- column count count: how often; empty where there is nothing to count
-- column text text: what happened, and what is missing for it
-- caveat: No row means that nothing was noticed, not that nothing was lost.
SELECT source, severity, count, text FROM (
	SELECT 0 AS part, x.id, s.text AS source, v.text AS severity, x.count, t.text
	FROM diagnostic x LEFT JOIN string s ON s.id = x.source LEFT JOIN string v ON v.id = x.severity
		LEFT JOIN string t ON t.id = x.text
	WHERE x.run = :run
	UNION ALL
	SELECT 1, x.id, 'attribute', 'info', NULL, t.text FROM note x LEFT JOIN string t ON t.id = x.text WHERE x.run = :run
	UNION ALL
	SELECT 2, p.id, 'coverage', 'warning', NULL,
		'pid ' || p.pid || ' (' || coalesce(n.text, '?') || ') is seen from outside only: ' || u.text
	FROM process p JOIN string u ON u.id = p.uncovered LEFT JOIN string n ON n.id = p.name WHERE p.run = :run)
ORDER BY CASE severity WHEN 'loss' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, part, id;
