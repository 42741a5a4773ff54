-- SPDX-License-Identifier: Apache-2.0
-- question: Which Python packages took the time of process init?
-- column pid id: of the importing process
-- column package text: top-level package
-- column modules count: modules of it that were imported
-- column self_ns ns: in its own modules
-- column inclusive_ns ns: with what they import
-- column storage_wait_ns ns: of it, waiting for storage
-- caveat: Empty in this version, which does not tell packages apart; the ledger's lines `init: NAME` hold their time.
SELECT NULL AS pid, NULL AS package, NULL AS modules, NULL AS self_ns, NULL AS inclusive_ns, NULL AS storage_wait_ns
WHERE :run IS NULL AND 0;
