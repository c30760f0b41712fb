"""The clients of a bridge and its port on a fake clock, with streams of the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hilgw.bridge.clients import Clients
from hilgw.bridge.flow import Flow
from hilgw.bridge.port import BridgePort
from hilgw.errors import PortError
from hilgw.transports.base import LineSettings, LostHandler, ReadHandler, TransportDefaults
from tests.engine.fakes import FakeScheduler


class FakeStream(TransportDefaults):
    """One end of bytes: a TCP client with what its kernel holds, or the device's port."""

    def __init__(self) -> None:
        self.name = "fake"
        self.notices: list[str] = []
        self.unsent = self.unread = 0
        self.on_drained: Callable[[], None] | None = None
        self.on_half_close: Callable[[], None] | None = None
        self.on_peer_ended: Callable[[], None] | None = None
        self.closed = self.paused = self.ended = False
        self.stalled = False
        self.written = bytearray()
        self._rest = bytearray()
        self._kernel = bytearray()  # received and not read
        self._on_data: ReadHandler = lambda data: None
        self._on_lost: LostHandler = lambda error: None

    @property
    def pending(self) -> int:
        return len(self._rest)

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        self._on_data, self._on_lost = on_data, on_lost

    def write(self, data: bytes) -> None:
        (self._rest if self.stalled else self.written).extend(data)

    def accept(self, size: int) -> None:
        """The other end accepts so many of the waiting bytes."""
        self.written += self._rest[:size]
        del self._rest[:size]
        if not self._rest and self.on_drained is not None:
            self.on_drained()

    def take_unsent(self) -> bytes:
        rest, self._rest = bytes(self._rest), bytearray()
        return rest

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False
        self._read()

    def discard_received(self) -> int:
        size = len(self._kernel)
        self._kernel.clear()
        return size

    def close(self) -> None:
        if not self.closed:
            self._end_here()

    async def wait_closed(self) -> None: ...

    # --- the other end ----------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        self._kernel += data
        self._read()

    def end(self) -> None:
        self.ended = True
        if self.paused and self.on_peer_ended is not None:
            self.on_peer_ended()
        self._read()

    def _end_here(self) -> None:
        self.closed = True
        self.unsent, self.unread = len(self.take_unsent()), self.discard_received()

    def reset(self) -> None:
        self._end_here()
        self._on_lost(PortError("reset by the peer", reason=PortError.LOST))

    def _read(self) -> None:
        if self.paused or self.closed:
            return
        data = bytes(self._kernel)
        self._kernel.clear()
        if data:
            self._on_data(data)
        if self.ended and not self.paused and not self.closed and self.on_half_close is not None:
            self.on_half_close()


class Bench:
    """The clients of a bridge and its port, on a clock of the test."""

    def __init__(self, rule: Any = "first", *, pace: bool = False, **more: Any) -> None:
        self.scheduler = FakeScheduler()
        self.to_port, self.from_port = Flow(), Flow()
        self.said: list[str] = []
        self.warned: list[str] = []
        line = LineSettings(115200)
        self.port = BridgePort(
            "port",
            line,
            self.to_port,
            lambda: self.clients.pause(),
            lambda: self.clients.resume(),
        )
        if pace:
            self.port.pace(self.scheduler, line)
        self.clients = Clients(
            self.scheduler,
            self.port,
            self.to_port,
            self.from_port,
            rule=rule,
            new_reframer=None,
            inform=self.said.append,
            warn=self.warned.append,
            **more,
        )
        self.device = FakeStream()
        self.port.attach(self.device)
        self._number = 1000

    def client(self, host: str = "127.0.0.1") -> FakeStream:
        stream = FakeStream()
        self._number += 1
        self.clients.add(stream, f"{host}:{self._number}")
        return stream

    def wait(self, ns: int) -> None:
        self.scheduler.run_until(self.scheduler.now() + ns)

    @property
    def adds_up(self) -> bool:
        flow = self.to_port
        return flow.received_bytes == flow.sent_bytes + sum(flow.dropped.values())
