"""Body sessions before their mocks, in simulated time and in real time, and the kinds of robots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from firmware_mocks import webots_simulator
from firmware_mocks.air import Air
from hilgw.bodies.create2 import BODY as CREATE2_BODY, Create2Settings
from hilgw.bodies.dynamixel import BODY as DYNAMIXEL_BODY, DynamixelSettings
from hilgw.bodies.epuck import BODY as EPUCK_BODY, EPuckSettings
from hilgw.bodies.feetech import BODY as FEETECH_BODY, FeetechSettings
from hilgw.bodies.text import BODY as TEXT_BODY
from hilgw.bodies.text.settings import TextBodySettings
from hilgw.bodies.webots import BODY, WebotsBodySettings
from hilgw.bodies.webots.session import WebotsBodySession
from hilgw.config.load import load_config
from hilgw.control import events as control
from hilgw.control.events import Connected, ProtocolFailure
from hilgw.devices.kinds import Refusal
from hilgw.engine.mock_host import create_mock
from hilgw.plugins import new_air
from hilgw.testing.co_simulation import BodyLine

MS = 1_000_000


def commanded(session: Any, command: control.Command, now: int) -> list[control.Event]:
    """The events of a command, and those that the control loop makes of its outcome."""
    outcome, events = session.command(command, now)
    if not isinstance(outcome, Refusal):
        return list(events)
    return [*events, control.RefusedRequest(command.index, outcome.reason, outcome.text)]


class BodyBench(BodyLine):
    """With motors and sensors by their names. delay_ms: of what the robot sends, which arrives in
    order, as behind a USB adapter."""

    session: Any
    delay_ms = 0
    _arrives = 0  # what was last delayed

    def collected(self, data: bytes) -> None:
        arrive, due = super().collected, self.now + self.delay_ms * MS
        if due == self.now > self._arrives:
            arrive(data)
        else:
            self._arrives = max(due, self._arrives)
            self.world.clock.call_at(self._arrives, lambda: arrive(data))

    def open(self, milliseconds: int = 200) -> None:
        self.connect()
        self.run(milliseconds)

    def index(self, name: str) -> int:
        device = self.session.devices.by_name(name)
        assert device is not None, name
        return int(device.index)

    def command(self, name: str, field: str, value: float) -> list[Any]:
        return self.give(control.MotorCommand(self.index(name), field, value))

    def settings(self, name: str, *values: float) -> list[Any]:
        """Position, velocity, acceleration and available torque at once."""
        return self.give(control.MotorSettings(self.index(name), *values))

    def give(self, command: control.Command) -> list[Any]:
        """Returns the events of a command but Write."""
        return self.handle(commanded(self.session, command, self.now))

    def enable(self, name: str, period_ms: float | None = None) -> None:
        self.handle(self.session.switch(self.index(name), period_ms, self.now))

    def found(self, kind: type[Any]) -> list[Any]:
        """The events of this kind; forgets them."""
        events = self.of(kind)
        self.events = [event for event in self.events if not isinstance(event, kind)]
        return events

    def values(self) -> dict[str, Any]:
        """The last value of each sensor by name; forgets them."""
        return {
            self.session.devices.by_index(event.index).name: event.value
            for event in self.found(control.SensorValue)
        }


LEFT, RIGHT = "left wheel motor", "right wheel motor"
CONFIGS = Path(__file__).parents[2] / "configs"


@dataclass(frozen=True)
class Robot:
    """body: the BODY. settings: makes its settings. open_ms: how long its handshake takes."""

    body: Any
    settings: Callable[..., Any]
    open_ms: int

    def bench(self, mock: dict[str, Any] | None = None, **settings: Any) -> BodyBench:
        made = self.settings(**settings)
        assert self.body.check(made) == []
        spec = self.body.mock(made, "R2025a")
        robot = create_mock(spec.name, "robot", new_air(), {**spec.parameters, **(mock or {})})
        return BodyBench(self.body.session(made, "R2025a"), robot)

    def up(self, mock: dict[str, Any] | None = None, **settings: Any) -> BodyBench:
        """After its handshake; the events and bytes until then are forgotten."""
        made = self.bench(mock, **settings)
        made.open(self.open_ms)
        assert len(made.found(Connected)) == 1
        made.values()
        assert made.events == []
        made.written.clear()
        return made


@cache
def shipped(name: str) -> TextBodySettings:
    config = load_config(str(CONFIGS / f"{name}.yaml"), [], None).config
    (robot,) = config.robots.values()
    assert robot.body is not None
    settings: TextBodySettings = robot.body.settings
    return settings


def _on_a_line(settings: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **changes: settings(port="/dev/x", **changes)


CREATE2 = Robot(CREATE2_BODY, _on_a_line(Create2Settings), 200)
EPUCK = Robot(EPUCK_BODY, _on_a_line(EPuckSettings), 600)
DYNAMIXEL = Robot(DYNAMIXEL_BODY, _on_a_line(DynamixelSettings), 300)
FEETECH = Robot(FEETECH_BODY, _on_a_line(FeetechSettings), 300)
KHEPERA = Robot(TEXT_BODY, lambda **changes: replace(shipped("khepera"), **changes), 400)
GCODE = Robot(TEXT_BODY, lambda **changes: replace(shipped("gcode"), **changes), 400)


DEVICES = (
    "receiver:Receiver channel=12, emitter:Emitter channel=12, left:RotationalMotor, "
    "right:RotationalMotor, lift:LinearMotor minPosition=0 maxPosition=0.2, lift_at:PositionSensor,"
    " ds:DistanceSensor, led:LED, light:LightSensor, accelerometer:Accelerometer, gyro:Gyro, "
    "compass:Compass, gps:GPS, imu:InertialUnit, bumper:TouchSensor, force:TouchSensor type=force, "
    "force3d:TouchSensor type=force-3d, brake:Brake"
)


def body(version: str = "R2025a", **settings: Any) -> WebotsBodySession:
    return BODY.session(WebotsBodySettings(**{"robot": "gateway"} | settings), version)


class WebotsLine(BodyBench):
    """steps: so many steps of the world, 32 ms."""

    def __init__(self, session: WebotsBodySession | None = None, **simulator: Any) -> None:
        given = {"robots": "gateway", "devices": DEVICES, **simulator}
        mock = webots_simulator.create("webots", Air(), given)
        super().__init__(session or body(), mock, on_line=False)
        self.world.clock.time = 0  # as the mock's world, which would catch up

    def steps(self, count: int = 1) -> None:
        self.run(32 * count)

    def start(self) -> WebotsLine:
        """Connected and configured, and one step made."""
        self.connect()
        self.steps(2)
        assert not self.of(ProtocolFailure)
        return self

    def robot(self, name: str = "gateway") -> Any:
        return self.mock.world.robots[name].robot

    def device(self, name: str) -> Any:
        """The device in the world."""
        return next(each for each in self.robot().devices if each.name == name)
