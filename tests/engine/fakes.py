"""A session that echoes, a station around it, and whole gateways in the event loop of a test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hilgw.adapters import base
from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer, PoseEvent
from hilgw.engine.reporting.statistics import StationStatistics
from hilgw.engine.station.line import ReceiveFilter
from hilgw.engine.station.station import Station
from hilgw.engine.supervisor import PortListener
from hilgw.errors import HilgwError
from hilgw.medium.airs import Airs
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Packet
from hilgw.medium.pose import Mount
from hilgw.reasons import PacketRefused
from hilgw.testing.sim import Clock, FakeTransport


class EchoSession:
    """Ready at once; a frame is the payload; tokens only when asked for.

    b"bad" cannot be sent. Received bytes are one packet each.
    """

    def __init__(self, *, tokens: bool = False, channel: int = 5) -> None:
        self.channels: frozenset[int] | None = frozenset({channel})
        self.tokens = tokens
        self.channel = channel
        self.sent = 0
        self.open_tokens: list[int] = []
        self.lost: PacketRefused | None = None  # of what is sent without a token
        self.gives_up_at: int | None = None  # waits until then for the answers

    def open(self, now: int) -> list[base.Event]:
        return [base.Ready("fake")]

    def close(self) -> list[base.Event]:
        lost: list[base.Event] = [base.Refused(token, "down") for token in self.open_tokens]
        self.open_tokens.clear()
        return lost

    def receive(self, data: bytes, now: int) -> list[base.Event]:
        if data.startswith(b"ack"):
            return [base.Delivered(self.open_tokens.pop(0))]
        if data.startswith(b"nak"):
            return [base.Refused(self.open_tokens.pop(0), "no_ack")]
        return [base.Received(data, self.channel)]

    def send(self, packet: Packet, now: int) -> base.Transmission | base.CannotSend | None:
        if packet.data == b"bad":
            return base.CannotSend("too_long", "it is bad")
        self.sent += 1
        if not self.tokens:
            return base.Transmission(packet.data, lost=self.lost)
        self.open_tokens.append(self.sent)
        return base.Transmission(packet.data, self.sent)

    def next_deadline(self) -> int | None:
        return self.gives_up_at

    def expire(self, now: int) -> list[base.Event]:
        if self.gives_up_at is None or now < self.gives_up_at:
            return []
        self.gives_up_at = None
        lost: list[base.Event] = [base.Refused(token, "no_status") for token in self.open_tokens]
        self.open_tokens.clear()
        return lost

    def describe(self, frame: bytes) -> str:
        return "frame"


class StationBench:
    """A medium, a ledger and one station around an EchoSession."""

    def __init__(
        self,
        *,
        tokens: bool = False,
        window: int = 2,
        bufferSize: int = 100,
        baudRate: int = 9600,
        scheduler: Any = None,
    ) -> None:
        self.scheduler = Clock() if scheduler is None else scheduler
        self.ledger = Ledger()
        self.medium = Medium(self.ledger)
        self.airs = Airs()
        self.session = EchoSession(tokens=tokens)
        self.transport = FakeTransport()
        common = base.StationSettings(port="fake", bufferSize=bufferSize, baudRate=baudRate)
        statistics = StationStatistics("xb", self.ledger.station("xb"), Observer())
        receive_filter = ReceiveFilter(
            "radio", "lab", self.airs, common, statistics, Mount("xb"), self.transmit
        )
        self.station = Station(
            self.session, common, window, receive_filter, statistics, self.scheduler
        )
        self.medium.attach(self.station.listener)
        self.count = self.ledger.station("xb")
        self._emitted = self.ledger.emitter("rover.tx")

    def transmit(self, packet: Packet, mount: Mount) -> None:
        self.medium.transmit(packet)

    def send(self, data: bytes, channel: int = 5) -> None:
        self._emitted.offer(None)
        self._emitted.depart()
        now = self.scheduler.now()
        self.medium.transmit(Packet(data, channel, "radio", "rover.tx", "rover", sent_ns=now))

    def attach(self) -> None:
        self.station.attach(self.transport)

    def balanced(self) -> bool:
        return self.ledger.violations() == []


class Failures(PortListener):
    """Keep the failures of a session."""

    def __init__(self) -> None:
        self.errors: list[HilgwError] = []

    def on_failed(self, error: HilgwError) -> None:
        self.errors.append(error)


class Poses(Observer):
    """Keep the events of poses."""

    def __init__(self) -> None:
        self.events: list[PoseEvent] = []

    def pose_change(self, event: PoseEvent) -> None:
        self.events.append(event)


def is_gone(pid: int) -> bool:
    """Return whether it has ended; one that its parent has not reaped yet counts."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def built(config: Any, clock: Any, *observers: Observer) -> Gateway:
    """A gateway on this clock, which is not run."""

    async def main() -> Gateway:
        return build(config, asyncio.get_running_loop(), *observers, timer=clock)

    return asyncio.run(main())


@asynccontextmanager
async def served(
    folder: Path, config: str, *observers: Observer
) -> AsyncIterator[tuple[Gateway, ControlServer]]:
    """A gateway that is not run, and its control socket: the file `control` of the folder."""
    gateway = build(load_text(config, "f").config, asyncio.get_running_loop(), *observers)
    server = ControlServer(gateway, str(folder / "control"))
    await server.start()
    try:
        yield gateway, server
    finally:
        await server.close()
        gateway.close()


@asynccontextmanager
async def running(config: Any, *observers: Observer, **more: Any) -> AsyncIterator[Gateway]:
    """A gateway that runs; it ends in order behind the block."""
    gateway = build(config, asyncio.get_running_loop(), *observers, **more)
    stop = asyncio.Event()
    task = asyncio.create_task(gateway.run(stop))
    try:
        yield gateway
    finally:
        stop.set()
        await task
        gateway.close()
