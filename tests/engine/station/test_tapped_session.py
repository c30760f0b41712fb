"""The frames of a station are events while an observer takes them, and cost nothing else."""

from __future__ import annotations

from hilgw.adapters.base import Delivered, NetworkSession, StationSettings, Transmission, Write
from hilgw.adapters.uart import ADAPTER as UART
from hilgw.adapters.xbee import ADAPTER as XBEE
from hilgw.devices.steps import StepClock
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Direction, FrameEvent, Observer, Observers
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.scene import Scene
from hilgw.engine.simulated.clock import SimulatedClock
from hilgw.engine.station.tapped_session import TappedSession, tapped
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Packet

COMMON = StationSettings(port="/dev/null")
SENT, RECEIVED = Direction.SENT, Direction.RECEIVED


class Frames(Observer):
    def __init__(self) -> None:
        self.seen: list[tuple[str, Direction, bytes, str]] = []

    def frame(self, event: FrameEvent) -> None:
        words = event.describe(event.data)
        self.seen.append((event.station, event.direction, event.data, words))


class Station:
    """As far as the gateway taps one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.session = UART.session(UART.Settings(framing="lines"), COMMON)


def gateway(observers: Observers) -> Gateway:
    clock = SimulatedClock()
    medium = Medium(Ledger(), observer=observers)
    schedule = Schedule(clock, StepClock(clock.now()))
    return Gateway(clock, medium, Scene(medium, clock, 2, schedule, observers), observers)


def test_frames_are_events_only_while_they_are_taken() -> None:
    observers, frames, station = Observers(), Frames(), Station("uart0")
    made = gateway(observers)
    made.stations["uart0"] = station  # type: ignore[assignment]
    own = station.session
    observers.add(frames, ["frame"])
    station.session.open(0)
    assert isinstance(station.session.send(Packet(b"ping", 0, "serial", "a"), 0), Transmission)
    station.session.receive(b"po", 0)
    station.session.receive(b"ng\n", 0)
    assert [each[:3] for each in frames.seen] == [
        ("uart0", SENT, b"ping\n"),
        ("uart0", RECEIVED, b"pong\n"),
    ]
    assert "b'pong'" in frames.seen[1][3]
    observers.remove(frames)
    assert station.session is own


def test_what_a_session_writes_by_itself_and_a_network_session_stays_one() -> None:
    seen: list[tuple[Direction, bytes]] = []
    own = XBEE.session(XBEE.Settings(), COMMON)
    session = tapped(own, lambda *frame: seen.append(frame))
    assert isinstance(session, NetworkSession) and isinstance(session, TappedSession)
    writes = [event.data for event in session.open(0) if isinstance(event, Write)]
    while (due := session.next_deadline()) is not None and not writes:
        writes = [event.data for event in session.expire(due) if isinstance(event, Write)]
    assert [data for _, data in seen] == writes and writes
    assert session.command("0013A2004AB67FB2", "D4", b"", 0, 0) == []  # it is not ready
    session.receive(b"\x7e", 0)
    assert Delivered(1) not in session.close()
    assert seen[-1] == (RECEIVED, b"\x7e")
