# SPDX-License-Identifier: Apache-2.0
"""usage: judge.py COLDPROF DIR: profile real starts of vLLM and hold the ledgers against what is known.

What is known: the sizes of the shards, the moments at which the server's own lines arrived, the names
of its three processes, and that two starts of one model differ only in what was cached.
"""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

from evictions import Evictions

ITEMS = ("process_init", "cuda_context", "allocator", "weights", "graphs_jit", "serving_up", "other")
count = 0
failed = 0


def ok(good, name, *why):
    global count, failed
    count += 1
    print("%sok %d - %s" % ("" if good else "not ", count, name), flush=True)
    if not good:
        failed += 1
        for line in why:
            diag(line)
    return good


def diag(text):
    for line in str(text).splitlines():
        print("# " + line, flush=True)


def skip(name, why):
    global count
    count += 1
    print("ok %d - %s # SKIP %s" % (count, name, why), flush=True)


class Real:
    def __init__(self, coldprof, directory):
        self.coldprof = coldprof
        self.dir = directory
        self.model = os.path.join(directory, "model")
        self.out = os.environ.get("COLDPROF_REAL_OUT", os.path.join(directory, "out"))
        self.shards = {
            os.path.realpath(os.path.join(self.model, f)): os.path.getsize(os.path.join(self.model, f))
            for f in os.listdir(self.model)
            if f.endswith(".safetensors")
        }
        os.makedirs(self.out, exist_ok=True)

    def path(self, name):
        return os.path.join(self.out, name)

    def record(self, mode, args):
        """Two starts under coldprof; returns (status, the stamped lines)."""
        db = self.path(mode + ".db")
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(db + suffix):
                os.unlink(db + suffix)
        scratch = self.path(mode + ".scratch")
        shutil.rmtree(scratch, ignore_errors=True)
        os.makedirs(os.path.join(scratch, "tmp"))
        env = dict(
            os.environ,
            HF_HUB_OFFLINE="1",
            VLLM_CPU_KVCACHE_SPACE="1",
            VLLM_NO_USAGE_STATS="1",
            VLLM_CACHE_ROOT=os.path.join(scratch, "cache"),
            TMPDIR=os.path.join(scratch, "tmp"),
            PATH=os.path.join(self.dir, "venv/bin") + ":" + os.environ["PATH"],
        )
        command = [self.coldprof, "-n", "2", "--timeout", "500", "--db", db, "--label", "mode=" + mode]
        command += os.environ.get("COLDPROF_REAL_ARGS", "").split()
        command += ["--", "vllm", "serve", self.model, "--host", "127.0.0.1", "--port", "8000"]
        # A CPU without AMX or AVX-512 multiplies bf16 so slowly that the warm-up alone takes minutes.
        command += ["--max-model-len", "512", "--max-num-batched-tokens", "512", "--dtype", "float32"] + args
        lines = []
        with open(self.path(mode + ".log"), "w") as log:
            diag(" ".join(command))
            child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            readers = [
                threading.Thread(target=self.stamp, args=(stream, lines, log))
                for stream in (child.stdout, child.stderr)
            ]
            for reader in readers:
                reader.start()
            try:
                status = child.wait(1100)
            except subprocess.TimeoutExpired:
                child.terminate()
                status = child.wait(60)
            for reader in readers:
                reader.join(30)
        return status, lines

    @staticmethod
    def stamp(stream, lines, log):
        for raw in stream:
            now = time.monotonic_ns()
            text = raw.decode(errors="replace").rstrip("\n")
            lines.append((now, text))
            log.write("%.3f %s\n" % (now / 1e9, text))
            log.flush()

    def ask(self, mode, *args):
        """A report as text; None when coldprof refuses it."""
        done = subprocess.run(
            [self.coldprof, *args, "--db", self.path(mode + ".db")], capture_output=True, text=True
        )
        if done.returncode:
            diag("coldprof %s: status %d: %s" % (" ".join(args), done.returncode, done.stderr.strip()))
            return None
        return done.stdout

    def json(self, mode, report, run):
        text = self.ask(mode, "report", report, "--run", str(run), "--format", "json")
        return json.loads(text) if text else None

    def table(self, mode, report, run):
        """The rows of a report as dictionaries."""
        doc = self.json(mode, report, run)
        if not doc:
            return []
        names = [c["name"] for c in doc["columns"]]
        return [r if isinstance(r, dict) else dict(zip(names, r)) for r in doc["rows"]]


def by_item(ledger, key="wall_ns"):
    total = dict.fromkeys(ITEMS, 0)
    for row in ledger["rows"]:
        total[row["item"]] += row[key] or 0
    return total


def judge_sum(mode, run, ledger):
    name = "%s start %d" % (mode, run)
    total = sum(row["wall_ns"] for row in ledger["rows"])
    ok(total == ledger["wall_ns"], name + ": the rows sum to the wall", total - ledger["wall_ns"])
    items = by_item(ledger)
    share = items["other"] / ledger["wall_ns"]
    ok(share <= 0.05, "%s: other is at most 5 %%" % name, "%.1f %%" % (100 * share), *rows_of(ledger, "other"))
    ok(ledger["tier"] == 1 or os.geteuid() != 0, name + ": tier 1 as root", ledger["tier"])
    return items


def rows_of(ledger, item):
    return [
        "%-28s %8.3f s  %s" % (r["sub"], r["wall_ns"] / 1e9, r["evidence"]) for r in ledger["rows"] if r["item"] == item
    ]


def judge_weights(real, mode, run, ledger):
    name = "%s start %d" % (mode, run)
    want = sum(real.shards.values())
    got = sum(r["bytes"] or 0 for r in ledger["rows"] if r["item"] == "weights" and r["sub"] != "H2D")
    ok(abs(got - want) <= want / 100, name + ": weights bytes are those of the shards within 1 %",
       "%d of %d (%.3f)" % (got, want, got / want), *rows_of(ledger, "weights"))
    files = [f for f in real.table(mode, "files", run) if os.path.realpath(f["path"]) in real.shards]
    ok(len(files) == len(real.shards), name + ": each shard is in the files report once", files)
    storage = sum(f["bytes_storage"] or 0 for f in files)
    share = storage / want
    if run == 1:
        ok(share >= 0.95, name + ": read from storage", "%.3f of the bytes" % share)
        ok(ledger["state"] == "cold", name + ": its state is cold", ledger["state"])
        return
    # What another task took out of the page cache since the first start was ready must be read again; no more.
    taken = taken_since(real, mode)
    diag("%s: %.1f MB of the shards from storage; taken from the page cache since start 1 began: %s"
         % (name, storage / 1e6, taken or "nothing"))
    if not real.evictions.seen and storage > want / 100:
        skip(name + ": read from page cache", "who empties the page cache is not seen: " + real.evictions.why)
    else:
        lost = sum(taken.values()) / want
        ok(share <= lost + 0.01, name + ": read from page cache, but for what another task took out",
           "%.3f of the bytes from storage, %.3f were taken" % (share, lost))
    want_state = "warm" if share <= 0.1 else "mixed"
    ok(ledger["state"] == want_state, name + ": its state is " + want_state, ledger["state"])


def taken_since(real, mode):
    """Bytes of the shards that others than coldprof took out of the page cache since start 1 began."""
    with sqlite3.connect(real.path(mode + ".db")) as db:
        (start_ns,) = db.execute("SELECT start_ns FROM run ORDER BY id LIMIT 1").fetchone()
    taken = real.evictions.by_command(start_ns / 1e9)
    return {command: size for command, size in taken.items() if command != "coldprof"}


def judge_imports(mode, run, ledger):
    """Three processes import torch and vllm one after the other; no engine timer shows it."""
    for title, pattern in (("the API server", "vllm|python"), ("EngineCore", ".*EngineCor.*"), ("Worker", ".*Worker.*")):
        wall = sum(
            r["wall_ns"]
            for r in ledger["rows"]
            if r["item"] == "process_init" and re.match("init: (%s)(,|$)" % pattern, r["sub"])
        )
        ok(wall >= 1_000_000_000, "%s start %d: %s's imports are process init" % (mode, run, title),
           "%.3f s" % (wall / 1e9), *rows_of(ledger, "process_init"))


def spans_of(lines, begin, end):
    """Seconds between a line that matches begin and the next that matches end, in order."""
    found, at = [], None
    for when, text in lines:
        if re.search(begin, text):
            at = when
        elif at is not None and re.search(end, text):
            found.append((when - at) / 1e9)
            at = None
    return found


def judge_compile(real, mode, lines, ledgers):
    """The compiler's own lines tell how long warming up took; that time is graphs + JIT."""
    spans = spans_of(lines, r"Warming up model for the compilation", r"Warming up done")
    if not ok(len(spans) == 2, mode + ": both starts logged their compilation", spans):
        return
    for run, ledger in enumerate(ledgers, 1):
        items = by_item(ledger)
        jit = items["graphs_jit"] / 1e9
        ok(jit >= 0.8 * spans[run - 1], "%s start %d: the compilation is in graphs + JIT" % (mode, run),
           "graphs_jit %.2f s, the server's lines lie %.2f s apart" % (jit, spans[run - 1]), *rows_of(ledger, "graphs_jit"))
        serving = items["serving_up"] / 1e9
        ok(serving <= 0.1 * ledger["wall_ns"] / 1e9 + 1, "%s start %d: not in serving up" % (mode, run), "%.2f s" % serving)
    # The folder is full at the second start and yet of no use: a state, not a hit.
    states = [ledger["state_caches"] for ledger in ledgers]
    ok(states == ["empty", "filled"], mode + ": caches are empty, then filled", states)
    compilers = [r for r in real.table(mode, "processes", 1) if "cc1plus" in (r["name"] or "")]
    ok(len(compilers) >= 10, mode + " start 1: the cc1plus children are recorded", len(compilers))
    work = sum(r["work_ns"] or 0 for r in ledgers[0]["rows"] if r["item"] == "graphs_jit" and r["sub"] == "compiler")
    wall = sum(r["wall_ns"] for r in ledgers[0]["rows"] if r["item"] == "graphs_jit" and r["sub"] == "compiler")
    ok(wall > 0 and work > 0, mode + " start 1: compilers have a sub-line of graphs + JIT", "wall %d, work %d" % (wall, work),
       *rows_of(ledgers[0], "graphs_jit"))


def judge(real, mode, args):
    status, lines = real.record(mode, args)
    if not ok(status == 0, mode + ": both starts became ready", "status %d" % status, *[t for _, t in lines[-15:]]):
        return
    for run in (1, 2):
        for report in ("ledger", "processes", "files", "state", "diagnostics"):
            text = real.ask(mode, "report", report, "--run", str(run), "--format", "table")
            with open(real.path("%s-%d-%s.txt" % (mode, run, report)), "w") as f:
                f.write(text or "")
            if report == "ledger":
                diag(text)
    delta = real.ask(mode, "diff", "1", "2")
    with open(real.path(mode + "-delta.txt"), "w") as f:
        f.write(delta or "")
    diag(delta)
    ok(bool(delta), mode + ": the two starts can be compared")

    ledgers = [real.json(mode, "ledger", run) for run in (1, 2)]
    if not ok(all(ledgers), mode + ": both ledgers can be read"):
        return
    for run, ledger in enumerate(ledgers, 1):
        judge_sum(mode, run, ledger)
        judge_weights(real, mode, run, ledger)
        judge_imports(mode, run, ledger)
    if "--enforce-eager" not in args:
        judge_compile(real, mode, lines, ledgers)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    real = Real(os.path.abspath(sys.argv[1]), sys.argv[2])
    modes = {"eager": ["--enforce-eager"], "default": []}
    for mode in os.environ.get("COLDPROF_REAL_MODES", "eager default").split():
        with Evictions(real.shards) as real.evictions:
            judge(real, mode, modes[mode])
    print("1..%d" % count)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
