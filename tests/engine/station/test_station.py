"""The station: queue, window, pacing, its ledger, and what the user reads of packets that wait."""

import asyncio
import socket
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.adapters.base import Dropped
from hilgw.engine.observer import State
from hilgw.engine.station.line import LinePacer
from hilgw.engine.station.station import SILENT_FRAMES
from hilgw.engine.station.station_watch import StationTraffic, StationWatch, StationWatches
from hilgw.errors import AdapterError
from hilgw.framing.base import TURN_BYTES, FrameDropped
from hilgw.reasons import PacketRefused
from hilgw.testing.sim import Clock, Recorder
from hilgw.transports.stream import FdStream
from tests.engine.fakes import Failures, StationBench

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
    bench.station.supervisor = failures = Failures()
    bench.attach()
    bench.session.gives_up_at = bench.scheduler.now() + 100_000_000
    for number in range(SILENT_FRAMES):
        bench.send(bytes([number]))
        bench.scheduler.run_until(bench.scheduler.now() + 1_000_000)
    assert failures.errors == []
    bench.scheduler.run_until(bench.scheduler.now() + 100_000_000)
    assert len(failures.errors) == 1
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
    bench.station.supervisor = failures = Failures()
    bench.attach()
    send, receive = bench.session.send, bench.session.receive

    def poison(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    bench.session.send = poison  # type: ignore[method-assign]
    bench.send(b"poison")
    bench.session.send = send  # type: ignore[method-assign]
    assert [type(error) for error in failures.errors] == [AdapterError]
    assert bench.count.refused == {"fault": 1}
    assert not bench.station.ready
    bench.attach()
    bench.session.receive = poison  # type: ignore[method-assign, assignment]
    bench.station.data_received(b"x")
    bench.session.receive = receive  # type: ignore[method-assign]
    assert len(failures.errors) == 2
    assert "a bug" in str(failures.errors[1])
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


SIZES = st.lists(st.integers(1, 5000), min_size=1, max_size=60)


@given(SIZES, st.integers(50, 4_000_000), st.integers(10, 12))
def test_a_backlog_ends_when_its_bits_have_passed(sizes: list[int], baud: int, bits: int) -> None:
    line = LinePacer(baud, bits)
    ends = [line.occupy(size, 1000, backlog=index > 0) for index, size in enumerate(sizes)]
    exact = Fraction(1000)
    for size, end in zip(sizes, ends, strict=True):
        exact += Fraction(size * bits * 1_000_000_000, baud)
        assert 0 <= end - exact < 1


def test_a_late_wake_up_keeps_the_schedule_but_an_idle_line_starts_anew() -> None:
    line = LinePacer(1_000_000_000, 10)  # 10 ns a byte
    assert line.occupy(10, 0) == 100
    assert line.occupy(10, 130, backlog=True) == 200
    assert line.occupy(10, 500) == 600
    line.reset()
    assert line.is_free(0)


S = 1_000_000_000
QUIET = StationTraffic(
    State.UP, "", 1, queued=0, delivered=0, unacknowledged=0, received=0, received_ns=0
)


def looks(*traffic: StationTraffic, is_listening: bool = True) -> list[str]:
    """The lines of looks once a second, at this traffic."""
    watch = StationWatch("the baud rate (9600)")
    lines = [
        watch.look(second * S, each, is_listening=is_listening)
        for second, each in enumerate(traffic)
    ]
    return [line for line in lines if line]


def sending(seconds: int, **more: Any) -> list[StationTraffic]:
    """Two packets a second."""
    return [replace(QUIET, delivered=2 * second, **more) for second in range(seconds)]


@pytest.mark.parametrize(
    ("state", "reason", "why"),
    [
        (State.WAITING, "no such device", "waiting: no such device"),
        (State.RELEASED, "to avrdude (process 7)", "released to avrdude (process 7)"),
    ],
)
def test_packets_that_wait_for_a_port_are_named_again(state: State, reason: str, why: str) -> None:
    down = replace(QUIET, state=state, reason=reason, connections=0, queued=7)
    assert looks(*[down] * 25) == [f"queued 7, sent 0: waits for its port ({why})"] * 3
    assert looks(*[replace(down, queued=0)] * 25) == []


def test_a_handshake_may_take_its_time() -> None:
    starts = replace(QUIET, state=State.HANDSHAKE, connections=0, queued=7)
    assert looks(starts, starts, replace(QUIET, delivered=7)) == []


def test_many_packets_and_nothing_back_is_reported_once_for_each_connection() -> None:
    lines = looks(*sending(30))
    assert lines == ["10 packets out in 5 s, and nothing came back; check the baud rate (9600)"]
    again = [replace(each, connections=2, delivered=each.sent + 60) for each in sending(30)]
    assert len(looks(*sending(30), *again)) == 2


def test_it_is_reported_only_where_something_listens_and_nothing_came() -> None:
    assert looks(*sending(30), is_listening=False) == []
    answered = [replace(each, received=int(each.sent > 4)) for each in sending(30)]
    assert looks(*answered) == []


def test_few_packets_and_a_short_time_mean_nothing() -> None:
    assert looks(*[replace(QUIET, delivered=min(second, 4)) for second in range(60)]) == []
    assert looks(*sending(5)) == []
    late = [QUIET] * 20 + [replace(QUIET, delivered=20)] * 3
    assert looks(*late) == []


def test_bytes_that_are_no_packet_have_the_line_of_the_session_alone() -> None:
    down = replace(QUIET, state=State.HANDSHAKE, connections=0)
    answered = [replace(each, received_ns=7) for each in sending(30)]
    assert len(looks(down, *answered)) == 1  # the handshake alone was answered
    assert looks(down, *sending(3), *answered[3:]) == []


def test_packets_that_no_module_acknowledges_need_no_receiver() -> None:
    lost = [replace(QUIET, unacknowledged=2 * second) for second in range(30)]
    for is_listening, reason in ((False, "none was acknowledged"), (True, "nothing came back")):
        lines = looks(*lost, is_listening=is_listening)
        assert lines == [f"10 packets out in 5 s, and {reason}; check the baud rate (9600)"]
    one = [replace(each, delivered=int(each.sent > 4)) for each in lost]
    assert looks(*one, is_listening=False) == []


def test_all_stations_are_looked_at_until_the_end() -> None:
    clock, observer = Clock(), Recorder()
    watches = StationWatches(clock, observer)
    down = replace(QUIET, state=State.WAITING, queued=1)
    watches.add("xb0", "", lambda: down, lambda: True)
    watches.start()
    clock.run(4 * S)
    assert observer.notices == ["queued 1, sent 0: waits for its port (waiting)"]
    watches.stop()
    clock.run(60 * S)
    assert len(observer.notices) == 1
