# SPDX-License-Identifier: Apache-2.0
# A second reader. usage: same_rows.py JSON CSV MARKDOWN | --database DB CSV | --ledger JSON
import csv
import json
import re
import sqlite3
import sys


def as_text(value):
    return "" if value is None else str(value)


def read_csv(path):
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as f:
        return list(csv.reader(f, strict=True))


def safe(text):
    """Bytes that are not UTF-8 are U+FFFD in JSON."""
    return re.sub("[\udc80-\udcff\ufffd]+", "\ufffd", text)


def markdown_cells(line):
    cells = re.split(r"(?<!\\)\|", line.rstrip("\n"))[1:-1]
    return [re.sub(r"\\([\\`*_{}\[\]<>|~])", r"\1", c[1:-1]) for c in cells]


def printable(text):
    raw = text.encode("utf-8", "surrogateescape")
    out, i = "", 0
    while i < len(raw):
        for n in (1, 2, 3, 4):
            try:
                c = raw[i:i + n].decode()
                break
            except UnicodeDecodeError:
                c = None
        if c is None or ord(c) < 32 or 127 <= ord(c) < 160:
            n = 1 if c is None else n
            out += "".join("\\x%02x" % b for b in raw[i:i + n])
        else:
            out += c
        i += n
    return out


def compare(json_path, csv_path, markdown_path):
    report = json.load(open(json_path, encoding="utf-8"))
    names = [c["name"] for c in report["columns"]]
    table = read_csv(csv_path)
    assert table[0] == names, (table[0], names)
    assert len(table) - 1 == len(report["rows"]), (len(table), len(report["rows"]))
    markdown = [markdown_cells(line) for line in open(markdown_path, encoding="utf-8", newline="\n")]
    assert markdown[0] == names, markdown[0]
    assert len(markdown) == len(table) + 1, (len(markdown), len(table))
    for cells, row, shown in zip(table[1:], report["rows"], markdown[2:]):
        assert list(row) == names, row
        assert [safe(c) for c in cells] == [safe(as_text(row[n])) for n in names], (cells, row)
        assert [printable(c) for c in cells] == shown, (cells, shown)


def database(db, csv_path):
    rows = read_csv(csv_path)[1:]
    con = sqlite3.connect(db)
    con.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
    run = int(rows[0][0])
    want = [r[0] for r in con.execute(
        "SELECT s.text FROM ledger_row l JOIN string s ON s.id = l.sub WHERE run = ? ORDER BY l.id", (run,))]
    assert [r[7] for r in rows] == want, ([r[7] for r in rows], want)
    label, state, mark = con.execute("SELECT label, state, ready_mark FROM run WHERE id = ?", (run,)).fetchone()
    assert [rows[0][1], rows[0][3], rows[0][4]] == [label, state, mark], rows[0]


def ledger(path):
    l = json.load(open(path, encoding="utf-8"))
    assert list(l) == ["schema", "run", "command", "wall_ns", "ready_mark", "state", "state_files", "state_caches", "tier",
                       "rows"], list(l)
    assert l["schema"] == 1 and l["command"] == ["vllm", "serve", "/models/tiny"], l["command"]
    assert l["wall_ns"] == 16000000000 == sum(r["wall_ns"] for r in l["rows"])
    items = "process_init cuda_context allocator weights graphs_jit serving_up other".split()
    for r in l["rows"]:
        assert list(r) == ["item", "sub", "evidence", "wall_ns", "work_ns", "bytes", "cause"], list(r)
        assert r["item"] in items and r["evidence"] in ("measured", "declared", "inferred"), r
        assert list(r["cause"]) == ["cpu_ns", "runnable_ns", "io_wait_ns", "sleep_ns"], r["cause"]
    assert l["rows"][-1]["bytes"] is None and l["rows"][-1]["work_ns"] is None


if sys.argv[1] == "--database":
    database(sys.argv[2], sys.argv[3])
elif sys.argv[1] == "--ledger":
    ledger(sys.argv[2])
else:
    compare(*sys.argv[1:])
