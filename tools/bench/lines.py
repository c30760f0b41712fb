#!/usr/bin/env python3
"""Cost of a line without an observer, with one, and after it: write and read of 40 bytes.

    python3 tools/bench/lines.py [--rounds 200]

Over a socket pair in one process, the ways in turns; the fastest round of each counts. Another tree
in PYTHONPATH that has no `Lines` shows the first row alone.
"""

import argparse
import asyncio
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from hilgw.transports.stream import FdStream

DATA = b"0123456789" * 4
TIMES = 500


async def bench(rounds: int) -> dict[str, float]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    loop = asyncio.get_running_loop()
    stream, received = FdStream(loop, ours.fileno(), "line"), list[bytes]()
    stream.start(received.append, lambda error: None)
    ways: dict[str, Any] = {"unobserved": None}
    lines = _lines(stream)
    if lines is not None:
        ways |= {"observed": lambda *event: None, "observed before": None}
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for way, on_bytes in ways.items():
            if lines is not None:
                lines.observe(on_bytes)
            begin = time.process_time_ns()
            for _ in range(TIMES):
                stream.write(DATA)
                os.read(theirs.fileno(), 100)
                os.write(theirs.fileno(), DATA)
                stream._readable()
            await asyncio.sleep(0)
            best[way] = min(best[way], (time.process_time_ns() - begin) / TIMES)
            received.clear()
    stream.close()
    theirs.close()
    return best


def _lines(stream: FdStream) -> Any:
    try:
        from hilgw.engine.lines import Lines
        from hilgw.engine.observer import Observer
    except ImportError:
        return None
    lines = Lines(Observer(), time.monotonic_ns)
    lines.opened("line", stream)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    for way, ns in asyncio.run(bench(parser.parse_args().rounds)).items():
        print(f"{way:<16} {ns:8.0f} ns for a write and a read")
    return 0


if __name__ == "__main__":
    sys.exit(main())
