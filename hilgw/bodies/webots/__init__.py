"""Body `webots`: a robot in a running Webots; hilgw joins as its <extern> controller.

Packets that its Receivers receive in the world go to hilgw's medium, and so to real radios, and
packets from there leave through its Emitters: the gateway robot. Its sensors and motors are those
of a control loop.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from hilgw.bodies.base import Body
from hilgw.bodies.webots.session import WebotsBodySession
from hilgw.bodies.webots.settings import WebotsBodySettings
from hilgw.control.declared import StopFrame
from hilgw.control.forwarding import Forwarding
from hilgw.control.limits import limit_errors
from hilgw.devices.properties import DeviceFields, TouchSensorFields, mocked
from hilgw.framing.base import Framing
from hilgw.settings import MockSpec, Problem

# The versions that the mock of Webots has.
SIMULATED_VERSIONS = ("R2023a", "R2023b", "R2024a", "R2025a")
# The mock has them, and the Emitters and Receivers of the settings.
MOCKED_DEVICES = (
    ("left_wheel", "RotationalMotor"),
    ("right_wheel", "RotationalMotor"),
    ("ds_front", "DistanceSensor"),
)


_SAME = ("lookupTable", "minPosition", "maxPosition", "maxVelocity", "acceleration", "multiplier")
_FIELDS = {name: name for name in _SAME} | {"maxForce": "maxForce", "maxTorque": "maxForce"}
_TOUCH = {"type": "type", "lookupTable": "lookupTable"}


def _radios(settings: WebotsBodySettings) -> list[tuple[str, str]]:
    receivers = [(name, "Receiver") for name in settings.to_medium]
    return receivers + [(name, "Emitter") for name in settings.from_medium]


class WebotsBody(Body):
    """The kind of body `webots`."""

    kind: ClassVar[str] = "webots"
    summary: ClassVar[str] = "a robot in a running Webots, whose <extern> controller is hilgw"
    Settings: ClassVar[type[Any]] = WebotsBodySettings
    simulated: ClassVar[bool] = True
    retry_s: ClassVar[float] = 1.0  # as libController

    def check(self, settings: WebotsBodySettings) -> list[Problem]:
        errors = self.forwarding(settings).errors()
        for name, limits in settings.limits.items():
            for where, problem in limit_errors(limits, None):
                errors.append((f"limits.{name}.{where}", problem, "correct the limits"))
        return errors

    def forwarding(self, settings: WebotsBodySettings) -> Forwarding:
        return Forwarding(settings.to_medium, settings.from_medium, settings.channels)

    def mock(self, settings: WebotsBodySettings, version: str) -> MockSpec:
        devices = [*_radios(settings), *MOCKED_DEVICES]
        parameters: dict[str, Any] = {
            "robots": settings.robot or "robot",
            "devices": ", ".join(f"{name}:{node}" for name, node in devices),
        }
        version = version.partition("-")[0]
        if version in SIMULATED_VERSIONS:
            parameters["webots"] = version
        if settings.step_ms is not None:
            parameters["step_ms"] = settings.step_ms
        return MockSpec("webots_simulator", parameters | settings.mock)

    def mocked_devices(
        self, settings: WebotsBodySettings, devices: Mapping[str, DeviceFields]
    ) -> dict[str, Any]:
        """Return the devices that replace those of the mock, unless these are all."""
        mocks = {
            name: mocked(fields, _TOUCH if isinstance(fields, TouchSensorFields) else _FIELDS)
            for name, fields in devices.items()
        }
        if mocks.keys() <= (own := dict(MOCKED_DEVICES)).keys():
            if all(isinstance(each, str) for each in mocks.values()):
                return {}
            mocks = {**own, **mocks}
        return {"devices": {**dict(_radios(settings)), **mocks}}

    def stop_frame(self, settings: WebotsBodySettings) -> StopFrame:
        return StopFrame(
            "velocity 0 of each motor, which also holds it, in the next request; after force "
            "control position +infinity first",
            "?? ?? 0a 00 00 00 02" + 8 * " 00",
            "its motors keep their last command until a controller connects",
            has_watchdog=False,
            each_motor=True,
            emergency="?? ?? ?? ?? 00 00 00 00 ...",
        )

    def session(
        self, settings: WebotsBodySettings, version: str, framing: Framing | None = None
    ) -> WebotsBodySession:
        """Create the session; framing is never used.

        ConfigError: unknown version. ProtocolError: a name with a NUL.
        """
        return WebotsBodySession(settings, version)


BODY = WebotsBody()
