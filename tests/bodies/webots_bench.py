"""Body webots before the mock of Webots, on one clock without a network."""

from __future__ import annotations

from typing import Any

from firmware_mocks import webots_simulator
from firmware_mocks.air import Air
from hilgw.bodies.webots import BODY, WebotsBodySettings
from hilgw.bodies.webots.session import WebotsBodySession
from hilgw.control.events import Event, ProtocolFailure, Write

MS = 1_000_000
DEVICES = (
    "receiver:Receiver channel=12, emitter:Emitter channel=12, left:RotationalMotor, "
    "right:RotationalMotor, lift:LinearMotor minPosition=0 maxPosition=0.2, lift_at:PositionSensor,"
    " ds:DistanceSensor, led:LED, light:LightSensor, accelerometer:Accelerometer, gyro:Gyro, "
    "compass:Compass, gps:GPS, imu:InertialUnit, bumper:TouchSensor, force:TouchSensor type=force, "
    "force3d:TouchSensor type=force-3d, brake:Brake"
)


def body(version: str = "R2025a", **settings: Any) -> WebotsBodySession:
    return BODY.session(WebotsBodySettings(**{"robot": "gateway"} | settings), version)


class Bench:
    """events: all of the session but Write. written: the bytes that it wrote. step: one exchange,
    32 ms of both."""

    def __init__(self, session: WebotsBodySession | None = None, **simulator: Any) -> None:
        given = {"robots": "gateway", "devices": DEVICES, "speed": "fast", **simulator}
        self.simulator = webots_simulator.create("webots", Air(), given)
        self.session = session or body()
        self.now = 0
        self.events: list[Event] = []
        self.written = b""
        self.peer: Any = None
        self._to_webots = b""

    def connect(self) -> None:
        self.peer = self.simulator.accept(self.now)
        self.peer.connect(self.now)
        self.take(self.session.open(self.now))

    def take(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Write):
                self.written += event.data
                self._to_webots += event.data
            else:
                self.events.append(event)

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            self.simulator.advance(self.now)
            data, self._to_webots = self._to_webots, b""
            if data:
                self.peer.receive(data, self.now)
            self.simulator.advance(self.now)
            self.now += 32 * MS
            self.take(self.session.receive(self.peer.take(self.now), self.now))

    def disconnect(self) -> None:
        self.peer.disconnect(self.now)
        self.take(self.session.close())
        self._to_webots = b""

    def start(self) -> Bench:
        """Connected and configured, and one step made."""
        self.connect()
        self.step(4)
        assert not [event for event in self.events if isinstance(event, ProtocolFailure)]
        return self

    def index(self, name: str) -> int:
        device = self.session.devices.by_name(name)
        assert device is not None, name
        return device.index

    def robot(self, name: str = "gateway") -> Any:
        return self.simulator.world.robots[name].robot

    def device(self, name: str) -> Any:
        """The device in the world."""
        return next(each for each in self.robot().devices if each.name == name)
