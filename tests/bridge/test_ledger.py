"""The ledger of a bridge adds up at each look; its pace is exactly the rate of the line."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.bridge.backlog import TelnetQueue
from hilgw.bridge.flow import Flow
from hilgw.bridge.port import PACED_HIGH_BYTES, PACED_LOW_BYTES, BridgePort, slice_bytes
from hilgw.bridge.rfc2217 import Rfc2217Stream
from hilgw.protocols import rfc2217
from hilgw.testing.sim import Clock, FakeTransport, until
from hilgw.transports.base import LineSettings
from tests.bridge.rig import BridgeBench, Rig, command, run_bridge_on
from tests.bridge.test_rfc2217 import LineOfClients
from tests.scenarios import scenario_of
from tests.transports.rig import reset

RFC2217 = ("127.0.0.1", 0)


ASK_RATE = command(rfc2217.SET_BAUDRATE, 0, 0, 0, 0)  # the reply is as long


@contextmanager
def silent_client(address: str) -> Iterator[socket.socket]:
    """A client that never reads, with a small buffer. It sends without a block."""
    host, _, port = address.rpartition(":")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((host, int(port)))
        connection.setblocking(False)
        yield connection


def send(connection: socket.socket, data: bytes) -> None:
    with suppress(BlockingIOError):
        connection.send(data)


@pytest.mark.parametrize("loop", ["direct", "asyncio"])
@scenario_of(run_bridge_on, rfc2217=RFC2217)
async def test_a_client_that_reads_no_replies_and_resets(rig: Rig, /) -> None:
    """Replies wait for it, many times the data among them. Each look checks the ledger."""
    with silent_client(rig.report["rfc2217"]) as connection:
        written = 0

        def waits() -> bool:
            nonlocal written
            send(connection, ASK_RATE * 100)
            written += rig.device.write(b"\xff\x00")
            return bool(rig.report["clients"]["slow"])

        await until(waits)
        peer = rig.report["clients"]["each"][0]["peer"]
        reset(connection)
    await until(lambda: rig.report["clients"]["connected"] == 0)
    flow = rig.report["to_tcp"]
    assert 0 < flow["dropped"]["client_gone_bytes"] < written
    assert 0 < flow["sent_bytes"] < written
    left = [line for line in rig.log.lines if f"client {peer} left" in line]
    assert left == [f"client {peer} left: the peer reset the connection"]
    assert not any("the port was lost" in line for line in rig.log.lines)
    assert rig.report["port"]["state"] == "up"


class Telnet:
    """A client of RFC 2217 on a transport of the test."""

    def __init__(self) -> None:
        self.bench = BridgeBench()
        self.inner = FakeTransport()
        self.stream = Rfc2217Stream(
            self.inner, self.bench.port, LineOfClients().line, on_refused=lambda: None
        )
        self.client = self.bench.clients.add(self.stream, "127.0.0.1:1", telnet=True)

    def received(self) -> int:
        """The bytes of data that reached the client."""
        events = rfc2217.Server().feed(self.inner.data())
        return sum(len(event.data) for event in events if isinstance(event, rfc2217.Data))


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("data"), st.binary(min_size=1, max_size=20)),
        st.tuples(st.just("data"), st.just(b"\xff\xff\xff")),
        st.tuples(st.just("ask"), st.just(b"")),
        st.tuples(st.sampled_from(["suspend", "resume"]), st.just(b"")),
        st.tuples(st.just("accept"), st.integers(1, 60)),
    ),
    max_size=30,
)


@given(ACTIONS, st.sampled_from(["lose", "close", "refuse", "refuse data", "break"]))
def test_what_a_client_received_is_what_was_sent(actions: list[Any], end: str) -> None:
    telnet = Telnet()
    bench, inner = telnet.bench, telnet.inner
    inner.stalled = True
    words = {"ask": ASK_RATE, "suspend": command(rfc2217.FLOWCONTROL_SUSPEND)}
    words["resume"] = command(rfc2217.FLOWCONTROL_RESUME)
    for word, argument in actions:
        if word == "data":
            bench.clients.broadcast(argument)
        elif word == "accept":
            inner.accept(argument)
        else:
            inner.send(words[word])
        assert bench.adds_up
        assert bench.clients.report()["sent_bytes"] == telnet.received()
    if end == "lose":
        inner.lose()
    elif end == "close":
        bench.clients.close()
    elif end == "refuse":  # a reply finds no room
        inner.full = True
        inner.send(ASK_RATE)
    else:  # what waited for the client to resume finds none, or no connection
        inner.send(words["suspend"])
        bench.clients.broadcast(b"waits")
        inner.full, inner.gone = end == "refuse data", end == "break"
        inner.send(words["resume"])
        assert bench.adds_up
        inner.lose()
    assert bench.adds_up
    assert bench.clients.report()["queued_bytes"] == 0
    assert bench.clients.report()["sent_bytes"] == telnet.received()


def test_bytes_of_a_port_that_is_lost_were_not_sent_at_any_instant() -> None:
    bench = BridgeBench(rule="all")
    first, second = bench.client(), bench.client()
    first.send(b"sent")
    bench.device.stalled = True
    first.send(b"waits")
    second.send(b"waits too")
    bench.device.close()  # it is reported in the next turn of the event loop
    assert bench.adds_up
    assert bench.port.report()["sent_bytes"] == 4
    first.lose()
    assert bench.adds_up
    bench.port.detach()
    assert bench.adds_up
    assert bench.port.report()["dropped"] == {"port_down_bytes": 14}
    assert bench.clients.reports()[0]["to_serial"]["dropped"] == {"port_down_bytes": 9}


def test_bytes_that_find_no_room_in_the_port_are_counted() -> None:
    bench = BridgeBench()
    bench.device.full = True
    bench.client().send(b"no room")
    assert bench.to_port.dropped == {"full_bytes": 7}
    assert bench.adds_up


@given(
    st.lists(st.tuples(st.booleans(), st.binary(max_size=12)), max_size=8),
    st.lists(st.integers(0, 30), max_size=8),
)
def test_the_unsent_data_of_a_telnet_stream(
    parts: list[tuple[bool, bytes]], sent: list[int]
) -> None:
    queue, marks, total = TelnetQueue(), "", 0
    for (is_data, data), leaves in zip(parts, sent, strict=False):
        wire = rfc2217.escape(data) if is_data else data
        # One mark for each byte on the wire: the last byte of a byte of data counts.
        for byte in data:
            marks += ("." * (len(rfc2217.escape(bytes((byte,)))) - 1) + "D") if is_data else "-"
        total = min(total + leaves, len(marks))
        queue.add(wire, len(marks) - total, is_data=is_data)
        assert queue.data_bytes(len(marks) - total) == marks[total:].count("D")


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
