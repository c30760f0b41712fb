"""The station: queue, window, pacing, and a ledger that adds up whatever happens."""

import asyncio
import socket

import pytest

from hilgw.adapters.base import Dropped
from hilgw.engine.station.station import SILENT_FRAMES
from hilgw.engine.supervisor import PortListener
from hilgw.errors import AdapterError, HilgwError
from hilgw.framing.base import TURN_BYTES, FrameDropped
from hilgw.reasons import PacketRefused
from hilgw.transports.stream import FdStream
from tests.engine.fakes import StationBench


class Failures(PortListener):
    """Keeps the failures of a station."""

    def __init__(self, failures: list[HilgwError]) -> None:
        self._failures = failures

    def on_failed(self, error: HilgwError) -> None:
        self._failures.append(error)


BYTE_NS = 10 * 1_000_000_000 // 9600


async def test_a_session_gets_a_bounded_number_of_bytes_at_a_time() -> None:
    """A framing may take milliseconds for them, and other ports wait."""
    bench = StationBench()
    chunks: list[int] = []
    bench.session.receive = lambda data, now: chunks.append(len(data)) or []  # type: ignore[method-assign,func-returns-value]
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.sendall(bytes(10_000))
    stream = FdStream(asyncio.get_running_loop(), ours.detach(), "port")
    stream.start(bench.station.data_received, lambda error: None)
    bench.station.attach(stream)
    while sum(chunks) < 10_000:
        await asyncio.sleep(0)
    stream.close()
    theirs.close()
    assert max(chunks) <= TURN_BYTES


@pytest.mark.parametrize("lost", [None, PacketRefused.NO_FRAME])
def test_without_tokens_delivered_means_last_byte_out(lost: PacketRefused | None) -> None:
    """So does that the other end does not read it."""
    bench = StationBench()
    bench.session.lost = lost
    for packets in (2, 1):  # of the last connection is the latency
        bench.attach()
        for _ in range(packets):
            bench.send(b"x" * 10)
        bench.scheduler.run(9 * BYTE_NS)
        assert (bench.count.delivered + bench.count.refused.total()) % 2 == 0
        assert (bench.station.queued, bench.transport.written[-1]) == (packets, b"x" * 10)
        bench.scheduler.run(15 * BYTE_NS)
        assert bench.station.statistics.latency.count == (0 if lost else packets)
        bench.station.detach()
    refused = {"no_frame": 3} if lost else {}
    assert (bench.count.delivered, bench.count.refused) == (0 if lost else 3, refused)
    bench.attach()
    assert bench.station.statistics.latency.as_dict()["max_ms"] is None
    assert bench.balanced()


def test_never_more_than_one_packet_ahead_and_no_gap_between() -> None:
    bench = StationBench(window=100)
    bench.attach()
    start = bench.scheduler.now()
    for number in range(5):
        bench.send(bytes([number]) * 10)
    assert len(bench.transport.written) == 1
    # Every timer 0.3 ms late: the fifth packet still ends on the line's own schedule.
    bench.scheduler.run_until(start + 50 * BYTE_NS + 400_000, late_ns=300_000)
    assert [data[0] for data in bench.transport.written] == [0, 1, 2, 3, 4]
    assert bench.count.delivered == 5


def test_the_window_bounds_outstanding_frames() -> None:
    bench = StationBench(tokens=True, window=2, baudRate=4_000_000)
    bench.attach()
    for number in range(4):
        bench.send(bytes([number]))
    bench.scheduler.run_until(bench.scheduler.now() + 10_000_000)
    assert len(bench.transport.written) == 2
    bench.station.data_received(b"ack")
    assert len(bench.transport.written) == 3
    bench.station.data_received(b"nak")
    assert bench.count.delivered == 1
    assert bench.count.refused == {"no_ack": 1}
    assert bench.balanced()


def test_a_full_queue_refuses_with_a_reason() -> None:
    """What cannot be sent at all does not block what can."""
    bench = StationBench(bufferSize=25)
    for _ in range(4):
        bench.send(b"x" * 10)
    assert bench.station.queued == 2
    assert bench.count.refused == {"down": 2}  # the port is not up
    bench.attach()
    bench.send(b"y" * 30)
    assert bench.count.refused == {"down": 2, "overflow": 1}
    bench.scheduler.run(30 * BYTE_NS)
    bench.send(b"bad")
    bench.send(b"good")
    assert bench.transport.written[-1] == b"good"
    assert bench.count.refused == {"down": 2, "overflow": 1, "too_long": 1}
    assert bench.balanced()


def test_losing_the_port_counts_what_was_in_flight_and_keeps_the_queue() -> None:
    bench = StationBench(tokens=True, window=1, baudRate=4_000_000)
    bench.attach()
    bench.send(b"a")
    bench.send(b"b")
    bench.station.detach()
    assert bench.count.refused == {"down": 1}
    assert bench.station.queued == 1
    bench.attach()
    assert bench.transport.written == [b"a", b"b"]
    bench.station.close()
    assert bench.balanced()
    assert bench.station.queued == 0
    assert bench.scheduler.waiting == 0


def test_a_module_that_answers_nothing_any_more_is_reported() -> None:
    bench = StationBench(tokens=True, window=10, baudRate=4_000_000)
    failures: list[HilgwError] = []
    bench.station.supervisor = Failures(failures)
    bench.attach()
    bench.session.gives_up_at = bench.scheduler.now() + 100_000_000
    for number in range(SILENT_FRAMES):
        bench.send(bytes([number]))
        bench.scheduler.run_until(bench.scheduler.now() + 1_000_000)
    assert failures == []
    bench.scheduler.run_until(bench.scheduler.now() + 100_000_000)
    assert len(failures) == 1
    assert bench.balanced()


def test_a_deadline_waits_for_what_a_late_event_loop_has_not_read() -> None:
    bench = StationBench(tokens=True, baudRate=4_000_000)
    bench.attach()
    bench.transport.start(bench.station.data_received, lambda error: None)
    for answer, delivered, lost in ((b"ack", 1, {}), (b"", 1, {"no_status": 1})):
        bench.session.gives_up_at = due = bench.scheduler.now() + 100_000_000
        bench.send(b"x")
        bench.transport.pause_reading()
        bench.transport.send(answer)
        bench.scheduler.call_at(due, bench.transport.resume_reading)  # behind the deadline
        bench.scheduler.run(100_000_000)
        assert (bench.count.delivered, bench.count.refused) == (delivered, lost)
    bench.session.gives_up_at = bench.scheduler.now()
    bench.transport.pause_reading()
    bench.send(b"x")
    bench.transport.send(b"ack")  # never read
    bench.scheduler.run(1)
    assert bench.count.refused == {"no_status": 2}
    assert bench.balanced()


def test_an_adapter_that_raises_is_reported_and_the_packet_does_not_come_again() -> None:
    bench = StationBench()
    failures: list[HilgwError] = []
    bench.station.supervisor = Failures(failures)
    bench.attach()
    send, receive = bench.session.send, bench.session.receive

    def poison(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    bench.session.send = poison  # type: ignore[method-assign]
    bench.send(b"poison")
    bench.session.send = send  # type: ignore[method-assign]
    assert [type(error) for error in failures] == [AdapterError]
    assert bench.count.refused == {"fault": 1}
    assert not bench.station.ready
    bench.attach()
    bench.session.receive = poison  # type: ignore[method-assign, assignment]
    bench.station.data_received(b"x")
    bench.session.receive = receive  # type: ignore[method-assign]
    assert len(failures) == 2
    assert "a bug" in str(failures[1])
    assert bench.balanced()


@pytest.mark.parametrize("ends", [True, False])
def test_what_the_end_of_the_run_cuts_off_is_not_lost(ends: bool) -> None:
    """A packet in flight, in both kinds of sessions, and a received frame."""
    for tokens in (False, True):
        bench = StationBench(tokens=tokens)
        bench.attach()
        bench.send(b"x" * 10)
        dropped = [Dropped(each, "") for each in (FrameDropped.BAD_CRC, FrameDropped.TRUNCATED)]
        events = [*bench.session.close(), *dropped]
        bench.session.close = lambda events=events: events
        if ends:
            bench.station.end()
        bench.station.detach()
        assert bench.count.dropped == {"bad_crc": 1, **({} if ends else {"truncated": 1})}
        assert bench.count.expired == ({"in_flight": 1} if ends else {})
        assert bench.count.refused == ({} if ends else {"down": 1})
        assert bench.balanced()
