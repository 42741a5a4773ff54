-- SPDX-License-Identifier: Apache-2.0
-- question: When was the server ready, by each mark?
-- column mark text: port:N listens, http:N/PATH answers 200, log:REGEX, file:PATH, exit
-- column ns ns: since the start of the run
-- caveat: Only marks that were watched or seen; coldprof sends no byte to a port that it does not know to be HTTP.
SELECT mark, min(ns) AS ns FROM (
	SELECT n.text AS mark, m.at_ns - r.start_ns AS ns
	FROM mark m JOIN run r ON r.id = m.run LEFT JOIN string n ON n.id = m.name WHERE m.run = :run
	UNION ALL
	SELECT 'port:' || l.port, l.at_ns - r.start_ns FROM listener l JOIN run r ON r.id = l.run WHERE l.run = :run
	UNION ALL
	SELECT ready_mark, ready_ns - start_ns FROM run
	WHERE id = :run AND ready_mark IS NOT NULL AND ready_ns IS NOT NULL)
GROUP BY mark
ORDER BY ns, mark;
