# SPDX-License-Identifier: Apache-2.0
# Small guests that do what a reported start did: guest.py WHAT FILE...
import http.server
import mmap
import multiprocessing
import os
import shutil
import subprocess
import sys
import time


def read(path):
    with open(path, "rb", buffering=0) as f:
        while f.read(1 << 20):
            pass


def storage_bytes():
    """What storage gave this thread by the kernel's own count."""
    with open("/proc/thread-self/io") as f:
        return int(dict(line.split(": ") for line in f)["read_bytes"])


def read_and_tell(told, path):
    """Page cache can be taken back at any time: only the kernel knows where a read came from."""
    before = storage_bytes()
    read(path)
    with open(told, "w") as f:
        f.write("%d\n" % (storage_bytes() - before))


def touch(path, advice=None):
    with open(path, "rb") as f:
        m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    if advice is not None:
        m.madvise(advice)
    return sum(m[i] for i in range(0, len(m), 4096))


def ranks(paths):
    pids = []
    for rank in range(4):
        pid = os.fork()
        if not pid:
            for _ in range(2 if rank == 2 else 1):
                for path in paths:
                    read(path)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)


def bus_error(path):
    cut = path + ".cut.safetensors"
    shutil.copy(path, cut)
    done, tell = os.pipe()
    pid = os.fork()
    if not pid:
        with open(cut, "rb") as f:
            m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
        half = sum(m[i] for i in range(0, len(m) // 2, 4096))
        os.write(tell, b"%d" % (half % 10))
        while os.path.getsize(cut):
            pass
        sum(m[i] for i in range(0, len(m), 4096))
        os._exit(0)
    os.read(done, 1)
    os.truncate(cut, 0)
    os.waitpid(pid, 0)
    late = time.process_time() + 0.3
    while time.process_time() < late:
        pass
    sys.exit("launcher: health check timed out")


def compilers(path, folder):
    read(path)
    run = [subprocess.Popen([folder + "/cc1plus", "die" if i == 2 else "k.cu"]) for i in range(6)]
    for p in run:
        p.wait()
    sys.exit(1)


def cache(folder, n):
    names = [os.path.join(folder, "%d.cubin" % i) for i in range(int(n))]
    if not os.path.isdir(folder):
        os.mkdir(folder)
        for name in names:
            with open(name, "wb", buffering=0) as f:
                f.write(b"x" * 8192)
    for name in names:
        read(name)


def visit(folder, n):
    names = [os.path.join(folder, name) for name in os.listdir(folder)]
    for i in range(int(n)):
        with open(names[i % len(names)], "rb", buffering=0) as f:
            f.read(8192)


def some(told, go, n, paths):
    """Read the first n files, tell, and go on when told."""
    for i, path in enumerate(paths):
        if i == int(n):
            with open(told, "w") as f:
                f.write("%d\n" % os.getpid())
            with open(go) as f:
                f.read()
        read(path)


def deferred(told, path):
    """A server that is healthy at once and loads at the first request for work."""

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def do_POST(self):
            touch(path)
            self.send_response(200)
            self.end_headers()
            os.write(1, b"first answer\n")

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Server)
    os.write(1, b"Uvicorn running on http://127.0.0.1:%d\n" % server.server_port)
    with open(told, "w") as f:
        f.write("%d\n" % server.server_port)
    server.serve_forever()


def workers(how, paths):
    context = multiprocessing.get_context(how)
    run = [context.Process(target=read, args=(path,)) for path in paths]
    for p in run:
        p.start()
    for p in run:
        p.join()


if __name__ == "__main__":
    what, rest = sys.argv[1], sys.argv[2:]
    if what == "read":
        for each in rest:
            read(each)
    elif what == "tell":
        read_and_tell(*rest)
    elif what == "map":
        touch(rest[0])
    elif what == "random":
        touch(rest[0], mmap.MADV_RANDOM)
    elif what == "ranks":
        ranks(rest)
    elif what == "bus_error":
        bus_error(rest[0])
    elif what == "compilers":
        compilers(*rest)
    elif what == "some":
        some(rest[0], rest[1], rest[2], rest[3:])
    elif what == "deferred":
        deferred(*rest)
    elif what == "cache":
        cache(*rest)
    elif what == "visit":
        visit(*rest)
    elif what in ("fork", "spawn", "forkserver"):
        workers(what, rest)
