-- SPDX-License-Identifier: Apache-2.0
-- question: Which driver functions were called, how often, and how long were the calls?
-- column pid id: of the calling process
-- column symbol text: exported name
-- column calls count: all of them
-- column total_ns ns: in the calls; empty for calls that are only counted
-- column bytes bytes: moved or allocated
-- caveat: Host time of the calls, not time on the device.
SELECT p.pid, s.text AS symbol, c.calls, c.total_ns, c.bytes
FROM cuda_count c LEFT JOIN process p ON p.run = c.run AND p.id = c.process LEFT JOIN string s ON s.id = c.symbol
WHERE c.run = :run
ORDER BY c.total_ns DESC, c.calls DESC, c.id;
