# SPDX-License-Identifier: Apache-2.0
"""Who took pages of some files out of the page cache, told by the kernel's own tracepoint.

A second start that reads a shard from storage is explained only by this: something else than coldprof
took those pages between the first start and the second. Needs root and tracefs; without them .seen is
False and nothing is claimed.
"""

import os
import re
import subprocess
import tempfile
import threading

LINE = re.compile(
    r"^\s*(.+)-(\d+)\s+\[\d+\]\s+\S+\s+([\d.]+): mm_filemap_delete_from_page_cache: "
    r"dev (\d+):(\d+) ino ([0-9a-f]+) .*ofs=(\d+) order=(\d+)"
)


class Evictions:
    def __init__(self, paths):
        self.taken = []  # (CLOCK_MONOTONIC seconds, command, bytes)
        self.seen = False
        self.why = ""
        self.inodes = {os.stat(p).st_ino: os.path.getsize(p) for p in paths}
        self.devices = {(os.major(os.stat(p).st_dev), os.minor(os.stat(p).st_dev)) for p in paths}

    def write(self, name, text):
        with open(os.path.join(self.instance, name), "w") as f:
            f.write(text)

    def __enter__(self):
        self.mount = tempfile.mkdtemp(prefix="coldprof-tracefs.")
        self.instance = os.path.join(self.mount, "instances", "coldprof-real-%d" % os.getpid())
        done = subprocess.run(["mount", "-t", "tracefs", "none", self.mount], capture_output=True, text=True)
        if done.returncode:
            self.why = done.stderr.strip()
            return self
        try:
            os.mkdir(self.instance)
            event = "events/filemap/mm_filemap_delete_from_page_cache/"
            self.write("trace_clock", "mono")
            self.write("buffer_size_kb", "8192")
            self.write(event + "filter", " || ".join("i_ino == %d" % i for i in self.inodes))
            self.write(event + "enable", "1")
            self.pipe = os.open(os.path.join(self.instance, "trace_pipe"), os.O_RDONLY)
            self.done = threading.Event()
            self.reader = threading.Thread(target=self.read)
            self.reader.start()
            self.seen = True
        except OSError as e:
            self.why = str(e)
        return self

    def read(self):
        os.set_blocking(self.pipe, False)
        rest = b""
        while True:
            last = self.done.wait(0.2)
            try:
                while True:
                    chunk = os.read(self.pipe, 1 << 16)
                    lines = (rest + chunk).split(b"\n")
                    rest = lines.pop()
                    for line in lines:
                        self.line(line.decode(errors="replace"))
            except BlockingIOError:
                pass
            if last:
                return

    def line(self, text):
        m = LINE.match(text)
        if not m:
            if "LOST" in text:
                self.seen, self.why = False, text.strip()
            return
        ino, offset, size = int(m[6], 16), int(m[7]), 4096 << int(m[8])
        if ino in self.inodes and (int(m[4]), int(m[5])) in self.devices:
            self.taken.append((float(m[3]), self.name_of(m[1].strip(), m[2]), min(size, max(0, self.inodes[ino] - offset))))

    @staticmethod
    def name_of(command, pid):
        """The kernel forgets the names of tasks that it has not switched since; a living one tells it."""
        if command != "<...>":
            return command
        try:
            with open("/proc/%s/comm" % pid) as f:
                return f.read().strip()
        except OSError:
            return "pid " + pid

    def __exit__(self, *error):
        if hasattr(self, "reader"):
            self.write("events/filemap/mm_filemap_delete_from_page_cache/enable", "0")
            self.done.set()
            self.reader.join()
            os.close(self.pipe)
        if os.path.isdir(self.instance):
            os.rmdir(self.instance)
        subprocess.run(["umount", self.mount], capture_output=True)
        os.rmdir(self.mount)

    def by_command(self, after_s):
        """Bytes taken after a moment, by the command that took them."""
        total = {}
        for when, command, size in self.taken:
            if when >= after_s:
                total[command] = total.get(command, 0) + size
        return total
