"""The parameters of the WC2EC robot."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks._room import RoomParameters
from firmware_mocks.parameters import parameter
from firmware_mocks.wc2ec import wire

Table = list[tuple[float, float, float]]
# Of a distance sensor: its value is 1000 at this distance in metres and beyond.
TABLE = [(0.0, 0.0, 0.0), (1.0, 1000.0, 0.0)]
FRAMES = ("none", "cobs-crc16")


def _sensors(name: str, value: Any) -> int:
    return round(values.number(name, value, 3, 250))


def _devices(name: str, value: Any) -> dict[str, tuple[str, Table]]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: {value!r} is not a mapping of NAME: TYPE")
    return {
        str(device): values.named(f"{name}: {device}", each, _device_of)
        for device, each in value.items()
    }


def _device_of(value: Any) -> tuple[str, Table]:
    if not isinstance(value, Mapping):
        return str(value), TABLE
    values.check_names(value, ("type_name", "lookupTable"))
    table = value.get("lookupTable", TABLE)
    return str(value.get("type_name")), values.lookup_table("lookupTable", table)


@dataclass(frozen=True)
class Settings(RoomParameters):
    """The parameters of a robot; times in nanoseconds."""

    position: Any = parameter(
        "x, y in metres from a corner of the room, and the heading in radians (default: the "
        "middle)",
        (0.0, 0.0, 0.0),
        values.unread,
    )
    sensors: int = parameter(
        "number of distance sensors, 3 to 250 (default {default}: left, front, right)", 3, _sensors
    )
    devices: dict[str, tuple[str, Table]] = parameter(
        "NAME: TYPE of its DistanceSensors, RotationalMotors (the first two are its wheels) and "
        "LinearMotors, in place of the usual ones; with a table: NAME: {type_name: TYPE, "
        "lookupTable: ROWS} (default: none)",
        {},
        _devices,
    )
    lift: bool = parameter(
        "a linear motor in addition: no, yes (default {default}, as in the original)",
        "no",
        values.yes,
    )
    dialect: str = parameter(
        "original, or full: with the starred commands, motor values, an Emitter and a Receiver",
        "original",
        values.choice,
        ("original", "full"),
    )
    frame: str = parameter("none: TCP; cobs-crc16: a serial line", "none", values.choice, FRAMES)
    silence_ns: int = parameter(
        "on a serial line: silence that counts as a disconnect",
        500,
        values.milliseconds,
        1,
        60_000,
        name="silence_ms",
    )
    watchdog_ns: int = parameter(
        "time without a good message after which its firmware sets the motors to their defaults, "
        "on TCP too; 0: never, as in the original",
        300,
        values.milliseconds,
        0,
        60_000,
        name="watchdog_ms",
    )
    webots: str = parameter("Webots version of its node numbers", "R2020a", values.string)
    wc2ec_types: str = parameter(
        "webots, or document: distance sensors and motors have the numbers 37, 46, 53 of the WC2EC "
        "document",
        "webots",
        values.choice,
        ("webots", "document"),
    )

    @property
    def types(self) -> wire.Types:
        """The node numbers. Raises ValueError."""
        return wire.types_of(self.webots, document=self.wc2ec_types == "document")
