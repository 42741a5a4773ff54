-- SPDX-License-Identifier: Apache-2.0
-- question: Which files did the start read, from where, and what did it wait for them?
-- column path text: the name that the guest used
-- column bytes_size bytes: of the file
-- column bytes_asked bytes: asked for by reads, or touched in mappings
-- column bytes_cached bytes: of these, found in the page cache
-- column bytes_storage bytes: fetched from storage, read-ahead included
-- column resident_before_bytes bytes: in the page cache before the first access; empty when the kernel would not tell
-- column faults count: page faults on the file; at tier 0 one in 17 of those that waited for nothing stands for them
-- column wait_ns ns: waited in reads and faults, summed over threads
-- column mode text: read, direct, mapped, mapped-random, populate, write
-- column fs text: file-system type
-- caveat: Read-ahead can fetch more than was asked for; bytes_cached is then 0.
SELECT s.text AS path, f.size_bytes AS bytes_size, b.asked AS bytes_asked,
	max(b.asked - b.storage_bytes, 0) AS bytes_cached, b.storage_bytes AS bytes_storage,
	f.resident_before_bytes, b.faults, b.wait_ns,
	(SELECT group_concat(word, '+') FROM (SELECT word FROM io_mode m WHERE m.bit & b.mode ORDER BY bit)) AS mode,
	x.text AS fs
FROM file f LEFT JOIN string s ON s.id = f.path LEFT JOIN string x ON x.id = f.fs
	LEFT JOIN (SELECT file, storage_bytes, faults, wait_ns, mode, CASE
			WHEN asked_bytes IS NULL THEN mapped_bytes
			WHEN mapped_bytes IS NULL THEN asked_bytes
			ELSE asked_bytes + mapped_bytes END AS asked
		FROM file_total WHERE run = :run) b ON b.file = f.id
WHERE f.run = :run
ORDER BY max(coalesce(b.asked, 0), coalesce(b.storage_bytes, 0)) DESC, f.id;
