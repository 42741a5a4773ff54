# SPDX-License-Identifier: Apache-2.0
"""
Job control: jobs.py SHELL COMMAND GUEST...: an interactive SHELL on a terminal runs COMMAND with GUEST behind it
(job_guest.py), which is typed at, interrupted, stopped, continued and resized; then COMMAND with the shell itself.
Prints a line for each thing that happened, in order; status 0.
"""
import fcntl, os, pty, re, signal, struct, sys, termios

shell, command, guest = sys.argv[1], sys.argv[2], " ".join(sys.argv[3:])
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(PS1="ready> ", TERM="dumb")
    os.environ.pop("ENV", None)
    os.execvp(shell, [shell, "--norc", "--noprofile", "-i"])
seen = ""

def until(pattern):
    """Read the terminal until the pattern is there; what comes before it and itself are done with."""
    global seen
    while True:
        found = re.search(pattern, seen)
        if found:
            text, seen = seen[: found.end()], seen[found.end():]
            return found, text
        try:
            seen += os.read(fd, 4096).decode(errors="replace").replace("\r", "")
        except OSError:
            sys.exit("the terminal closed; last seen: " + seen[-300:])

def type_in(text):
    os.write(fd, text.encode())

def state(of):
    with open("/proc/%d/stat" % of) as f:
        return f.read().rpartition(")")[2].split()[0]

until("ready> ")
type_in("%s %s\n" % (command, guest))
found, _ = until(r"up (\d+) of (\d+)\n")
inner, outer = int(found.group(1)), int(found.group(2))
type_in("hello\n")
until("got hello\n")
print("a line is read")
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 41, 111, 0, 0))
until("winch 41x111\n")
print("the size reaches it")
type_in("\x03")
type_in("after\n")
_, text = until("got after\n")
print("interrupts:", text.count("interrupt\n"))
type_in("\x1a")
until("(?i)stopped.*\n")
while state(inner) != "T" or (outer != pid and state(outer) != "T"):
    os.sched_yield()
print("both stopped")
until("ready> ")
type_in("echo mine again\n")
until("\nmine again\n")
type_in("fg\n")
_, text = until("continued\n")
type_in("back\n")
until("got back\n")
print("continued, and reads")
type_in("end\n")
until("got end\n")
until("ready> ")
type_in("echo ended $?\n")
found, _ = until(r"ended (\d+)\n")
print("status", found.group(1))

# A guest that takes the terminal for itself: a shell with jobs of its own.
until("ready> ")
type_in("%s %s --norc --noprofile -i\n" % (command, shell))
until("ready> ")
type_in(guest + "\n")
until("up .*\n")
type_in("a line\n")
until("got a line\n")
type_in("\x1a")
until("(?i)stopped.*\n")
until("ready> ")
type_in("fg\n")
until("continued\n")
type_in("another\n")
until("got another\n")
type_in("\x04")
until("ready> ")
type_in("exit 9\n")
until("ready> ")
type_in("echo left $?\n")
found, _ = until(r"left (\d+)\n")
print("a shell inside:", found.group(1))
until("ready> ")
type_in("echo still mine\n")
until("\nstill mine\n")
type_in("exit\n")
os.waitpid(pid, 0)
