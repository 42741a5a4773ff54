# SPDX-License-Identifier: Apache-2.0
"""A guest at a terminal: tells each line and signal that reaches it, until a line says "end"."""
import fcntl, os, signal, struct, sys, termios

def say(text):
    os.write(1, (text + "\n").encode())

def heard(number, frame):
    if number == signal.SIGWINCH:
        rows, columns = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))[:2]
        say("winch %dx%d" % (rows, columns))
    else:
        say({signal.SIGINT: "interrupt", signal.SIGCONT: "continued"}[number])

for number in signal.SIGWINCH, signal.SIGINT, signal.SIGCONT:
    signal.signal(number, heard)
say("up %d of %d" % (os.getpid(), os.getppid()))
for line in sys.stdin:
    say("got " + line.strip())
    if line.strip() == "end":
        sys.exit(6)
