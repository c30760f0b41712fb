"""A serial line in simulated time: the hardware's end and, while open, the client's end."""

from __future__ import annotations

from collections.abc import Callable

from hilgw.errors import PortError
from hilgw.transports.base import (
    LineSettings,
    LostHandler,
    ReadHandler,
    Scheduler,
    SwitchModemLine,
    Transport,
)
from hilgw.transports.virtual.pacing import PacedLine

__tracebackhide__ = True  # a failure is shown at the rule, not in here


class SimulatedPort:
    """A `hilgw.transports.base.DeviceSide` at the rate of its line; open() returns the other end.

    cut: maps the bytes from the hardware to the bytes that get through. written: all bytes from
    the client.
    """

    def __init__(self, scheduler: Scheduler, line: LineSettings) -> None:
        self.path = "simulated"
        self.plugged = True
        self.on_modem_line: SwitchModemLine | None = None
        self.cut: Callable[[bytes], bytes] | None = None
        self.written = bytearray()
        self._line = line
        self._on_data: Callable[[bytes, int | None], None] | None = None
        self._client: SimulatedTransport | None = None
        self._to_client = PacedLine(
            scheduler, self._give, baud_rate=line.baudRate, bits_per_byte=line.byteSize
        )
        self._to_device = PacedLine(
            scheduler, self._take, baud_rate=line.baudRate, bits_per_byte=line.byteSize
        )

    # --- the hardware's end -----------------------------------------------------------------------

    def start(self, on_data: Callable[[bytes, int | None], None]) -> None:
        self._on_data = on_data

    def set_line(self, baud_rate: int, bits_per_byte: int) -> None:
        self._to_client.set_line(baud_rate, bits_per_byte)

    def write(self, data: bytes) -> None:
        if self.cut is not None:
            data = self.cut(data)
        if self.plugged:
            self._to_client.put(data)

    def stall(self) -> None:
        """Does nothing: the rules of a line without flow control apply."""

    def unstall(self) -> None:
        """Does nothing."""

    def unplug(self) -> None:
        self.plugged = False
        client, self._client = self._client, None
        self.clear()
        if client is not None:
            client.lose()

    def plug(self) -> None:
        self.plugged = True

    def close(self) -> None:
        self.unplug()

    def clear(self) -> None:
        """Drops the bytes on the line."""
        self._to_client.clear()
        self._to_device.clear()

    # --- the client's end -------------------------------------------------------------------------

    def open(self) -> SimulatedTransport:
        self._client = SimulatedTransport(self)
        return self._client

    def hang_up(self) -> None:
        """The client closes its end."""
        self._client = None

    def from_client(self, data: bytes) -> None:
        self.written += data
        self._to_device.put(data)

    @property
    def pending(self) -> int:
        return len(self._to_device)

    def _give(self, data: bytes) -> None:
        if self._client is not None:
            self._client.receive(data)

    def _take(self, data: bytes) -> None:
        if self._on_data is not None and self.plugged:
            self._on_data(data, self._line.baudRate)


class SimulatedTransport(Transport):
    """The client's end, a `hilgw.transports.base.Transport`."""

    name = "simulated"

    def __init__(self, port: SimulatedPort) -> None:
        self.notices: list[str] = []
        self.unsent = 0
        self.on_drained: Callable[[], None] | None = None
        self.on_half_close: Callable[[], None] | None = None
        self._port = port
        self._on_data: ReadHandler | None = None
        self._on_lost: LostHandler | None = None

    @property
    def pending(self) -> int:
        return self._port.pending

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        self._on_data, self._on_lost = on_data, on_lost

    def write(self, data: bytes) -> None:
        self._port.from_client(data)

    def set_modem_line(self, name: str, on: bool) -> None:
        if self._port.on_modem_line is not None:
            self._port.on_modem_line(name, on)

    def receive(self, data: bytes) -> None:
        if self._on_data is not None:
            self._on_data(data)

    def lose(self) -> None:
        if self._on_lost is not None:
            self._on_lost(PortError("the device was unplugged", reason=PortError.LOST))

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None: ...

    async def wait_closed(self) -> None: ...
