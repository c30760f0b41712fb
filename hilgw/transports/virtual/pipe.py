"""A serial line in memory: host and device in one process, at the rate of the line."""

import asyncio
from collections.abc import Callable

from hilgw.errors import PortError
from hilgw.transports.base import (
    DeviceSide,
    LineSettings,
    LostHandler,
    Observable,
    ReadHandler,
    Scheduler,
    SwitchModemLine,
    Transport,
)
from hilgw.transports.stream import WRITE_LIMIT_BYTES
from hilgw.transports.virtual.pacing import PacedLine

DeviceHandler = Callable[[bytes, int | None], None]
Soon = Callable[[Callable[[], None]], object]
DEVICE_LIMIT_BYTES = 65536


class Pipe(Observable):
    """The hardware's end, a `hilgw.transports.base.DeviceSide`.

    `open` returns the client's end, again after a loss, like a port.

    Bytes for the client wait in a queue of at most `device_limit` bytes; the newest bytes of a
    write that does not fit are dropped and counted in `overrun`, as in a UART, and so are those
    that the client does not read. Bytes that arrive without a client are lost, as on a wire. soon:
    calls a function in a turn of its own; None: the event loop does.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        line: LineSettings,
        *,
        name: str = "pipe",
        limit: int = WRITE_LIMIT_BYTES,
        device_limit: int = DEVICE_LIMIT_BYTES,
        soon: Soon | None = None,
    ) -> None:
        self.path = name
        self.plugged = True
        self.stalled = False
        self.overrun = 0
        self.on_modem_line: SwitchModemLine | None = None
        self._scheduler = scheduler
        self._line = line
        self._limit = limit
        self._device_limit = device_limit
        self._soon = soon
        self._client: PipeTransport | None = None
        self._closed = False
        self._to_client = PacedLine(
            scheduler,
            self._deliver,
            baud_rate=line.baudRate,
            bits_per_byte=line.byteSize,
        )

    @property
    def device(self) -> DeviceSide:
        """The hardware's end."""
        return self

    # --- the client's end -------------------------------------------------------------------------

    async def open(self, line: LineSettings | None = None) -> Transport:
        return self.connect(line)

    def connect(self, line: LineSettings | None = None) -> "PipeTransport":
        """Return the client's end.

        Raises:
            PortError: "absent" while unplugged, "busy" while open.
        """
        if not self.plugged:
            raise PortError("no such port", reason=PortError.ABSENT, where=self.path)
        if self._client is not None:
            raise PortError("the port is open already", reason=PortError.BUSY, where=self.path)
        soon = self._soon or asyncio.get_running_loop().call_soon
        line = line or self._line
        self._client = client = PipeTransport(self._scheduler, line, self, self._limit, soon)
        return client

    def left(self, client: "PipeTransport") -> None:
        if self._client is client:
            self._client = None

    def receive(self, data: bytes, host_baud: int) -> None:
        if self._on_data is not None and self.plugged:
            self._on_data(data, host_baud)

    # --- the hardware's end -----------------------------------------------------------------------

    def start(self, on_data: DeviceHandler) -> None:
        self._on_data = on_data

    def set_line(self, baud_rate: int, bits_per_byte: int) -> None:
        self._to_client.set_line(baud_rate, bits_per_byte)

    def write(self, data: bytes) -> None:
        room = self._device_limit - len(self._to_client) if self.plugged else 0
        self.overrun += max(0, len(data) - room)
        self._to_client.put(data[:room])

    def stall(self) -> None:
        self.stalled = True
        if self._client is not None:
            self._client.to_device.hold()

    def unstall(self) -> None:
        self.stalled = False
        if self._client is not None:
            self._client.to_device.release()

    def unplug(self) -> None:
        if self.plugged:
            self.plugged = False
            self._to_client.clear()
            client, self._client = self._client, None
            if client is not None:
                client.lose()

    def plug(self) -> None:
        self.plugged = not self._closed

    def close(self) -> None:
        self.unplug()
        self._closed = True

    def _deliver(self, data: bytes) -> None:
        if self._client is not None:
            self._client.receive(data)


class PipeTransport(Transport):
    """The client's end of a `Pipe`, a `hilgw.transports.base.Transport`."""

    def __init__(
        self, scheduler: Scheduler, line: LineSettings, device: Pipe, limit: int, soon: Soon
    ) -> None:
        super().__init__(device.path)
        self._soon = soon
        self._device = device
        self._limit = limit
        self._held = bytearray()  # received before start() or while paused
        self._paused = False
        self.to_device = PacedLine(
            scheduler,
            lambda data: device.receive(data, line.baudRate),
            baud_rate=line.baudRate,
            bits_per_byte=line.byteSize,
            on_empty=self._drained,
        )
        if device.stalled:
            self.to_device.hold()

    @property
    def pending(self) -> int:
        return len(self.to_device)

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        self._on_data = on_data
        self._on_lost = on_lost
        if self._lost is not None:
            self._soon(self._report)
        self._soon(self._hand_over)

    def write(self, data: bytes) -> None:
        if self._closed or self._lost is not None:
            raise PortError("the port was lost", reason=PortError.LOST, where=self.name)
        if len(self.to_device) + len(data) > self._limit:
            raise PortError("the write buffer is full", reason=PortError.FULL, where=self.name)
        self.to_device.put(data)

    def set_modem_line(self, name: str, on: bool) -> None:
        """Switch the line at the device while it is plugged in."""
        device = self._device
        if device.on_modem_line is not None and device.plugged and not self._closed:
            device.on_modem_line(name, on)

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._soon(self._hand_over)

    def take_unsent(self) -> bytes:
        return self.to_device.take()

    def discard_received(self) -> int:
        size = len(self._held)
        self._held.clear()
        return size

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.unsent = self.to_device.clear()
            self._held.clear()
            self._device.left(self)

    async def wait_closed(self) -> None:
        return

    # --- called by the hardware's end -------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        room = self._limit - len(self._held)
        self._device.overrun += max(0, len(data) - room)
        self._held += data[:room]
        self._hand_over()

    def lose(self) -> None:
        """Discard the bytes on the wire: the device was unplugged."""
        problem = "the device was unplugged"
        self._lost = PortError(problem, reason=PortError.LOST, where=self.name)
        self.unsent = self.to_device.clear()
        self._held.clear()
        self._soon(self._report)

    def _hand_over(self) -> None:
        if self._held and self._on_data is not None and not self._paused and not self._closed:
            data = bytes(self._held)
            self._held.clear()
            self._on_data(data)

    def _drained(self) -> None:
        if self.on_drained is not None:
            self.on_drained()
