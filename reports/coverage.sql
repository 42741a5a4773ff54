-- SPDX-License-Identifier: Apache-2.0
-- question: By which routes did the guest reach the driver, and were we there?
-- column symbol text: exported name
-- column route text: elf, dlsym, cuGetProcAddress, cudaGetDriverEntryPoint; several with + between
-- column calls count: look-ups by this route
-- column hooked flag: 1 when the guest got our wrapper
-- caveat: Summed over processes; a process without the shim is named in the report diagnostics.
SELECT s.text AS symbol, r.text AS route, sum(c.calls) AS calls, c.hooked
FROM coverage c LEFT JOIN string s ON s.id = c.symbol LEFT JOIN string r ON r.id = c.route
WHERE c.run = :run
GROUP BY s.text, r.text, c.hooked
ORDER BY s.text, r.text, c.hooked;
