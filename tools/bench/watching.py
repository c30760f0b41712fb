"""A subscriber of a control socket in a process of its own, as `hilgw watch` is one.

    python3 tools/bench/watching.py SOCKET KIND...

It reads all events of these kinds (none: all), and prints how many there were once it is ended.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ALL = ()
TABLE = (  # of `hilgw watch` on a terminal
    *("value", "command", "packet", "delivered", "refused", "port", "armed", "mode", "stopped"),
    *("placed", "output", "notice", "left_out"),
)


def subscribed(path: Path, kinds: Sequence[str]) -> socket.socket:
    """A connection that gets these events from now on."""
    from hilgw.protocols.gateway.messages import VERSION

    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    request = {"do": "watch", "kinds": list(kinds), "states": True, "version": VERSION}
    connection.sendall(json.dumps(request).encode() + b"\n")
    answer = connection.recv(4096)
    assert b'"ok"' in answer, answer
    return connection


@contextmanager
def watching(path: Path, kinds: Sequence[str] = ALL) -> Iterator[list[int]]:
    """A reader of these events; the list gets their number at the end."""
    words = [sys.executable, __file__, str(path), *kinds]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    found: list[int] = []
    try:
        yield found
    finally:
        child.stdin.close()
        found.append(int(child.stdout.readline()))
        child.wait(10)
        child.stdout.close()


def main() -> int:
    from select import select

    connection, count = subscribed(Path(sys.argv[1]), sys.argv[2:]), 0
    print("ready", flush=True)
    while sys.stdin not in select([connection, sys.stdin], [], [])[0]:
        data = connection.recv(1 << 16)
        if not data:
            break
        count += data.count(b"\n")
    print(count, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
