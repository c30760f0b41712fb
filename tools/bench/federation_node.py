#!/usr/bin/env python3
"""A gateway of a federation that sends numbered packets and checks those of the others.

    python3 tools/bench/federation_node.py '{"name": "a", "listen": [...], "rate": 200}'

It prints a JSON line for each change of another gateway, with the monotonic time, and answers the
words `counts`, `pause` and `go` on its stdin. version: that it speaks. It ends with its stdin, as
with Ctrl-C; exit code 4: with an error, on stderr. See federation_lab.py.
"""

import asyncio
import json
import os
import sys
import time
from collections import Counter
from typing import Any

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.observer import Observer
from hilgw.errors import HilgwError
from hilgw.federation import wire
from hilgw.medium.listeners import Listener
from hilgw.medium.packet import Copy

CHANNEL = 5
TURN_S = 0.005
FILE = """
version: 1
federation: {federation}
robots:
  sender: {{devices: {{tx: {{node: Emitter, type: radio, channel: 5, bufferSize: -1}}}}}}
"""


class Shows(Observer):
    """Prints what becomes of the other gateways."""

    def state(self, name: str, state: Any, reason: str) -> None:
        if name.startswith("gateway@"):
            show(gateway=name[8:], state=state.value, reason=reason, ns=time.monotonic_ns())


def show(**line: Any) -> None:
    print(json.dumps(line), flush=True)


class Node:
    """rate: packets/s. size: of each, at least."""

    def __init__(self, gateway: Any, name: str, rate: float, size: int) -> None:
        self.gateway, self.name, self.rate, self.size = gateway, name, rate, size
        self.sent = self.doubled = self.disordered = 0
        self.received: Counter[str] = Counter()
        self.is_sending = True
        self._last: dict[str, int] = {}
        self._count = gateway.ledger.station("rx")
        channels = frozenset({CHANNEL})
        listener = Listener(name="rx", type="radio", deliver=self._take, channels=channels)
        gateway.medium.attach(listener)

    def _take(self, copy: Copy) -> None:
        self._count.deliver()
        if not copy.packet.gateway:
            return
        run, _, number = copy.packet.data.decode().strip().rpartition(":")
        last = self._last.get(run, -1)
        self.doubled += int(number) == last
        self.disordered += int(number) < last
        self._last[run] = int(number)
        self.received[copy.packet.gateway] += 1

    async def send(self) -> None:
        """Send without end, at the rate; nothing is made up for."""
        due = 0.0
        while True:
            begin = time.monotonic()
            await asyncio.sleep(TURN_S)
            due = min(due + self.rate * (time.monotonic() - begin), self.rate / 10)
            while self.is_sending and due >= 1:
                due -= 1
                data = f"{self.name}{os.getpid()}:{self.sent}".encode()
                self.gateway.send("sender.tx", data.ljust(self.size), None)
                self.sent += 1

    def counts(self) -> dict[str, Any]:
        federation = self.gateway.federation
        return {
            "sent": self.sent,
            "doubled": self.doubled,
            "disordered": self.disordered,
            "received": dict(self.received),
            "violations": self.gateway.ledger.violations(),
            "stations": self.gateway.ledger.as_dict()["stations"],
            "gateways": federation.status()["gateways"],
            "summary": federation.summary(),
        }


async def serve(settings: dict[str, Any]) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    rate, size = settings.pop("rate", 0), settings.pop("size", 1)
    wire.VERSION = settings.pop("version", wire.VERSION)
    text = FILE.format(federation=json.dumps(settings))
    gateway = build(load_text(text, "node").config, loop, Shows())
    node = Node(gateway, settings["name"], rate, size)

    def line() -> None:
        word = sys.stdin.readline().strip()
        if not word:
            loop.remove_reader(sys.stdin.fileno())
            stop.set()
        elif word == "counts":
            show(counts=node.counts())
        else:
            node.is_sending = word == "go"
            show(done=word)

    loop.add_reader(sys.stdin.fileno(), line)
    sending = asyncio.create_task(node.send())
    running = asyncio.create_task(gateway.run(stop))
    await asyncio.wait([sending, running], return_when=asyncio.FIRST_COMPLETED)
    sending.cancel()
    await running
    show(counts=node.counts())


if __name__ == "__main__":
    try:
        asyncio.run(serve(json.loads(sys.argv[1])))
    except HilgwError as error:
        sys.exit(print(f"{error}", file=sys.stderr) or error.exit_code)
