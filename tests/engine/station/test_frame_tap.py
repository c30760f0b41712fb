"""The frames of a station are events while an observer takes them, and cost nothing else."""

from typing import Any

from hilgw.adapters.base import StationSettings
from hilgw.adapters.uart import ADAPTER as UART
from hilgw.adapters.xbee import ADAPTER as XBEE
from hilgw.devices.steps import StepClock
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Direction, FrameEvent, Observer, Observers
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.scene import Scene
from hilgw.engine.simulated.clock import SimulatedClock
from hilgw.engine.station.frame_tap import LONGEST, FrameTap
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from tests.engine.fakes import StationBench

COMMON = StationSettings(port="/dev/null", channel=5)
SENT, RECEIVED = Direction.SENT, Direction.RECEIVED


class Frames(Observer):
    def __init__(self) -> None:
        self.seen: list[tuple[str, Direction, bytes, str]] = []

    def frame(self, event: FrameEvent) -> None:
        words = event.describe(event.data)
        self.seen.append((event.station, event.direction, event.data, words))


def bench_of(session: Any) -> StationBench:
    """A station with this session of an adapter."""
    bench = StationBench()
    bench.station.session = session
    return bench


def gateway(observers: Observers) -> Gateway:
    clock = SimulatedClock()
    medium = Medium(Ledger(), observer=observers)
    schedule = Schedule(clock, StepClock(clock.now()))
    return Gateway(clock, medium, Scene(medium, clock, 2, schedule, observers), observers)


def test_frames_are_events_only_while_they_are_taken() -> None:
    observers, frames = Observers(), Frames()
    bench = bench_of(UART.session(UART.Settings(framing="lines"), COMMON))
    made, station = gateway(observers), bench.station
    made.stations["xb"] = station
    own = FrameTap(lambda *frame: None)
    station.taps.append(own)
    observers.add(frames, ["frame"])
    bench.attach()
    bench.send(b"ping")
    station.data_received(b"po")
    station.data_received(b"ng\n")
    assert bench.transport.written == [b"ping\n"]
    assert [each[:3] for each in frames.seen] == [
        ("xb", SENT, b"ping\n"),
        ("xb", RECEIVED, b"pong\n"),
    ]
    assert "b'pong'" in frames.seen[1][3]
    observers.remove(frames)
    assert station.taps == [own]


def test_what_a_session_writes_by_itself_is_a_frame_and_what_is_cut_off_comes_at_the_end() -> None:
    seen: list[tuple[Direction, bytes]] = []
    bench = bench_of(XBEE.session(XBEE.Settings(), COMMON))
    bench.station.taps.append(FrameTap(lambda *frame: seen.append(frame)))
    bench.attach()
    bench.scheduler.run_until(bench.scheduler.now() + 3_000_000_000)
    assert [(SENT, data) for data in bench.transport.written] == seen != []
    bench.station.data_received(b"\x7e")
    assert seen[-1] != (RECEIVED, b"\x7e")
    bench.station.detach()
    assert seen[-1] == (RECEIVED, b"\x7e")


def test_many_bytes_without_an_event_are_reported_together() -> None:
    seen: list[tuple[Direction, bytes]] = []
    bench = bench_of(UART.session(UART.Settings(framing="lines"), COMMON))
    bench.station.taps.append(FrameTap(lambda *frame: seen.append(frame)))
    bench.attach()
    for _ in range(LONGEST - 1):
        bench.station.data_received(b"x")
    assert seen == []
    bench.station.data_received(b"x")
    assert seen == [(RECEIVED, LONGEST * b"x")]
