#!/usr/bin/env python3
"""The processes of federation.py: gateways, and programs on zenoh-python alone.

Each answers the JSON lines of its stdin on stdout; it ends with its stdin.
"""

import asyncio
import gc
import json
import mmap
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

CHANNEL = 12
TOGETHER = 10  # packets that one turn of the event loop sends
WINDOW = 4096  # packets that are sent and have not been received, at most
POLL_S = 0.001
KEY = "bench/packet"
ATTACHMENT = 96  # bytes, as a gateway sends with a packet
_TIME = struct.Struct("<q")


class Progress:
    """A number that one process writes and another one reads."""

    def __init__(self, path: str) -> None:
        with Path(path).open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _TIME.size)

    def set(self, number: int) -> None:
        _TIME.pack_into(self._map, 0, number)

    def get(self) -> int:
        return int(_TIME.unpack_from(self._map)[0])


class End:
    """Sends and receives packets that begin with the time they were sent."""

    def __init__(self, send: Callable[[bytes], object]) -> None:
        from hilgw.engine.event_loop.scheduler import Timer

        self.send = send
        self.late_us: list[float] = []
        self.is_sending = False
        self.sent = 0
        self.took_s = 0.0
        self._timer = Timer(asyncio.get_running_loop())

    def received(self, data: bytes) -> None:
        self.late_us.append((time.monotonic_ns() - _TIME.unpack_from(data)[0]) / 1e3)

    def paced(self, rate: float, size: int, packets: int, way: str = "send") -> None:
        """Send this many packets, one at a time, at this rate; the method `way` sends them."""
        self.is_sending, padding, send = True, b"x" * (size - _TIME.size), getattr(self, way)
        step_ns = round(1e9 / rate)

        def turn(due: int, left: int) -> None:
            send(_TIME.pack(time.monotonic_ns()) + padding)
            if left > 1:
                self._timer.call_at(due + step_ns, lambda: turn(due + step_ns, left - 1))
            else:
                self.is_sending = False

        begin = self._timer.now() + step_ns
        self._timer.call_at(begin, lambda: turn(begin, packets))

    def flood(self, seconds: float, size: int, progress: Progress) -> None:
        """Send as fast as the receiver takes it."""
        self.is_sending, self.sent = True, 0
        loop, first, data = asyncio.get_running_loop(), progress.get(), b"x" * size
        begin = loop.time()
        end = begin + seconds

        def turn() -> None:
            if self.sent - progress.get() + first < WINDOW:
                for _ in range(TOGETHER):
                    self.send(data)
                self.sent += TOGETHER
                again: Any = loop.call_soon
            else:
                again = wait
            if loop.time() < end:
                again(turn)
            else:
                settle()

        def wait(then: Callable[[], None]) -> None:
            loop.call_later(POLL_S, then)

        def settle() -> None:
            if progress.get() - first >= self.sent or loop.time() > end + 5:
                self.took_s = loop.time() - begin
                self.is_sending = False
            else:
                wait(settle)

        turn()

    def show(self, is_shown: bool) -> None:
        raise NotImplementedError

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        match asked.pop("do"):
            case "paced":
                self.paced(**asked)
            case "flood":
                self.flood(asked["seconds"], asked["size"], Progress(asked["progress"]))
            case "show":
                self.show(**asked)
            case "take":
                late, self.late_us = self.late_us, []
                return {"late_us": late, "sending": self.is_sending, **self.counted()}
        return {}

    def counted(self) -> dict[str, Any]:
        return {"sent": self.sent, "took_s": self.took_s, "cpu_s": time.process_time()}


async def answer_all(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Until stdin ends."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def line() -> None:
        text = sys.stdin.readline()
        if text:
            print(json.dumps(answer(json.loads(text))), flush=True)
        else:
            over.set()

    loop.add_reader(sys.stdin.fileno(), line)
    print("ready", flush=True)
    await over.wait()


# --- gateways -------------------------------------------------------------------------------------


class GatewayEnd(End):
    """The gateway of a configuration.

    Packets leave through the Emitter tx of its robot `sender`, where it has one; they are received
    by a listener of its own, and by the Receiver of `rover`.
    """

    def __init__(self, gateway: Any, settings: dict[str, Any]) -> None:
        from hilgw.medium.listeners import Listener
        from hilgw.medium.packet import Packet

        super().__init__(lambda data: gateway.send("sender.tx", data, None))
        self.gateway = gateway
        self._packet = Packet
        self._progress: Progress | None = None
        self._is_shown = False
        if settings.get("listens"):
            count = gateway.ledger.station("bench")

            def deliver(copy: Any) -> None:
                self.received(copy.packet.data)
                count.deliver()

            channels = frozenset({CHANNEL})
            gateway.medium.attach(
                Listener(name="bench", type="radio", deliver=deliver, channels=channels)
            )
        if settings.get("progress"):
            self._progress = Progress(settings["progress"])

    def transmit(self, data: bytes) -> None:
        """Onto the medium at once, as from the Emitter."""
        now = time.monotonic_ns()
        packet = self._packet(data, CHANNEL, "radio", "sender.tx", "sender", sent_ns=now)
        self.gateway.medium.transmit(packet, mounted_on="sender")

    def show(self, is_shown: bool) -> None:
        """Show its progress from now on: by those that are measured, as it wakes them often."""
        self._is_shown = is_shown
        if is_shown:
            self._show()

    def _show(self) -> None:
        assert self._progress is not None
        self._progress.set(self.gateway.ledger.station("rover.rx").delivered)
        if self._is_shown:
            asyncio.get_running_loop().call_later(POLL_S, self._show)

    def counted(self) -> dict[str, Any]:
        federation = self.gateway.federation
        status = {} if federation is None else federation.status()["gateways"]
        ups = [each for each in status.values() if each["state"] == "up"]
        return {
            **super().counted(),
            "received": self.gateway.ledger.station("rover.rx").delivered,
            "losses": {kind: each for kind, each in self.gateway.ledger.losses().items() if each},
            "violations": self.gateway.ledger.violations(),
            "up": len(ups),
            "listeners": sum(1 for each in ups if each["listeners"]),
            "unsettled": sum(each["unsettled"] for each in status.values()),
            "missed": sum(each["missed"] for each in status.values()),
            "late": sum(each["late"] for each in status.values()),
            "dropped": [each["dropped"] for each in status.values()],
            "links": {name: each["sent"] for name, each in status.items() if each["sent"]},
        }


async def serve(settings: dict[str, Any]) -> None:
    """Run gateways in one event loop; the first one answers."""
    from hilgw.assemble.gateway import build
    from hilgw.config.load import load_text
    from hilgw.engine.observer import Observer

    loop, stop, ends = asyncio.get_running_loop(), asyncio.Event(), []
    running = []
    for text in settings["configurations"]:
        gateway = build(load_text(text, "bench").config, loop, Observer())
        ends.append(GatewayEnd(gateway, settings))
        running.append(asyncio.create_task(gateway.run(stop)))
    gc.collect()
    gc.freeze()  # as `hilgw run` does
    await answer_all(ends[0].answer)
    stop.set()
    await asyncio.gather(*running)


# --- zenoh-python alone ---------------------------------------------------------------------------


async def plain(settings: dict[str, Any]) -> None:
    """Call its publisher in the event loop; a callback hands over what arrives to it."""
    import zenoh

    config = zenoh.Config()
    for key, value in settings["zenoh"].items():
        config.insert_json5(key, json.dumps(value))
    session, loop = zenoh.open(config), asyncio.get_running_loop()
    if settings.get("listens"):
        end = End(print)

        def take(sample: zenoh.Sample) -> None:
            assert sample.attachment is not None
            sample.attachment.to_bytes()
            loop.call_soon_threadsafe(end.received, sample.payload.to_bytes())

        session.declare_subscriber(KEY, take)
    else:
        publisher = session.declare_publisher(KEY, express=settings["express"])
        end = End(partial(publisher.put, attachment=bytes(ATTACHMENT)))
        if settings.get("thread"):
            leaving: SimpleQueue[bytes] = SimpleQueue()

            def send_all() -> None:
                while True:
                    publisher.put(leaving.get(), attachment=bytes(ATTACHMENT))

            threading.Thread(target=send_all, daemon=True).start()
            end = End(leaving.put)
    await answer_all(end.answer)
    session.close()


def main() -> int:
    from hilgw.engine.event_loop.direct_loop import DirectLoop

    settings = json.loads(sys.argv[1])
    is_plain = "zenoh" in settings
    factory = asyncio.SelectorEventLoop if is_plain else DirectLoop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(plain(settings) if is_plain else serve(settings))
    sys.stdout.flush()
    os._exit(0)  # threads of Zenoh do not matter


if __name__ == "__main__":
    sys.exit(main())
