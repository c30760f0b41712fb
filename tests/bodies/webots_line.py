"""Body webots before the mock of Webots, in real time."""

from __future__ import annotations

from typing import Any

from firmware_mocks import webots_simulator
from firmware_mocks.air import Air
from hilgw.bodies.webots import BODY, WebotsBodySettings
from hilgw.bodies.webots.session import WebotsBodySession
from hilgw.control.events import ProtocolFailure
from tests.bodies.bench import BodyBench

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
