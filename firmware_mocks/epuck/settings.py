"""The parameters of the robot."""

from dataclasses import dataclass
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks._room import RoomParameters
from firmware_mocks.parameters import parameter

FASTEST = {"e-puck": 1000, "e-puck2": 1200}  # steps/s
VERSIONS = {
    "e-puck": "Version 1.5.3 November 2016 (Webots)",
    "e-puck2": "Version 2.0 e-puck2",
}


def _ground(name: str, value: Any) -> int:
    return 0 if value == "none" else values.whole(name, value, 0, 4095)


@dataclass(frozen=True)
class Settings(RoomParameters):
    """The parameters of a robot."""

    position: tuple[float, float, float] = parameter(
        "x, y in metres from a corner of the arena, and the heading in radians (default: the "
        "middle)",
        (0.0, 0.0, 0.0),
        values.position,
    )
    width: float = parameter("width of the arena in metres", 0.6, values.number, 0.1, 100.0)
    depth: float = parameter("depth of the arena in metres", 0.45, values.number, 0.1, 100.0)
    model: str = parameter(
        "e-puck: wheels up to 1000 steps/s; e-puck2: up to 1200 steps/s, and a gyro",
        "e-puck",
        values.choice,
        tuple(FASTEST),
    )
    own_version: str = parameter(
        f"answer to V after `v,` (default: {', and '.join(VERSIONS.values())})",
        "",
        values.string,
        name="version",
    )
    hardware: str = parameter("hardware version, four hexadecimal digits", "FFFF", values.string)
    selector: int = parameter("position of the selector, 0 to 15", 3, values.whole, 0, 15)
    ground: int = parameter(
        "value of the three ground sensors; none: it has none, and answers 0", "none", _ground
    )
    ground_values: str = parameter(
        "numbers that command M answers: 3, or 5 with two cliff sensors",
        3,
        values.choice,
        ("3", "5"),
    )
    ground_binary: int = parameter(
        "numbers that the binary command M answers, 3 to 8, such as 4 of an e-puck2 since 2019; 0: "
        "as many as the text",
        0,
        values.whole,
        0,
        8,
    )
    ignores_zero: bool = parameter("yes: command P does not set the encoders; no", "no", values.yes)
    light: int = parameter(
        "value of the eight light sensors, 4095 in the dark", 3500, values.whole, 0, 4095
    )
    acceleration: tuple[float, float, float] = parameter(
        "m/s^2 of the axes x, y, z as in Webots (default: {default})",
        "0, 0, 9.81",
        values.position,
    )
    rotation: tuple[float, float, float] = parameter(
        "numbers of the gyro (default: {default})", "0, 0, 0", values.position
    )
    sound: int = parameter("volume of the three microphones", 12, values.whole, 0, 4095)
    delay_ns: int = parameter(
        "time from a request to its answer, e.g. of Bluetooth",
        1,
        values.milliseconds,
        0,
        10_000,
        name="delay_ms",
    )
    echo: bool = parameter("yes: the line returns what it gets; no", "no", values.yes)
    baud_rate: int = parameter("rate of its line", 115_200, values.whole, 1200, 1_000_000)

    @property
    def version(self) -> str:
        return self.own_version or VERSIONS[self.model]
