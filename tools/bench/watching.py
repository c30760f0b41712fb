"""A subscriber of a control socket in a process of its own, as `hilgw watch` is one.

    python3 tools/bench/watching.py SOCKET KIND...
    python3 tools/bench/watching.py --alone WAKES_PER_S CPU_SHARE

It reads all events of these kinds (none: all), and prints once it is ended how many there were, how
often it woke in a second, and the share of a core that it used. --alone: a program that wakes as
often and uses as much, and is connected to nothing.
"""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from select import select

ALL = ()
TABLE = (  # of `hilgw watch` on a terminal
    *("value", "command", "packet", "delivered", "refused", "port", "armed", "mode", "stopped"),
    *("placed", "output", "notice", "left_out"),
)


def subscribed(path: Path, kinds: Sequence[str]) -> socket.socket:
    """Return a connection that gets these events from now on."""
    from hilgw.protocols.gateway.messages import VERSION

    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    request = {"do": "watch", "kinds": list(kinds), "states": True, "version": VERSION}
    connection.sendall(json.dumps(request).encode() + b"\n")
    answer = connection.recv(4096)
    assert b'"ok"' in answer, answer
    return connection


@contextmanager
def watching(
    path: Path | str, kinds: Sequence[str] = ALL, used: list[str] | None = None
) -> Iterator[list[int]]:
    """Run a reader of these events; the list gets their number at the end.

    `used` gets how often it woke in a second, and its share of a core.
    """
    words = [sys.executable, __file__, str(path), *kinds]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    numbers: list[int] = []
    try:
        yield numbers
    finally:
        child.stdin.close()
        count, *usage = child.stdout.readline().split()
        numbers.append(int(count))
        if used is not None:
            used[:] = usage
        child.wait(10)
        child.stdout.close()


def read(connection: socket.socket) -> int:
    """Until standard input ends; the number of events."""
    count = 0
    while sys.stdin not in select([connection, sys.stdin], [], [])[0]:
        data = connection.recv(1 << 16)
        if not data:
            break
        count += data.count(b"\n")
    return count


def load(wakes_per_s: float, share: float) -> int:
    """Wake this often, and use this much of a core, until standard input ends."""
    due, used_s = time.monotonic(), time.process_time()
    while True:
        due += 1 / wakes_per_s
        if select([sys.stdin], [], [], max(due - time.monotonic(), 0))[0]:
            return 0
        used_s += share / wakes_per_s
        while time.process_time() < used_s:
            pass


def main() -> int:
    alone = sys.argv[1] == "--alone"
    connection = None if alone else subscribed(Path(sys.argv[1]), sys.argv[2:])
    print("ready", flush=True)
    begin_s, cpu_s = time.monotonic(), time.process_time()
    woken = getrusage(RUSAGE_SELF).ru_nvcsw
    count = read(connection) if connection else load(*map(float, sys.argv[2:]))
    for_s = time.monotonic() - begin_s
    woken = getrusage(RUSAGE_SELF).ru_nvcsw - woken
    print(count, woken / for_s, (time.process_time() - cpu_s) / for_s, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
