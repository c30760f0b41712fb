"""Pacing: exactly the rate of the line, from the first byte to the last, however late the timer."""

import pytest

from hilgw.bridge.flow import Flow
from hilgw.bridge.port import PACED_HIGH_BYTES, PACED_LOW_BYTES, BridgePort, slice_bytes
from hilgw.testing.sim import Clock, FakeTransport
from hilgw.transports.base import LineSettings

SECOND = 1_000_000_000


class TimedPort(FakeTransport):
    """arrivals: when how many bytes had been written."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.arrivals: list[tuple[int, int]] = []
        self._clock = clock

    def write(self, data: bytes) -> None:
        super().write(data)
        self.arrivals.append((self._clock.now(), len(self.data()) + self.pending))


class PacedPort:
    def __init__(self, baud_rate: int = 115200, **line: object) -> None:
        self.scheduler = Clock()
        self.to_serial = Flow()  # of the one that writes
        self.notified: list[str] = []
        settings = LineSettings(baud_rate, **line)  # type: ignore[arg-type]
        self.port = BridgePort("port", settings)
        self.port.on_full = lambda: self.notified.append("full")
        self.port.on_room = lambda: self.notified.append("room")
        self.flow = self.port.flow
        self.port.pace(self.scheduler, settings)
        self.device = TimedPort(self.scheduler)
        self.port.attach(self.device)
        self.start = self.scheduler.now()


@pytest.mark.parametrize(
    ("baud_rate", "size"),
    [(300, 1), (9600, 4), (19200, 8), (57600, 32), (115200, 64), (460800, 64), (3_000_000, 64)],
)
def test_a_slice_is_a_power_of_two_of_about_four_milliseconds(baud_rate: int, size: int) -> None:
    assert slice_bytes(LineSettings(baud_rate)) == size


@pytest.mark.parametrize("baud_rate", [9600, 115200, 921600])
def test_no_byte_is_early_and_none_later_than_its_slice(baud_rate: int) -> None:
    bench = PacedPort(baud_rate)
    data = bytes(range(250)) * 4
    bench.port.write(data, bench)
    bench.scheduler.run_until(bench.start + 2 * SECOND)
    assert bench.device.data() == data
    for when, count in bench.device.arrivals:
        exact = bench.start + count * 10 * SECOND / baud_rate
        assert exact <= when < exact + 1


def test_parity_and_stop_bits_take_their_time() -> None:
    bench = PacedPort(9600, parity="E", stop_bits=2)
    bench.port.write(bytes(96), bench)
    bench.scheduler.run_until(bench.start + SECOND)
    assert bench.device.arrivals[-1][0] == bench.start + 96 * 12 * SECOND // 9600


def test_a_late_timer_does_not_slow_the_line_down() -> None:
    """Each callback 0.3 ms late, for ten seconds: the last byte is 0.3 ms late as well."""
    bench = PacedPort()
    total, sent, late = 11520 * 10, 0, 300_000
    while sent < total:
        if bench.port.waiting_bytes < PACED_LOW_BYTES:
            step = min(PACED_LOW_BYTES, total - sent)
            bench.port.write(bytes(step), bench)
            sent += step
        bench.scheduler.run_until(bench.scheduler.now() + 10_000_000, late_ns=late)
    bench.scheduler.run_until(bench.start + 11 * SECOND, late_ns=late)
    when, count = bench.device.arrivals[-1]
    assert count == total
    assert when == bench.start + 10 * SECOND + late


def test_a_pause_of_the_whole_process_is_caught_up() -> None:
    bench = PacedPort()
    bench.port.write(bytes(2304), bench)  # 200 ms
    bench.scheduler.run_until(bench.start + 50_000_000)
    bench.scheduler.time = bench.start + 150_000_000
    bench.scheduler.run_until(bench.start + SECOND)
    assert bench.device.arrivals[-1] == (bench.start + 200_000_000, 2304)


def test_writers_wait_above_the_high_mark_and_go_on_below_the_low_one() -> None:
    bench = PacedPort()
    bench.port.write(bytes(PACED_HIGH_BYTES), bench)
    assert bench.notified == []
    bench.port.write(b"x", bench)
    assert bench.notified == ["full"]
    while bench.notified == ["full"]:
        assert bench.port.waiting_bytes > PACED_LOW_BYTES
        bench.scheduler.run_until(bench.scheduler.now() + 100_000)
    assert bench.notified == ["full", "room"]
    assert bench.port.waiting_bytes <= PACED_LOW_BYTES


def test_a_device_that_takes_less_holds_the_line() -> None:
    bench = PacedPort()
    bench.device.stalled = True
    bench.port.write(bytes(1000), bench)
    bench.scheduler.run_until(bench.start + SECOND)
    assert bench.device.pending == 64
    bench.device.accept()
    bench.scheduler.run_until(bench.start + 2 * SECOND)
    assert len(bench.device.data()) == 1000
    assert bench.flow.dropped == {}


def test_what_waits_when_the_port_leaves_is_dropped_and_counted() -> None:
    nothing = PacedPort()
    nothing.port.detach()
    assert nothing.port.report()["dropped"] == {}, "a reason without a byte is none"
    bench = PacedPort()
    bench.port.write(bytes(PACED_HIGH_BYTES + 1), bench)
    bench.scheduler.run_until(bench.start + 20_000_000)
    sent = len(bench.device.data())
    bench.port.detach()
    assert bench.flow.dropped == {"port_down_bytes": PACED_HIGH_BYTES + 1 - sent}
    assert bench.notified == ["full", "room"]
    bench.port.write(b"late", bench)
    assert bench.flow.dropped == {"port_down_bytes": PACED_HIGH_BYTES + 5 - sent}
    fresh = TimedPort(bench.scheduler)
    bench.port.attach(fresh)
    bench.port.write(b"fresh", bench)
    bench.scheduler.run_until(bench.start + SECOND)
    assert fresh.data() == b"fresh"
    assert bench.to_serial.sent_bytes == sent + 5 == bench.flow.sent_bytes
    assert bench.to_serial.dropped == bench.flow.dropped
