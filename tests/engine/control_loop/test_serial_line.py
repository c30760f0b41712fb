"""Loops over serial lines, in simulated time: pace, silence, peers that cannot be disconnected."""

import struct
from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from firmware_mocks.wc2ec import wire
from firmware_mocks.wc2ec.cobs import FrameReader, frame
from hilgw.bodies.wc2ec import BODY
from hilgw.bodies.wc2ec.settings import Wc2ecBodySettings
from hilgw.control.events import Event, Notice, ProtocolFailure, Write
from hilgw.controllers.wc2ec import CONTROLLER
from hilgw.engine.control_loop.peer_link import PeerLink, PeerListener
from hilgw.engine.observer import CommandEvent
from hilgw.engine.station.line import LinePacer
from hilgw.framing import create
from hilgw.testing.sim import Clock, FakeTransport
from tests.bodies.bench import CREATE2, DYNAMIXEL, EPUCK, FEETECH, GCODE, KHEPERA
from tests.e2e.control_loop_peers import (
    CAB,
    DISTANCE,
    ROTATIONAL,
    Devices,
    registrations,
    sensor_data,
    set_value,
)
from tests.engine.control_loop.fakes import MS, FakeLoop, Wire

GO = set_value(1, 5.0)
MANY: Devices = (*((DISTANCE, f"ds{n}") for n in range(40)), (ROTATIONAL, "left"))


def frames(connection: Wire) -> list[bytes]:
    """The messages in what was written; the frames are forgotten."""
    reader = FrameReader()
    messages = reader.feed(connection.data())
    assert reader.bad == 0
    connection.written.clear()
    return messages


def on_lines(devices: Devices = CAB, **settings: object) -> FakeLoop:
    """Both ports are open, the robot has registered, the controller has spoken."""
    slow = {"step_ms": 1000}  # the robot sends its values seldom enough for its line
    loop = FakeLoop(devices, serial=True, body=slow, **settings)  # type: ignore[arg-type]
    loop.body.attach(loop.robot)  # type: ignore[arg-type]
    loop.controller.attach(loop.pilot)  # type: ignore[arg-type]
    loop.body.data_received(b"".join(map(frame, registrations(devices))))
    loop.controller.data_received(frame(wire.bare(wire.ENABLE_SENSOR, DISTANCE, 0)))
    assert frames(loop.pilot) == registrations(devices)
    live(loop, 100)
    loop.robot.written.clear()
    loop.pilot.written.clear()
    return loop


def live(loop: FakeLoop, milliseconds: int) -> None:
    """Time passes, and both peers give their sign of life."""
    for _ in range(milliseconds // 50):
        loop.body.data_received(frame(sensor_data(0, 0.0)))
        loop.controller.data_received(frame(wire.bare(wire.ENABLE_SENSOR, DISTANCE, 0)))
        loop.run(50)


def test_devices_that_no_version_names_pass_under_their_number_and_keep_their_place() -> None:
    devices: Devices = ((200, "new"), (DISTANCE, "ds"), (0, "none"), (255, "last"))
    loop = FakeLoop(devices, serial=True)
    loop.body.attach(loop.robot)  # type: ignore[arg-type]
    loop.controller.attach(loop.pilot)  # type: ignore[arg-type]
    loop.body.data_received(b"".join(map(frame, registrations(devices))))
    assert frames(loop.pilot) == registrations(devices)


def test_frames_that_were_damaged_are_in_the_report_by_reason() -> None:
    loop = on_lines()
    loop.controller.data_received(b"\x04\x80\x26\x01\0\x09\x01\0" + frame(GO))
    counts = loop.loop.report()["counts"]["controller"]
    assert (counts["frames_bad_crc"], counts["frames_bad_code"], counts["commands"]) == (1, 1, 1)


def test_a_line_gets_no_more_than_it_carries_and_then_the_newest() -> None:
    loop = on_lines(MANY, baud_rate=9600)
    step = 0
    live(loop, 2_000)  # the registrations are out
    written = len(loop.pilot.data())
    for step in range(1, 26):  # half a second of 40 sensors at 50 steps a second: 30 kB
        values = (frame(sensor_data(index, float(step))) for index in range(40))
        loop.body.data_received(b"".join(values))
        loop.scheduler.run_until(loop.scheduler.time + 20 * MS)
    # 9600 baud carry 480 bytes in that time, and one step of 40 frames may be on its way.
    assert len(loop.pilot.data()) - written < 480 + 2 * 40 * 15
    for _ in range(20):
        loop.run(100)
        loop.body.data_received(frame(sensor_data(0, 25.0)))
    shown = {
        index: value
        for _, _, index, value in (
            struct.unpack("<BBBd", each) for each in frames(loop.pilot) if len(each) == 11
        )
    }
    assert shown == {index: float(step) for index in range(40)}
    assert loop.statistics.counts["values_superseded"] > 40 * 20


def test_a_command_that_would_wait_for_half_a_second_stops_the_robot_and_ends_its_line() -> None:
    loop = on_lines(baud_rate=9600)
    live(loop, 2_000)  # the registrations are out
    loop.controller.data_received(frame(GO))
    loop.body.handle([Write(bytes(600))], loop.scheduler.time)
    loop.robot.written.clear()
    loop.controller.data_received(frame(set_value(1, 9.0)))
    assert loop.safety.stops == {"behind": 1}
    assert {*frames(loop.robot)} == {set_value(1, 0.0), set_value(2, 0.0)}
    ((name, error), *_) = loop.failures
    assert (name, error.what) == ("cab.body", "the line is full")


@pytest.mark.parametrize(("unsent", "times"), [(1, 1), (300, 2)])
def test_the_stop_of_one_motor_is_written_twice_after_a_frame_that_was_cut(
    unsent: int, times: int
) -> None:
    loop = on_lines(baud_rate=9600)
    live(loop, 2_000)  # the registrations are out
    loop.controller.data_received(frame(GO))
    loop.body.handle([Write(bytes(unsent))], loop.scheduler.time)
    loop.robot.written.clear()
    loop.loop.safety.stops.write_motor(1, loop.scheduler.time)
    assert frames(loop.robot) == [set_value(1, 0.0)] * times


def test_a_silent_controller_stops_the_motors_and_is_registered_anew() -> None:
    loop = on_lines()
    loop.controller.data_received(frame(GO))
    frames(loop.robot)
    begin = loop.scheduler.time
    loop.body.data_received(frame(sensor_data(0, 1.0)))
    while not loop.safety.stops:
        loop.run(10)
        loop.body.data_received(frame(sensor_data(0, 1.0)))
        assert loop.scheduler.time - begin <= 520 * MS
    assert loop.safety.stops == {"silence": 1}
    stop = [set_value(1, 0.0), set_value(2, 0.0)]
    assert frames(loop.robot)[-2:] == stop
    loop.pilot.written.clear()
    for _ in range(11):
        loop.run(100)
        loop.body.data_received(frame(sensor_data(0, 1.0)))
    assert registrations(CAB)[0] in frames(loop.pilot)
    loop.controller.data_received(frame(GO))  # it is back
    assert frames(loop.robot)[-1] == GO


def test_a_dropped_peer_on_a_line_is_not_listened_to_for_a_moment() -> None:
    loop = on_lines(late_s=0.5)
    loop.controller.data_received(frame(GO))
    frames(loop.robot)
    loop.scheduler.time += 2_000 * MS  # the gateway was suspended
    loop.controller.data_received(frame(set_value(1, 9.0)))
    loop.controller.data_received(frame(set_value(2, 9.0)))
    stop = [set_value(1, 0.0), set_value(2, 0.0)]
    assert frames(loop.robot) == stop
    assert loop.safety.stops == {"late": 1}
    assert loop.controller.transport is loop.pilot  # a port is not closed for that
    loop.scheduler.time += 100 * MS
    loop.watchdog.check(loop.scheduler.time)
    loop.controller.data_received(frame(GO))
    assert frames(loop.robot) == [GO]


def test_a_body_that_falls_silent_takes_its_controller_along_and_both_come_back() -> None:
    loop = on_lines()
    loop.controller.data_received(frame(GO))
    loop.run(600)
    assert loop.safety.stops.total() == 1
    loop.controller.data_received(frame(GO))
    assert frames(loop.robot)[-1] != GO
    loop.pilot.written.clear()
    loop.run(200)
    loop.body.data_received(frame(sensor_data(0, 1.0)))  # the robot again, still configured
    assert frames(loop.pilot)[: len(CAB)] == registrations(CAB)
    loop.controller.data_received(frame(GO))
    assert frames(loop.robot)[-1] == GO


def test_a_robot_with_other_devices_moves_nothing_that_was_meant_for_the_first() -> None:
    """A microcontroller goes on by the ids it has until it has read the new ones."""
    loop = on_lines()
    loop.controller.data_received(frame(GO))
    assert loop.loop.report()["sensors"] == {"ds": 0.0}
    loop.body.detach()
    loop.run(200)
    other: Devices = ((DISTANCE, "eye"), (ROTATIONAL, "saw"), (ROTATIONAL, "left"))
    loop.robot = Wire()
    loop.body.attach(loop.robot)  # type: ignore[arg-type]
    loop.pilot.written.clear()
    loop.body.data_received(b"".join(map(frame, registrations(other))))
    assert frames(loop.pilot) == registrations(other)
    loop.controller.data_received(frame(GO))  # sent before it could read them: no saw
    live(loop, 100)
    assert GO not in frames(loop.robot)
    live(loop, 200)
    assert loop.loop.report()["sensors"] == {"eye": 0.0}  # those of the first are forgotten
    loop.controller.data_received(frame(set_value(2, 5.0)))
    assert frames(loop.robot)[-1] == set_value(2, 5.0)


def test_of_commands_that_would_wait_for_their_line_the_newest_is_sent() -> None:
    loop = on_lines(baud_rate=1200)
    observed: list[CommandEvent] = []
    loop.observer.motor_command = observed.append
    for speed in range(1, 50):
        loop.controller.data_received(frame(set_value(1, speed / 10)))
    loop.run(300)
    out = [each for each in frames(loop.robot) if each[0] == wire.SET_VALUE]
    assert 2 <= len(out) <= 4 and out[-1] == set_value(1, 4.9)
    counts = loop.statistics.counts
    assert counts["commands_superseded"] > 40
    assert counts["commands_in"] == counts["commands_out"] + counts["commands_superseded"] == 49
    outcomes = Counter(each.outcome for each in observed)
    assert outcomes["sent"] == counts["commands_out"]
    assert outcomes["waits"] == outcomes["replaced"] + 1 == counts["commands_superseded"] + 1
    assert not loop.failures


def test_a_stop_overtakes_the_commands_that_wait_for_the_line() -> None:
    loop = on_lines(baud_rate=1200)
    for speed in range(1, 50):
        loop.controller.data_received(frame(set_value(1, speed / 10)))
    loop.controller.detach()
    for _ in range(30):  # until all copies of the stop have left, and longer
        loop.body.data_received(frame(sensor_data(0, 0.0)))
        loop.run(100)
    out = [each for each in frames(loop.robot) if each[0] == wire.SET_VALUE]
    stop = [set_value(1, 0.0), set_value(2, 0.0)]
    assert set(out[out.index(stop[0]) :]) == set(stop)
    counts = loop.statistics.counts
    assert counts["commands_in"] == counts["commands_out"] + counts["commands_superseded"]


def test_a_deadline_counts_from_when_the_line_has_carried_what_the_controller_waits_for() -> None:
    loop = on_lines(MANY, baud_rate=9600, command_timeout_s=0.2)
    live(loop, 2_000)
    values = (frame(sensor_data(index, 1.0)) for index in range(40))
    loop.body.data_received(b"".join(values))
    delay_ms = loop.controller.write_delay_ns(loop.scheduler.time) // MS
    assert 300 < delay_ms < 700
    loop.controller.data_received(frame(set_value(40, 5.0)))
    loop.run((delay_ms + 150) // 10 * 10)
    assert "command_timeout" not in loop.safety.stops


def test_a_period_that_no_clock_can_count_closes_no_line() -> None:
    """Each is refused; none is a fault of the session, which would use up its restarts."""
    loop = on_lines()
    endless = bytes((wire.SET_SENSOR, DISTANCE, 0)) + struct.pack("<d", 1.9e302)
    for _ in range(10):
        loop.controller.data_received(frame(endless))
    loop.controller.data_received(frame(GO))
    assert frames(loop.robot) == [GO]
    assert loop.loop.report()["refused"] == {"out_of_range": 10}


def test_bytes_that_no_session_understands_are_named_after_two_seconds() -> None:
    loop = FakeLoop(serial=True)
    loop.body.attach(loop.robot)  # type: ignore[arg-type]
    for _ in range(5):
        loop.body.data_received(b"temp=20\r\n")
    loop.run(1_900)
    assert loop.observer.notices == []
    loop.run(200)
    text = (
        '45 bytes, no frame yet; begins "temp=20\\r\\ntemp=20": it sends "temp=20": text in '
        "place of its answers. Is this port its console?"
    )
    assert loop.observer.notices == [text]
    loop.body.data_received(b"temp=20\r\n")
    loop.run(5_000)
    assert loop.observer.notices == [text]


def test_on_a_slow_line_the_longest_frame_has_its_time() -> None:
    """1024 bytes take 34 s at 300 baud."""
    loop = FakeLoop(serial=True, baud_rate=300)
    loop.body.attach(loop.robot)  # type: ignore[arg-type]
    for byte in Random(2).randbytes(900).replace(b"\0", b"\x91"):
        loop.body.data_received(bytes((byte,)))
        loop.run(30)
    assert not [text for text in loop.observer.notices if "no frame yet" in text]
    for byte in Random(3).randbytes(300).replace(b"\0", b"\x91"):
        loop.body.data_received(bytes((byte,)))
        loop.run(30)
    assert [text for text in loop.observer.notices if "no frame yet" in text]


def test_a_peer_that_registers_in_time_is_understood() -> None:
    loop = FakeLoop(serial=True)
    loop.body.attach(loop.robot)  # type: ignore[arg-type]
    loop.body.data_received(b"booting\r\n\0")
    loop.run(1_500)
    loop.body.data_received(b"".join(map(frame, registrations(CAB))))
    loop.run(5_000)
    assert not [text for text in loop.observer.notices if "no frame yet" in text]


NOISE = Random(3).randbytes(600)
ON_LINES = {
    "create2": lambda: CREATE2.bench().session,
    "e-puck": lambda: EPUCK.bench().session,
    "dynamixel": lambda: DYNAMIXEL.bench().session,
    "feetech": lambda: FEETECH.bench().session,
    "khepera": lambda: KHEPERA.bench().session,
    "gcode": lambda: GCODE.bench().session,
    "wc2ec body": lambda: BODY.session(Wc2ecBodySettings(port="x"), "R2025a", create("cobs-crc16")),
    "wc2ec controller": lambda: CONTROLLER.session(
        CONTROLLER.Settings(port="x"), "R2025a", create("cobs-crc16")
    ),
}


@pytest.mark.parametrize("kind", ON_LINES)
def test_bytes_that_never_become_a_frame_are_named_once_in_each_connection(kind: str) -> None:
    """Of every kind of body and controller that has a serial line."""
    clock, transport, listener = Clock(), FakeTransport(), Events()
    watchdog: Any = SimpleNamespace(check=lambda now: None, late_until_ns=0)
    link = PeerLink(kind, ON_LINES[kind](), clock, watchdog, LinePacer(115_200, 10))
    link.listener = listener
    for connections in (1, 2):
        link.attach(transport)  # type: ignore[arg-type]
        for begin in range(0, len(NOISE), 10):
            link.data_received(NOISE[begin : begin + 10])
            clock.run(100 * MS)
        link.detach()
        assert len([text for text in listener.notices if "no frame yet; " in text]) == connections
        assert listener.errors == []


class Events(PeerListener):
    def __init__(self) -> None:
        self.notices: list[str] = []
        self.errors: list[Event] = []

    def events(self, events: list[Event], now: int) -> None:
        self.notices += [event.text for event in events if isinstance(event, Notice)]
        self.errors += [event for event in events if isinstance(event, ProtocolFailure)]
