"""Controller, control loop and body over WC2EC in simulated time, between the two mocks.

The mocks are a second reading of the documents and import nothing of hilgw; the glue here stands
for the engine's loop.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from firmware_mocks import wc2ec_controller, wc2ec_node, wc2ec_robot
from firmware_mocks.air import Air
from hilgw.bodies.wc2ec import BODY, Wc2ecBodySettings
from hilgw.control.events import (
    Connected,
    Disconnected,
    Event,
    MotorCommand,
    MotorSettings,
    PacketIn,
    PacketOut,
    ProtocolFailure,
    Registered,
    SensorSwitch,
    SensorValue,
    Stop,
    StopReason,
    Write,
)
from hilgw.controllers.wc2ec import CONTROLLER, Wc2ecControllerSettings
from hilgw.framing import create

MS = 1_000_000
S = 1_000 * MS


class World:
    """Both mocks, both sessions, the glue between, and the clock. Deliveries take no time.

    serial: the controller is the node on a framed line. body_serial: so is the robot. A cut
    line loses what is sent on it, both ways.
    """

    def __init__(
        self,
        *,
        serial: bool = False,
        body_serial: bool = False,
        robot: dict[str, Any] | None = None,
        body: dict[str, Any] | None = None,
        extensions: bool = False,
    ) -> None:
        air = Air()
        kind = wc2ec_node if serial else wc2ec_controller
        self.pilot = kind.create("pilot", air, {})
        frame = {"frame": "cobs-crc16"} if body_serial else {}
        self.robot = wc2ec_robot.create("robot", air, {**frame, **(robot or {})})
        where = {"port": "/dev/ttyR"} if body_serial else {"connect": "tcp://127.0.0.1:27015"}
        settings = Wc2ecBodySettings(**where, **(body or {}), extensions=extensions)
        self.framing = create("cobs-crc16")  # of the body's line
        self.body = BODY.session(settings, "R2020a", self.framing if body_serial else None)
        where = {"port": "/dev/ttyN"} if serial else {"listen": "tcp://127.0.0.1:27016"}
        there = Wc2ecControllerSettings(**where, extensions=extensions)
        self.controller = CONTROLLER.session(
            there, "R2020a", create("cobs-crc16") if serial else None
        )
        self.serial, self.body_serial = serial, body_serial
        self.now = 0
        self.cut_pilot = self.cut_robot = False
        self.events: list[tuple[str, Event]] = []
        self.to_robot = bytearray()

    def start(self) -> None:
        if not self.body_serial:
            self.robot.connect(self.now)
        self.from_body(self.body.open(self.now))
        if not self.serial:
            self.pilot.connect(self.now)
        self.from_controller(self.controller.open(self.now))
        self.run(0)

    # --- glue ---

    def from_body(self, events: list[Event]) -> None:
        values: list[tuple[int, float]] = []
        for event in events:
            match event:
                case Write(data):
                    self.to_robot += data
                    if not self.cut_robot:
                        self.robot.receive(data, self.now)
                    continue
                case SensorValue(index, value):
                    values.append((index, value))
                    continue
                case Registered(device):
                    self.from_controller(self.controller.register(device))
                case PacketIn():
                    self.from_controller(self.controller.deliver(event))
                case ProtocolFailure() | Disconnected():
                    self.from_controller([Stop("body")])
            self.events.append(("body", event))
        if values:
            self.from_controller(self.controller.report(values, self.now))

    def from_controller(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case Write(data):
                    if not self.cut_pilot:
                        self.pilot.receive(data, self.now)
                    continue
                case MotorCommand() | MotorSettings():
                    self.from_body(self.body.command(event, self.now))
                case SensorSwitch(index, period):
                    self.from_body(self.body.switch(index, period, self.now))
                case PacketOut():
                    self.from_body(self.body.send(event, self.now))
                case Stop(reason):
                    self.from_body(self.body.stop(reason, self.now))
            self.events.append(("controller", event))

    # --- time ---

    def run(self, seconds: float) -> None:
        end = self.now + round(seconds * S)
        while True:
            self.settle()
            parts = (self.robot, self.pilot, self.body, self.controller)
            dues = [due for part in parts if (due := part.next_deadline()) is not None]
            due = min(dues, default=end)
            if due > end:
                break
            assert due >= self.now - MS, "a deadline in the past comes again and again"
            self.now = max(self.now, due)
            self.settle()
            if due == end:
                break
        self.now = end

    def settle(self) -> None:
        """All that is due now, until nothing is said any more."""
        for _ in range(100):
            for mock in (self.robot, self.pilot):
                mock.advance(self.now)
            self.from_body(self.body.expire(self.now))
            self.from_controller(self.controller.expire(self.now))
            said = self.robot.take(self.now)
            if said and not self.cut_robot:
                self.from_body(self.body.receive(said, self.now))
            answered = self.pilot.take(self.now)
            if answered and not self.cut_pilot:
                self.from_controller(self.controller.receive(answered, self.now))
            if not said and not answered:
                return
        raise AssertionError("the loop never comes to rest")

    def seen(self, side: str, kind: type) -> list[Event]:
        return [event for who, event in self.events if who == side and isinstance(event, kind)]

    @property
    def wheels(self) -> tuple[float, float]:
        return self.robot.body.wheels


WAYS = [(False, False), (True, False), (False, True), (True, True)]


@pytest.mark.parametrize(("serial", "body_serial"), WAYS)
def test_the_robot_drives_a_minute_without_touching_a_wall(serial: bool, body_serial: bool) -> None:
    world = World(serial=serial, body_serial=body_serial)
    world.start()
    world.run(60)
    room = world.robot.body.room
    assert room.bumps == 0
    assert room.travelled > 3.0  # it drove, and did not turn on the spot for a minute
    assert world.robot.steps >= 2_990
    assert world.body.counts["commands"] >= 5_900
    assert not [name for name in world.body.counts + world.controller.counts if "refused" in name]
    assert not world.seen("controller", Stop)


def test_without_steering_the_same_robot_does_touch_the_wall() -> None:
    world = World(robot={"watchdog_ms": 0})
    world.start()
    world.run(1)
    world.pilot.pilot.see = lambda index, value: False  # type: ignore[method-assign]
    for index in (3, 4):
        world.from_body(world.body.command(MotorCommand(index, "velocity", 5.0), world.now))
    world.run(60)
    assert world.robot.body.room.bumps > 0


def test_devices_are_registered_in_index_order_with_their_kinds() -> None:
    world = World(robot={"lift": "yes"})
    world.start()
    devices = [event.device for event in world.seen("body", Registered)]  # type: ignore[attr-defined]
    assert [(d.index, d.name, d.kind) for d in devices] == [
        (0, "ds_left", "DistanceSensor"),
        (1, "ds_front", "DistanceSensor"),
        (2, "ds_right", "DistanceSensor"),
        (3, "left_wheel", "RotationalMotor"),
        (4, "right_wheel", "RotationalMotor"),
        (5, "lift", "LinearMotor"),
    ]
    assert world.pilot.pilot.ids["lift"] == 5


def test_a_controller_that_leaves_stops_the_wheels_once() -> None:
    world = World()
    world.start()
    world.run(1)
    assert any(world.wheels)
    before = len(world.to_robot)
    world.pilot.disconnect(world.now)
    world.from_controller(world.controller.close())
    world.run(0.1)
    assert world.wheels == (0.0, 0.0)
    assert bytes(world.to_robot[before:]) == bytes.fromhex(
        "82350300000000000000008235040000000000000000"
    )
    world.from_controller(world.controller.close())
    world.from_body(world.body.stop("again", world.now))
    assert len(world.to_robot) == before + 22
    assert world.body.counts["stops"] == 1
    world.pilot.connect(world.now)
    world.from_controller(world.controller.open(world.now))
    world.run(1)
    assert any(world.wheels)


def test_a_node_that_falls_silent_stops_the_wheels_and_is_registered_again() -> None:
    world = World(serial=True, robot={"watchdog_ms": 0})
    world.start()
    world.run(2)
    assert any(world.wheels)
    world.cut_pilot = True
    world.run(0.49)
    assert any(world.wheels)
    world.run(0.05)
    assert world.wheels == (0.0, 0.0)
    assert [event.reason for event in world.seen("controller", Stop)] == ["silence"]  # type: ignore[attr-defined]
    assert world.pilot.tripped == 1 and world.pilot.wheels == (0.0, 0.0)
    world.pilot.reset(world.now)  # it forgot all names: only a registration brings them back
    world.cut_pilot = False
    world.run(1.2)
    assert any(world.wheels)
    assert len(world.seen("controller", Connected)) == 2


def test_a_gateway_that_freezes_trips_the_watchdog_of_the_node_in_time() -> None:
    node = wc2ec_node.create("node", Air(), {})
    world = World(serial=True)
    world.pilot = node
    world.start()
    world.run(1)
    assert any(node.wheels)
    node.take(world.now)
    frozen = world.now
    while any(node.wheels):
        due = node.next_deadline()
        assert due is not None
        node.advance(due)
        said = node.take(due)
        assert due <= frozen + 300 * MS
    assert b"\x82\x35" in said  # and it says so on the wire


def test_a_serial_robot_that_vanishes_and_returns_goes_on() -> None:
    world = World(body_serial=True)
    world.start()
    world.run(2)
    assert any(world.wheels)
    world.cut_robot = True
    world.run(1)
    assert world.wheels == (0.0, 0.0)  # its own watchdog
    assert len(world.seen("body", Disconnected)) == 1
    world.cut_robot = False
    world.run(2)
    assert len(world.seen("body", Connected)) == 2
    assert any(world.wheels)
    assert world.robot.body.room.bumps == 0


def test_a_lossy_line_drives_on_and_every_damaged_frame_is_counted() -> None:
    """One byte in 200 is changed, both ways; values, commands and stops come through in the end."""
    world = World(body_serial=True)
    noise = random.Random(7)
    to_robot, to_body = world.robot.receive, world.body.receive

    def damaged(data: bytes) -> bytes:
        return bytes(
            byte ^ 1 << noise.randrange(8) if noise.random() < 1 / 200 else byte for byte in data
        )

    world.robot.receive = lambda data, now: to_robot(damaged(data), now)
    world.body.receive = lambda data, now: to_body(damaged(data), now)
    world.start()
    world.run(20)
    assert sum(world.framing.dropped.values()) > 50
    assert world.robot.body.room.travelled > 1.0
    assert not world.seen("body", ProtocolFailure)
    world.from_body(world.body.stop(StopReason.COMMAND_TIMEOUT, world.now))
    world.cut_pilot = True
    world.run(1)
    assert world.wheels == (0.0, 0.0)


def test_a_serial_robot_stays_connected_while_the_controller_is_silent() -> None:
    world = World(body_serial=True)
    world.from_body(world.body.open(0))
    world.run(5)
    assert world.robot.stops == 0
    assert world.wheels == (0.0, 0.0)
    assert not world.seen("body", Disconnected)


def test_packets_pass_both_ways_with_the_extension() -> None:
    world = World(extensions=True, robot={"dialect": "full"})
    world.start()
    world.run(0.1)
    names = {device.name: device.index for device in world.body.devices}
    assert [d.kind for d in world.body.devices][-2:] == ["Emitter", "Receiver"]
    out = PacketOut(names["emitter"], 7, bytes(range(256)))
    world.from_body(world.body.send(out, world.now))
    world.pilot.closing = False
    world.run(0.05)
    (packet,) = world.seen("body", PacketIn)
    assert isinstance(packet, PacketIn)
    assert (packet.channel, packet.data) == (7, bytes(range(256)))
    assert packet.signal_strength > 0
    assert sum(each * each for each in packet.direction) == pytest.approx(1)


def test_a_flood_of_250_sensors_is_carried_whole() -> None:
    world = World(robot={"sensors": 248})
    world.start()
    world.run(2)
    assert len(world.body.devices) == 250
    assert world.pilot.values == 248 * world.robot.steps
    assert world.robot.stalled == 0
