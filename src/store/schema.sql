-- SPDX-License-Identifier: Apache-2.0
-- Schema version 1 of a coldprof database; every column is in coldprof-trace(5).
--
-- Tables have singular names and hold what was collected: times are nanoseconds of CLOCK_MONOTONIC, unknown is
-- NULL and never 0. Views have plural names: words instead of numbers, seconds since the start of the run.
-- A table of one run's rows is clustered by (run, id); id counts from 0 in the order of collection.

-- Closed sets. Their numbers are the file's own.
CREATE TABLE item (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, title TEXT NOT NULL) STRICT;
INSERT INTO item VALUES
	(0, 'process_init', 'process init'),
	(1, 'cuda_context', 'CUDA context'),
	(2, 'allocator', 'allocator'),
	(3, 'weights', 'weights'),
	(4, 'graphs_jit', 'graphs + JIT'),
	(5, 'serving_up', 'serving up'),
	(6, 'other', 'other');
CREATE TABLE grade (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO grade VALUES (0, 'measured'), (1, 'declared'), (2, 'inferred');

-- Bits of run.saw: what the kernel side observed for the whole tree.
CREATE TABLE saw_bit (bit INTEGER PRIMARY KEY, word TEXT NOT NULL) STRICT;
INSERT INTO saw_bit VALUES (1, 'tree'), (2, 'reads'), (4, 'faults'), (8, 'waits'), (16, 'fills'), (32, 'times'),
	(64, 'cpu'), (128, 'listen'), (256, 'log');
-- Bits of file_io.mode.
CREATE TABLE io_mode (bit INTEGER PRIMARY KEY, word TEXT NOT NULL) STRICT;
INSERT INTO io_mode VALUES (1, 'read'), (2, 'direct'), (4, 'mapped'), (8, 'mapped-random'), (16, 'populate'), (32, 'write');

-- Text that repeats, each once in the file: names, paths, symbols, words, log lines.
CREATE TABLE string (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE run (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	command_json TEXT, cwd TEXT, label TEXT, engine TEXT, kernel TEXT, host TEXT,
	wall_anchor_ns INTEGER, mono_anchor_ns INTEGER,
	start_ns INTEGER, ready_ns INTEGER, end_ns INTEGER,
	ready_mark TEXT, ending TEXT,
	tier INTEGER, status INTEGER,
	state TEXT, state_files TEXT, state_caches TEXT,
	saw INTEGER NOT NULL DEFAULT 0,
	complete INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE process (
	run INTEGER NOT NULL, id INTEGER NOT NULL,
	pid INTEGER NOT NULL, ppid INTEGER NOT NULL, ns_pid INTEGER, parent INTEGER,
	start_ns INTEGER, exec_ns INTEGER, end_ns INTEGER, status INTEGER,
	role INTEGER NOT NULL, shim INTEGER NOT NULL,
	name INTEGER, exe INTEGER, command INTEGER, uncovered INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE file (
	run INTEGER NOT NULL, id INTEGER NOT NULL,
	path INTEGER, target INTEGER, dev INTEGER, ino INTEGER, size_bytes INTEGER, fs INTEGER,
	cls INTEGER NOT NULL, resident_before_bytes INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE evidence (
	run INTEGER NOT NULL, id INTEGER NOT NULL,
	process INTEGER, tid INTEGER NOT NULL, kind INTEGER NOT NULL, source INTEGER NOT NULL, file INTEGER,
	start_ns INTEGER, end_ns INTEGER, bytes INTEGER, wait_ns INTEGER, what INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE span (
	run INTEGER NOT NULL, id INTEGER NOT NULL,
	process INTEGER, item INTEGER NOT NULL, container INTEGER NOT NULL, start_ns INTEGER, end_ns INTEGER, name INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE thread_time (
	run INTEGER NOT NULL, id INTEGER NOT NULL,
	process INTEGER, tid INTEGER NOT NULL, start_ns INTEGER, end_ns INTEGER,
	cpu_ns INTEGER, runnable_ns INTEGER, io_wait_ns INTEGER, sleep_ns INTEGER, yields INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

-- One (process, file, 10 ms).
CREATE TABLE file_io (
	run INTEGER NOT NULL, id INTEGER NOT NULL,
	process INTEGER, file INTEGER, bin_ns INTEGER,
	asked_bytes INTEGER, storage_bytes INTEGER, mapped_bytes INTEGER,
	reads INTEGER, faults INTEGER, wait_ns INTEGER, mode INTEGER NOT NULL,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

-- file_io summed up per file, when the run is stored.
CREATE TABLE file_total (
	run INTEGER NOT NULL, file INTEGER NOT NULL,
	asked_bytes INTEGER, storage_bytes INTEGER, mapped_bytes INTEGER, written_bytes INTEGER,
	reads INTEGER, faults INTEGER, wait_ns INTEGER, mode INTEGER NOT NULL,
	PRIMARY KEY (run, file)
) STRICT, WITHOUT ROWID;

-- evidence of compilers, in-process compiles, module loads and compile-cache I/O, summed up per process, kind and
-- object, when the run is stored.
CREATE TABLE jit_total (
	run INTEGER NOT NULL, id INTEGER NOT NULL, process INTEGER, kind INTEGER NOT NULL, object INTEGER,
	first_ns INTEGER, last_ns INTEGER, work_ns INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE exec (
	run INTEGER NOT NULL, id INTEGER NOT NULL, process INTEGER, at_ns INTEGER, exe INTEGER, command INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE log_line (
	run INTEGER NOT NULL, id INTEGER NOT NULL, process INTEGER, fd INTEGER NOT NULL, at_ns INTEGER, text INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE listener (
	run INTEGER NOT NULL, id INTEGER NOT NULL, process INTEGER, port INTEGER NOT NULL, at_ns INTEGER, late_ns INTEGER,
	address INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE mark (
	run INTEGER NOT NULL, id INTEGER NOT NULL, name INTEGER, at_ns INTEGER, late_ns INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE cuda_count (
	run INTEGER NOT NULL, id INTEGER NOT NULL,
	process INTEGER, symbol INTEGER, calls INTEGER, total_ns INTEGER, bytes INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE coverage (
	run INTEGER NOT NULL, id INTEGER NOT NULL,
	process INTEGER, symbol INTEGER, route INTEGER, calls INTEGER, hooked INTEGER NOT NULL,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE graph (
	run INTEGER NOT NULL, id INTEGER NOT NULL,
	process INTEGER, graph_id INTEGER,
	nodes INTEGER, capture_ns INTEGER, instantiate_ns INTEGER, upload_ns INTEGER, first_replay_ns INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE diagnostic (
	run INTEGER NOT NULL, id INTEGER NOT NULL, source INTEGER, severity INTEGER, text INTEGER, count INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE setting (
	run INTEGER NOT NULL, id INTEGER NOT NULL, name INTEGER, value INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

-- The wall partition: sorted, no gap, no overlap.
CREATE TABLE segment (
	run INTEGER NOT NULL, id INTEGER NOT NULL,
	start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, item INTEGER NOT NULL, grade INTEGER NOT NULL,
	process INTEGER, sub INTEGER, rule INTEGER,
	cpu_ns INTEGER, runnable_ns INTEGER, io_wait_ns INTEGER, sleep_ns INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger_row (
	run INTEGER NOT NULL, id INTEGER NOT NULL,
	item INTEGER NOT NULL, grade INTEGER NOT NULL, sub INTEGER,
	wall_ns INTEGER NOT NULL, work_ns INTEGER, bytes INTEGER,
	cpu_ns INTEGER, runnable_ns INTEGER, io_wait_ns INTEGER, sleep_ns INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

-- What the attribution had to say in words.
CREATE TABLE note (
	run INTEGER NOT NULL, id INTEGER NOT NULL, text INTEGER,
	PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE VIEW runs AS
	SELECT id AS run, label,
		strftime('%Y-%m-%dT%H:%M:%S', (wall_anchor_ns + start_ns - mono_anchor_ns) / 1000000000, 'unixepoch')
			|| printf('.%03dZ', (wall_anchor_ns + start_ns - mono_anchor_ns) / 1000000 % 1000) AS started_at,
		command_json AS command, engine, state, state_files, state_caches, tier, ready_mark, ending,
		(end_ns - start_ns) / 1e9 AS wall_s, complete
	FROM run;

CREATE VIEW ledger AS
	SELECT l.run, i.word AS item, s.text AS sub, g.word AS evidence,
		l.wall_ns / 1e9 AS wall_s, l.work_ns / 1e9 AS work_s, l.bytes,
		l.cpu_ns / 1e9 AS cpu_s, l.runnable_ns / 1e9 AS runnable_s, l.io_wait_ns / 1e9 AS io_wait_s,
		l.sleep_ns / 1e9 AS sleep_s
	FROM ledger_row l JOIN item i ON i.id = l.item JOIN grade g ON g.id = l.grade LEFT JOIN string s ON s.id = l.sub;

CREATE VIEW segments AS
	SELECT x.run, (x.start_ns - r.start_ns) / 1e9 AS start_s, (x.end_ns - r.start_ns) / 1e9 AS end_s,
		i.word AS item, s.text AS sub, g.word AS evidence, u.text AS rule, p.pid, n.text AS name,
		x.cpu_ns / 1e9 AS cpu_s, x.runnable_ns / 1e9 AS runnable_s, x.io_wait_ns / 1e9 AS io_wait_s,
		x.sleep_ns / 1e9 AS sleep_s
	FROM segment x JOIN run r ON r.id = x.run JOIN item i ON i.id = x.item JOIN grade g ON g.id = x.grade
		LEFT JOIN string s ON s.id = x.sub LEFT JOIN string u ON u.id = x.rule
		LEFT JOIN process p ON p.run = x.run AND p.id = x.process LEFT JOIN string n ON n.id = p.name;

CREATE VIEW processes AS
	SELECT p.run, p.id, p.pid, p.ppid, p.ns_pid, p.parent, n.text AS name,
		(p.start_ns - r.start_ns) / 1e9 AS start_s, (p.exec_ns - r.start_ns) / 1e9 AS exec_s,
		(p.end_ns - r.start_ns) / 1e9 AS end_s, p.status, o.text AS role, p.shim,
		e.text AS exe, c.text AS command, u.text AS uncovered
	FROM process p JOIN run r ON r.id = p.run LEFT JOIN string n ON n.id = p.name LEFT JOIN string o ON o.id = p.role
		LEFT JOIN string e ON e.id = p.exe LEFT JOIN string c ON c.id = p.command
		LEFT JOIN string u ON u.id = p.uncovered;

CREATE VIEW files AS
	SELECT f.run, f.id, s.text AS path, t.text AS target, c.text AS class, f.size_bytes, x.text AS fs,
		f.resident_before_bytes, b.asked_bytes, b.mapped_bytes, b.storage_bytes, b.written_bytes,
		b.reads, b.faults, b.wait_ns / 1e9 AS wait_s,
		(SELECT group_concat(word, '+') FROM (SELECT word FROM io_mode m WHERE m.bit & b.mode ORDER BY bit)) AS mode
	FROM file f LEFT JOIN file_total b ON b.run = f.run AND b.file = f.id
		LEFT JOIN string s ON s.id = f.path LEFT JOIN string t ON t.id = f.target
		LEFT JOIN string c ON c.id = f.cls LEFT JOIN string x ON x.id = f.fs;

CREATE VIEW events AS
	SELECT e.run, (e.start_ns - r.start_ns) / 1e9 AS start_s, (e.end_ns - r.start_ns) / 1e9 AS end_s,
		k.text AS kind, o.text AS source, p.pid, e.tid, e.bytes, e.wait_ns / 1e9 AS wait_s, w.text AS what,
		s.text AS path
	FROM evidence e JOIN run r ON r.id = e.run JOIN string k ON k.id = e.kind JOIN string o ON o.id = e.source
		LEFT JOIN process p ON p.run = e.run AND p.id = e.process LEFT JOIN string w ON w.id = e.what
		LEFT JOIN file f ON f.run = e.run AND f.id = e.file LEFT JOIN string s ON s.id = f.path;

CREATE VIEW spans AS
	SELECT x.run, (x.start_ns - r.start_ns) / 1e9 AS start_s, (x.end_ns - r.start_ns) / 1e9 AS end_s,
		i.word AS item, x.container, p.pid, n.text AS name
	FROM span x JOIN run r ON r.id = x.run JOIN item i ON i.id = x.item
		LEFT JOIN process p ON p.run = x.run AND p.id = x.process LEFT JOIN string n ON n.id = x.name;

CREATE VIEW times AS
	SELECT x.run, p.pid, x.tid, (x.start_ns - r.start_ns) / 1e9 AS start_s, (x.end_ns - r.start_ns) / 1e9 AS end_s,
		x.cpu_ns / 1e9 AS cpu_s, x.runnable_ns / 1e9 AS runnable_s, x.io_wait_ns / 1e9 AS io_wait_s,
		x.sleep_ns / 1e9 AS sleep_s, x.yields
	FROM thread_time x JOIN run r ON r.id = x.run LEFT JOIN process p ON p.run = x.run AND p.id = x.process;

CREATE VIEW reads AS
	SELECT x.run, p.pid, s.text AS path, (x.bin_ns - r.start_ns) / 1e9 AS at_s, x.asked_bytes, x.mapped_bytes,
		x.storage_bytes, x.reads, x.faults, x.wait_ns / 1e9 AS wait_s,
		(SELECT group_concat(word, '+') FROM (SELECT word FROM io_mode m WHERE m.bit & x.mode ORDER BY bit)) AS mode
	FROM file_io x JOIN run r ON r.id = x.run LEFT JOIN process p ON p.run = x.run AND p.id = x.process
		LEFT JOIN file f ON f.run = x.run AND f.id = x.file LEFT JOIN string s ON s.id = f.path;

CREATE VIEW log AS
	SELECT x.run, (x.at_ns - r.start_ns) / 1e9 AS at_s, p.pid, x.fd, t.text
	FROM log_line x JOIN run r ON r.id = x.run LEFT JOIN process p ON p.run = x.run AND p.id = x.process
		LEFT JOIN string t ON t.id = x.text;

CREATE VIEW listeners AS
	SELECT x.run, (x.at_ns - r.start_ns) / 1e9 AS at_s, x.late_ns / 1e9 AS late_s, p.pid, x.port, a.text AS address
	FROM listener x JOIN run r ON r.id = x.run LEFT JOIN process p ON p.run = x.run AND p.id = x.process
		LEFT JOIN string a ON a.id = x.address;

CREATE VIEW marks AS
	SELECT x.run, n.text AS mark, (x.at_ns - r.start_ns) / 1e9 AS at_s, x.late_ns / 1e9 AS late_s
	FROM mark x JOIN run r ON r.id = x.run LEFT JOIN string n ON n.id = x.name;

CREATE VIEW cuda AS
	SELECT x.run, p.pid, s.text AS symbol, x.calls, x.total_ns / 1e9 AS total_s, x.bytes
	FROM cuda_count x LEFT JOIN process p ON p.run = x.run AND p.id = x.process LEFT JOIN string s ON s.id = x.symbol;

CREATE VIEW graphs AS
	SELECT x.run, p.pid, x.graph_id AS graph, x.nodes, x.capture_ns / 1e9 AS capture_s,
		x.instantiate_ns / 1e9 AS instantiate_s, x.upload_ns / 1e9 AS upload_s,
		x.first_replay_ns / 1e9 AS first_replay_s
	FROM graph x LEFT JOIN process p ON p.run = x.run AND p.id = x.process;

CREATE VIEW diagnostics AS
	SELECT x.run, s.text AS source, v.text AS severity, x.count, t.text
	FROM diagnostic x LEFT JOIN string s ON s.id = x.source LEFT JOIN string v ON v.id = x.severity
		LEFT JOIN string t ON t.id = x.text;

CREATE VIEW settings AS
	SELECT x.run, n.text AS name, v.text AS value
	FROM setting x LEFT JOIN string n ON n.id = x.name LEFT JOIN string v ON v.id = x.value;
