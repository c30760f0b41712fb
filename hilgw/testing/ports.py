"""Virtual serial ports for tests: the program under test has one end, the test the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hilgw.errors import PeerError, UsageError
from hilgw.testing.faulty_device import FaultyDevice
from hilgw.testing.frames import FrameLog, tap, words_of_mock
from hilgw.testing.loop_thread import LoopThread
from hilgw.transports.virtual_port import VirtualPort

if TYPE_CHECKING:
    from hilgw.testing.bench import Bench

__tracebackhide__ = True  # a failure is shown in the test

FASTEST = 4_000_000
WAIT_S = 5.0


class Cable:
    """What can happen to any port: unplug, plug, stall, unstall. path: what a program opens."""

    def __init__(self, thread: LoopThread, device: Any) -> None:
        self.path: str = device.path
        self._thread = thread
        self._device = device

    def unplug(self) -> None:
        """Pull the cable: whoever has the port open reads its end, and the path is gone."""
        self._thread.call(self._device.unplug)

    def plug(self) -> None:
        """The port is there again, under the same path."""
        self._thread.call(self._device.plug)

    def stall(self) -> None:
        """Stop reading what the program writes, as hardware that hangs."""
        self._stalled("stall")

    def unstall(self) -> None:
        self._stalled("unstall")

    def _stalled(self, how: str) -> None:
        change = getattr(self._device, how, None)
        if change is None:
            raise UsageError(f"this port cannot {how}", where=self.path)
        self._thread.call(change)

    def spoil(self, *, noise: float = 0.0, loss: float = 0.0) -> None:
        """From now on: the chance of noise before what is sent, and of each byte to be lost."""
        if not isinstance(self._device, FaultyDevice):
            raise UsageError("this port cannot be spoilt", where=self.path)

        def change() -> None:
            self._device.noise, self._device.loss = noise, loss

        self._thread.call(change)


class TestPort(Cable):
    """A port whose device is the test. host_baud: the rate the program has set, when it wrote."""

    __test__ = False  # a class of ours, not one of pytest's

    def __init__(self, thread: LoopThread, device: FaultyDevice) -> None:
        super().__init__(thread, device)
        self.host_baud: int | None = None
        self._received = bytearray()
        self._news = threading.Condition()
        thread.call(device.start, self._take)

    def write(self, data: bytes) -> None:
        """Bytes to the program, at the pace of the line."""
        self._thread.call(self._device.write, data)

    def read(self, size: int, timeout_s: float = WAIT_S) -> bytes:
        """Exactly so many bytes from the program. PeerError: they did not come in time."""
        return self._read(lambda data: size if len(data) >= size else 0, f"{size} B", timeout_s)

    def read_until(self, end: bytes, timeout_s: float = WAIT_S) -> bytes:
        """Bytes from the program up to and including `end`. PeerError: it did not come."""
        return self._read(
            lambda data: data.find(end) + len(end) if end in data else 0, repr(end), timeout_s
        )

    def read_all(self) -> bytes:
        """Whatever has come from the program by now."""
        with self._news:
            data = bytes(self._received)
            self._received.clear()
            return data

    def _read(self, enough: Callable[[bytearray], int], what: str, timeout_s: float) -> bytes:
        end = time.monotonic() + timeout_s
        with self._news:
            while not (size := enough(self._received)):
                if not self._news.wait(end - time.monotonic()):
                    came = bytes(self._received)
                    raise PeerError(
                        f"{what} did not come within {timeout_s:g} s; came {came[-80:]!r}",
                        where=self.path,
                    )
            data = bytes(self._received[:size])
            del self._received[:size]
            return data

    def _take(self, data: bytes, host_baud: int | None) -> None:
        with self._news:
            self.host_baud = host_baud
            self._received += data
            self._news.notify_all()


class VirtualPorts:
    """The fixture `virtual_port`."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._count = 0

    def __call__(
        self,
        *,
        baudRate: int = 115200,
        byteSize: int = 10,
        link: str | None = None,
        framing: str = "",
        seed: int = 0,
        noise: float = 0.0,
        loss: float = 0.0,
    ) -> TestPort:
        """A port whose other end is the test: `read`, `write`, `unplug`, `plug`, `stall`.

        link: its path; by default one in a folder of its own. framing: what the frames in the
        report of a failure are read by, such as cobs-crc16. noise, loss: chances, drawn with
        `seed`: of a burst of noise before what is sent, and of each byte to be lost.
        """
        faults = {"seed": seed, "noise": noise, "loss": loss}
        device = self._device(baudRate, byteSize, link, framing, faults)
        return TestPort(self._bench.thread, device)

    def pair(
        self,
        *,
        byteSize: int = 10,
        framing: str = "",
        seed: int = 0,
        noise: float = 0.0,
        loss: float = 0.0,
    ) -> tuple[Cable, Cable]:
        """Two ports joined by a cable: what one program writes, the other reads, at the rate of
        the one that writes. The rates of the two are not compared."""
        thread = self._bench.thread
        ends = [
            self._device(
                FASTEST, byteSize, None, framing, {"seed": seed + at, "noise": noise, "loss": loss}
            )
            for at in range(2)
        ]
        thread.call(ends[0].start, lambda data, _: ends[1].write(data))
        thread.call(ends[1].start, lambda data, _: ends[0].write(data))
        return Cable(thread, ends[0]), Cable(thread, ends[1])

    def _device(
        self, baud_rate: int, bits: int, link: str | None, framing: str, faults: dict[str, Any]
    ) -> FaultyDevice:
        bench = self._bench
        self._count += 1
        port = bench.thread.call(
            VirtualPort, bench.thread.timer, link, baud_rate=baud_rate, bits_per_byte=bits
        )
        bench.at_close(port.close)
        log = FrameLog(
            f"virtual port {self._count}, {port.path}",
            lambda: words_of_mock("uart_node", {"framing": framing}) if framing else None,
        )
        tap(port, log)
        bench.logs.append(log)
        return FaultyDevice(port, **faults)
