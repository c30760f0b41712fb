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
    Wakeup,
)
from hilgw.transports.stream import WRITE_LIMIT_BYTES

SLICE_NS = 5_000_000  # bytes that arrive within this time are delivered together
# How much of a timer's delay is caught up. With more, a blocked event loop would deliver at once
# bytes that were put on the line only after the block.
CATCH_UP_NS = 20_000_000
SECOND_NS = 1_000_000_000


class PacedLine:
    """A direction of a UART line: bytes in, the same bytes out after their last bit.

    deliver gets the bytes in slices, in order, each at or after the end of its last byte and never
    faster than the line; over any busy period the rate is exact. on_empty, when set, is called
    after a delivery that empties the queue: bytes it puts follow without a gap. baud_rate None: no
    pacing, bytes are delivered at the scheduler's next turn. slice_bytes: longest slice, None: 5 ms
    of bytes. catch_up_ns: how much of a timer's delay is caught up.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        deliver: Callable[[bytes], None],
        *,
        baud_rate: int | None,
        bits_per_byte: int,
        on_empty: Callable[[], None] | None = None,
        slice_bytes: int | None = None,
        catch_up_ns: int = CATCH_UP_NS,
    ) -> None:
        self._scheduler = scheduler
        self._deliver = deliver
        self._on_empty = on_empty
        self._baud_rate = baud_rate
        self._bits_per_byte = bits_per_byte
        self._slice_bytes = slice_bytes
        self._catch_up_ns = catch_up_ns
        self._queue = bytearray()
        self._slice = 0  # bytes at the head of the queue that are on the wire
        self._origin = 0  # start of the busy period, and its bits so far
        self._bits = 0
        self._end = 0  # when the last of these bits ends
        self._alarm = Wakeup(scheduler, lambda _: self._slice_over())
        self._delivering = False
        self._held = False

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def slice_bytes(self) -> int:
        """The most bytes that are delivered together."""
        if self._slice_bytes is not None:
            return self._slice_bytes
        if self._baud_rate is None:
            return 65536
        return max(1, SLICE_NS * self._baud_rate // (self._bits_per_byte * SECOND_NS))

    def set_line(self, baud_rate: int | None, bits_per_byte: int) -> None:
        """Change the rate with the next slice; the slice on the wire keeps its rate."""
        if (baud_rate, bits_per_byte) != (self._baud_rate, self._bits_per_byte):
            self._baud_rate = baud_rate
            self._bits_per_byte = bits_per_byte
            self._origin, self._bits = self._end, 0

    def put(self, data: bytes) -> None:
        self._queue += data
        self._start_if_idle()

    def clear(self) -> int:
        """Discard the bytes that are not delivered yet; return their number."""
        lost = len(self._queue)
        self._queue.clear()
        self._slice = 0
        self._alarm.set(None)
        return lost

    def take(self) -> bytes:
        """Discard the bytes that are not delivered yet, and return them."""
        waiting = bytes(self._queue)
        self.clear()
        return waiting

    def hold(self) -> None:
        """Stop deliveries and put nothing more on the wire (flow control)."""
        self._held = True

    def release(self) -> None:
        self._held = False
        if self._slice and self._alarm.at is None:
            self._alarm.set(self._end)
        else:
            self._start_if_idle()

    def _start_if_idle(self) -> None:
        if self._queue and self._alarm.at is None and not self._held and not self._delivering:
            now = self._scheduler.now()
            if now >= self._end:  # not a rounding error of less than 1 ns before it
                self._origin, self._bits, self._end = now, 0, now
            self._send_slice(self._end)

    def _send_slice(self, start: int) -> None:
        if start != self._end:
            self._origin, self._bits = start, 0
        self._slice = min(len(self._queue), self.slice_bytes)
        if self._baud_rate is None:
            self._end = start
        else:
            self._bits += self._slice * self._bits_per_byte
            self._end = self._origin - (-self._bits * SECOND_NS // self._baud_rate)  # rounded up
        self._alarm.set(self._end)

    def _slice_over(self) -> None:
        if self._held:
            return
        data = bytes(memoryview(self._queue)[: self._slice])
        del self._queue[: self._slice]
        self._slice = 0
        self._delivering = True
        try:
            self._deliver(data)
            if not self._queue and self._on_empty is not None:
                self._on_empty()
        finally:
            self._delivering = False
        if self._queue and not self._held:
            self._send_slice(max(self._end, self._scheduler.now() - self._catch_up_ns))


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
        self._lost = PortError("the device was unplugged", reason=PortError.LOST, where=self.name)
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
