"""A serial line in memory: host and device in one process, at the rate of the line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hilgw.errors import PortError
from hilgw.transports.base import (
    DeviceSide,
    LineSettings,
    LostHandler,
    ReadHandler,
    Scheduler,
    SwitchModemLine,
    Transport,
    TransportDefaults,
)
from hilgw.transports.stream import WRITE_LIMIT_BYTES
from hilgw.transports.virtual.pacing import PacedLine

DeviceHandler = Callable[[bytes, int | None], None]
DEVICE_LIMIT_BYTES = 65536


class PipeDevice:
    """The hardware's end of a `Pipe`, a `hilgw.transports.base.DeviceSide`.

    Bytes for the client wait in a queue of at most `limit` bytes; the newest bytes of a write that
    does not fit are dropped and counted in `overrun`, as in a UART. Bytes that arrive without a
    client are lost, as on a wire.
    """

    def __init__(self, scheduler: Scheduler, line: LineSettings, path: str, limit: int) -> None:
        self.path = path
        self.plugged = True
        self.overrun = 0
        self._limit = limit
        self._client: PipeTransport | None = None
        self._on_data: DeviceHandler | None = None
        self.on_modem_line: SwitchModemLine | None = None
        self._closed = False
        self._stalled = False
        self._to_client = PacedLine(
            scheduler,
            self._deliver,
            baud_rate=line.baudRate,
            bits_per_byte=line.byteSize,
        )

    def start(self, on_data: DeviceHandler) -> None:
        self._on_data = on_data

    def set_line(self, baud_rate: int, bits_per_byte: int) -> None:
        self._to_client.set_line(baud_rate, bits_per_byte)

    def write(self, data: bytes) -> None:
        room = self._limit - len(self._to_client) if self.plugged else 0
        self.overrun += max(0, len(data) - room)
        self._to_client.put(data[:room])

    def stall(self) -> None:
        """Stops reading: the bytes of the client wait at its end."""
        self._stalled = True
        if self._client is not None:
            self._client._to_device.hold()

    def unstall(self) -> None:
        self._stalled = False
        if self._client is not None:
            self._client._to_device.release()

    def unplug(self) -> None:
        if self.plugged:
            self.plugged = False
            self._to_client.clear()
            client, self._client = self._client, None
            if client is not None:
                client._lose()

    def plug(self) -> None:
        self.plugged = not self._closed

    def close(self) -> None:
        self.unplug()
        self._closed = True

    def _deliver(self, data: bytes) -> None:
        if self._client is not None:
            self._client._receive(data)

    def _receive(self, data: bytes, host_baud: int) -> None:
        if self._on_data is not None and self.plugged:
            self._on_data(data, host_baud)


class PipeTransport(TransportDefaults):
    """The client's end of a `Pipe`, a `hilgw.transports.base.Transport`."""

    def __init__(
        self, scheduler: Scheduler, line: LineSettings, device: PipeDevice, limit: int
    ) -> None:
        self.name = device.path
        self.notices: list[str] = []
        self.unsent = 0
        self.on_drained: Callable[[], None] | None = None
        self.on_half_close: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._device = device
        self._limit = limit
        self._on_data: ReadHandler | None = None
        self._on_lost: LostHandler | None = None
        self._held = bytearray()  # received before start() or while paused
        self._paused = False
        self._closed = False
        self._lost = False
        self._to_device = PacedLine(
            scheduler,
            lambda data: device._receive(data, line.baudRate),
            baud_rate=line.baudRate,
            bits_per_byte=line.byteSize,
            on_empty=self._drained,
        )
        if device._stalled:
            self._to_device.hold()

    @property
    def pending(self) -> int:
        return len(self._to_device)

    def start(self, on_data: ReadHandler, on_lost: LostHandler) -> None:
        self._on_data = on_data
        self._on_lost = on_lost
        if self._lost:
            self._loop.call_soon(self._report)
        self._loop.call_soon(self._hand_over)

    def write(self, data: bytes) -> None:
        if self._closed or self._lost:
            raise PortError("the port was lost", reason=PortError.LOST, where=self.name)
        if len(self._to_device) + len(data) > self._limit:
            raise PortError("the write buffer is full", reason=PortError.FULL, where=self.name)
        self._to_device.put(data)

    def set_modem_line(self, name: str, on: bool) -> None:
        """Reaches the device while it is plugged in."""
        device = self._device
        if device.on_modem_line is not None and device.plugged and not self._closed:
            device.on_modem_line(name, on)

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._loop.call_soon(self._hand_over)

    def take_unsent(self) -> bytes:
        return self._to_device.take()

    def discard_received(self) -> int:
        size = len(self._held)
        self._held.clear()
        return size

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.unsent = self._to_device.clear()
            self._held.clear()
            if self._device._client is self:
                self._device._client = None

    async def wait_closed(self) -> None:
        return

    def _receive(self, data: bytes) -> None:
        room = self._limit - len(self._held)
        self._device.overrun += max(0, len(data) - room)
        self._held += data[:room]
        self._hand_over()

    def _hand_over(self) -> None:
        if self._held and self._on_data is not None and not self._paused and not self._closed:
            data = bytes(self._held)
            self._held.clear()
            self._on_data(data)

    def _drained(self) -> None:
        if self.on_drained is not None:
            self.on_drained()

    def _lose(self) -> None:
        """The device was unplugged: the bytes on the wire are lost."""
        self._lost = True
        self.unsent = self._to_device.clear()
        self._held.clear()
        if self._on_lost is not None:
            self._loop.call_soon(self._report)

    def _report(self) -> None:
        if self._on_lost is not None and not self._closed:
            on_lost, self._on_lost = self._on_lost, None
            on_lost(PortError("the device was unplugged", reason=PortError.LOST, where=self.name))


class Pipe:
    """A device and its client; the client's end can be opened again after a loss, like a port."""

    def __init__(
        self,
        scheduler: Scheduler,
        line: LineSettings,
        *,
        name: str = "pipe",
        limit: int = WRITE_LIMIT_BYTES,
        device_limit: int = DEVICE_LIMIT_BYTES,
    ) -> None:
        self._scheduler = scheduler
        self._line = line
        self._limit = limit
        self._device = PipeDevice(scheduler, line, name, device_limit)

    @property
    def device(self) -> DeviceSide:
        return self._device

    @property
    def overrun(self) -> int:
        """Bytes of the device that were dropped because the client did not read them."""
        return self._device.overrun

    async def open(self, line: LineSettings | None = None) -> Transport:
        """The client's end. Raises PortError: "absent" while unplugged, "busy" while it is open."""
        device = self._device
        if not device.plugged:
            raise PortError("no such port", reason=PortError.ABSENT, where=device.path)
        if device._client is not None:
            raise PortError("the port is open already", reason=PortError.BUSY, where=device.path)
        client = PipeTransport(self._scheduler, line or self._line, device, self._limit)
        device._client = client
        return client
