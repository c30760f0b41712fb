#!/usr/bin/env python3
"""Says again and again what a gateway said, on a control socket of its own.

    python3 tools/bench/saying_again.py SOCKET AGAIN [SECONDS]

What a visitor of `hilgw web` costs the machine, but not the gateway: the answers to `identify`,
`status` and `watch` of the gateway at SOCKET, and its events of some seconds, as `hilgw web` asks
for them, each as long after the others as it was, and with a time of now. Prints `ready`; until
standard input ends.
"""

import json
import re
import socket
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 2.0
NS_PER_S = 1_000_000_000
TIME = re.compile(rb'"mono_ns":\s*(\d+)')
TOGETHER_NS = NS_PER_S // 100  # about as the gateway sends them
Events = list[tuple[int, bytes]]  # each with its time since the first


def ask(path: str, request: dict[str, object]) -> tuple[socket.socket, bytes]:
    """Return a connection, and the line that answers the request there."""
    from hilgw.protocols.gateway.messages import VERSION

    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(json.dumps({**request, "version": VERSION}).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):  # nothing follows at once
        answer += connection.recv(1 << 16)
    return connection, answer


def heard(path: str, seconds: float) -> tuple[bytes, Events]:
    """Return the answer to `watch`, and the events that follow for this long."""
    from hilgw.web.sources import ENOUGH, KINDS

    connection, answer = ask(path, {"do": "watch", "kinds": sorted(KINDS), "per_second": ENOUGH})
    data, end_s = answer, time.monotonic() + seconds
    while time.monotonic() < end_s:
        data += connection.recv(1 << 16)
    first, *lines = data.split(b"\n")[:-1]
    timed = [(int(found[1]), line) for line in lines if (found := TIME.search(line))]
    return first + b"\n", [(at - timed[0][0], line + b"\n") for at, line in timed]


def say(connection: socket.socket, events: Events) -> None:
    """Send all of them, again and again."""
    length = events[-1][0] + TOGETHER_NS
    begin, number = time.monotonic_ns(), 0
    while True:
        now, waiting = time.monotonic_ns(), bytearray()
        while True:
            rounds, index = divmod(number, len(events))
            due = begin + rounds * length + events[index][0]
            if due > now:
                break
            waiting += TIME.sub(b'"mono_ns":%d' % due, events[index][1])
            number += 1
        if waiting:
            connection.sendall(waiting)
        time.sleep(max(due - time.monotonic_ns(), TOGETHER_NS) / NS_PER_S)


def serve(connection: socket.socket, answers: dict[str, bytes], events: Events) -> None:
    """Serve one visitor."""
    try:
        for line in connection.makefile("rb"):
            request = json.loads(line)["do"]
            now = b'"mono_ns":%d' % time.monotonic_ns()
            connection.sendall(TIME.sub(now, answers[request]))
            if request == "watch":
                say(connection, events)
    except OSError:
        pass  # it left


def accept(listening: socket.socket, answers: dict[str, bytes], events: Events) -> None:
    while True:
        visitor, _ = listening.accept()
        threading.Thread(target=serve, args=(visitor, answers, events), daemon=True).start()


def main(path: str, again: str, seconds: str = str(SECONDS)) -> int:
    watch, events = heard(path, float(seconds))
    answers = {what: ask(path, {"do": what})[1] for what in ("identify", "status")}
    answers["watch"] = watch
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(again)
    listening.listen()
    threading.Thread(target=accept, args=(listening, answers, events), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(*sys.argv[1:]))
