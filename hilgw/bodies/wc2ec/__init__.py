"""Body `wc2ec`: a Webots robot whose controller serves WC2EC; hilgw is its external controller.

On TCP hilgw connects; on a serial line the robot repeats its registrations until it receives a
good frame.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from hilgw.bodies._common.settings import Problem, load_problems
from hilgw.bodies.base import Body
from hilgw.bodies.wc2ec.session import Wc2ecBodySession
from hilgw.bodies.wc2ec.settings import LOAD_FIX, Wc2ecBodySettings, line_load
from hilgw.control.declared import LineLoad, StopFrame
from hilgw.control.limits import limit_errors
from hilgw.devices.kinds import DISTANCE_SENSOR, LINEAR_MOTOR, NO_LIMITS, ROTATIONAL_MOTOR
from hilgw.devices.properties import DeviceFields, mocked, node_of
from hilgw.framing import create
from hilgw.framing.base import Framing
from hilgw.settings import MockSpec

SENSORS = ("ds_left", "ds_front", "ds_right")
MOCKED_DEVICES = {*SENSORS, "left_wheel", "right_wheel", "lift"}  # the mock has them by itself


class Wc2ecBody(Body):
    """The kind of body `wc2ec`."""

    kind: ClassVar[str] = "wc2ec"
    summary: ClassVar[str] = "a Webots robot that runs a WC2EC controller, on TCP or a serial line"
    Settings: ClassVar[type[Any]] = Wc2ecBodySettings
    simulated: ClassVar[bool] = False  # what it connects to may be a robot with real motors
    retry_s: ClassVar[float] = 1.0  # pause between tries to connect, as in the original client
    framing: ClassVar[str] = "cobs-crc16"

    def check(self, settings: Wc2ecBodySettings) -> list[Problem]:
        errors: list[Problem] = []
        if (settings.connect is None) == (settings.port is None):
            text = "exactly one of connect and port must be set"
            errors.append(("connect", text, 'e.g. connect: "tcp://127.0.0.1:27015"'))
        if settings.original_peer and settings.extensions:
            text = "an original peer does not support extensions"
            errors.append(("extensions", text, "set one of original_peer and extensions to false"))
        if settings.mock.get("dialect") == "original" and not settings.original_peer:
            text = "the mock of the original program ends at setSensor"
            errors.append(("mock.dialect", text, "set original_peer: true, or delete the dialect"))
        for name in dict.fromkeys((*settings.limits, *settings.default_position)):
            limits = settings.limits.get(name, NO_LIMITS)
            for where, text in limit_errors(limits, settings.default_position.get(name)):
                path = (
                    f"{where}.{name}" if where == "default_position" else f"limits.{name}.{where}"
                )
                errors.append((path, text, "correct the limits or the default position"))
        if (load := self.line_load(settings)) is not None:
            errors += load_problems(load, "baudRate", LOAD_FIX)
        return errors

    def default_positions(self, settings: Wc2ecBodySettings) -> Mapping[str, float]:
        return settings.default_position

    def mock(self, settings: Wc2ecBodySettings, version: str) -> MockSpec:
        parameters: dict[str, Any] = {"webots": version, "wc2ec_types": settings.wc2ec_types}
        if settings.port is not None:
            parameters |= {"frame": self.framing, "silence_ms": settings.silence_s * 1000}
        # The mock of the original program ends at setSensor, which setPosition(inf) may need.
        parameters["dialect"] = "original" if settings.original_peer else "full"
        return MockSpec("wc2ec_robot", parameters | settings.mock)

    def mocked_devices(
        self, settings: Wc2ecBodySettings, devices: Mapping[str, DeviceFields]
    ) -> dict[str, Any]:
        """Return those that WC2EC can carry, unless the mock has them all by itself."""
        kinds = (DISTANCE_SENSOR, ROTATIONAL_MOTOR, LINEAR_MOTOR)
        mocks = {
            name: mocked(fields, {"lookupTable": "lookupTable"})
            for name, fields in devices.items()
            if node_of(fields) in kinds
        }
        if not mocks.keys() <= MOCKED_DEVICES:
            return {"devices": mocks}
        tables = {name: each for name, each in mocks.items() if not isinstance(each, str)}
        return {"devices": dict.fromkeys(SENSORS, DISTANCE_SENSOR) | tables} if tables else {}

    def line_load(self, settings: Wc2ecBodySettings) -> LineLoad | None:
        if settings.port is None:
            return None
        return dataclasses.replace(line_load(settings, 1, create(self.framing)), each_device=True)

    def stop_frame(self, settings: Wc2ecBodySettings) -> StopFrame:
        framed = f", in a {self.framing} frame" if settings.port is not None else ""
        return StopFrame(
            "setValue (type, index, double) of each motor: velocity 0 of a rotational motor, the "
            f"default position of a linear one or the one it reported last{framed}",
            "82 ?? ??" + 8 * " 00",
            "the original program stops its motors when the connection closes, and not while it is "
            "open",
            has_watchdog=False,
            each_motor=True,
        )

    def session(
        self, settings: Wc2ecBodySettings, version: str, framing: Framing | None = None
    ) -> Wc2ecBodySession:
        return Wc2ecBodySession(settings, version, framing)


BODY = Wc2ecBody()
