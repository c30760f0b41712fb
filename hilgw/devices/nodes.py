"""Webots' node numbers (WbNodeType) and frame convention, which changed from version to version.

Taken from the headers of the versions in the table. R2020a is inferred from R2019b without CUBEMAP.
"""

import functools
import re

from hilgw.errors import ConfigError

_COLUMNS = ("R2019a", "R2019b", "R2020a", "R2020b", "R2021b", "R2021c", "R2022b", "R2023b")
"""The first version of each column; a version belongs to the last column not after it."""

_TABLE = """
ROBOT               29 30 30 31 32 32 33 34
DIFFERENTIAL_WHEELS 30 31 31 32  -  -  -  -
ACCELEROMETER       31 32 32 33 33 33 34 35
ALTIMETER            -  -  -  - 34 34 35 36
BRAKE               32 33 33 34 35 35 36 37
CAMERA              33 34 34 35 36 36 37 38
COMPASS             34 35 35 36 37 37 38 39
CONNECTOR           35 36 36 37 38 38 39 40
DISPLAY             36 37 37 38 39 39 40 41
DISTANCE_SENSOR     37 38 38 39 40 40 41 42
EMITTER             38 39 39 40 41 41 42 43
GPS                 39 40 40 41 42 42 43 44
GYRO                40 41 41 42 43 43 44 45
INERTIAL_UNIT       41 42 42 43 44 44 45 46
LED                 42 43 43 44 45 45 46 47
LIDAR               43 44 44 45 46 46 47 48
LIGHT_SENSOR        44 45 45 46 47 47 48 49
LINEAR_MOTOR        45 46 46 47 48 48 49 50
PEN                 46 47 47 48 49 49 50 51
POSITION_SENSOR     47 48 48 49 50 50 51 52
PROPELLER           48 49 49 50 51 51 52 53
RADAR               49 50 50 51 52 52 53 54
RANGE_FINDER        50 51 51 52 53 53 54 55
RECEIVER            51 52 52 53 54 54 55 56
ROTATIONAL_MOTOR    52 53 53 54 55 55 56 57
SKIN                82 83 82 83 84 56 57 58
SPEAKER             53 54 54 55 56 57 58 59
TOUCH_SENSOR        54 55 55 56 57 58 59 60
VACUUM_GRIPPER       -  -  -  -  -  -  - 61
MICROPHONE          80 81 80 81 82 83 84 86
RADIO               81 82 81 82 83 84 85 87
"""

_NUMBERS: dict[str, dict[str, int]] = {column: {} for column in _COLUMNS}
for _line in _TABLE.strip().splitlines():
    _node, *_cells = _line.split()
    for _column, _cell in zip(_COLUMNS, _cells, strict=True):
        if _cell != "-":
            _NUMBERS[_column][_node] = int(_cell)
_NAMES = {
    column: {number: node for node, number in nodes.items()} for column, nodes in _NUMBERS.items()
}

_ACRONYMS = {"GPS", "LED"}
_VERSION = re.compile(r"R(20\d\d)([abc])(?:[ -]?rev(?:ision)? ?\d+)?")


def number(version: str, node: str) -> int:
    """Return the number of a node ("EMITTER", "DISTANCE_SENSOR") in this version of Webots.

    Raises:
        ConfigError: the version is before R2019a, or has no such node.
    """
    numbers = _NUMBERS[_column_of(version)]
    if node not in numbers:
        raise ConfigError(f"Webots {version} has no node {node!r}", fix=f"use {', '.join(numbers)}")
    return numbers[node]


def name(version: str, number: int) -> str | None:
    """Return the node with this number in this version of Webots.

    None when it is not in the table.
    """
    return _NAMES[_column_of(version)].get(number)


@functools.lru_cache(maxsize=256)
def of_kind(kind: str) -> str:
    """Return the node ("DISTANCE_SENSOR") of a kind of device ("DistanceSensor")."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).upper()


def kind_of(node: str) -> str:
    """Return the kind of device ("DistanceSensor") of a node ("DISTANCE_SENSOR")."""
    return node if node in _ACRONYMS else node.title().replace("_", "")


def cone_axis(version: str) -> int:
    """Return the axis of a device's cone: 2 (z) before R2022a, 0 (x) since."""
    return 0 if _parse(version) >= "R2022a" else 2


def upright_axis(version: str) -> int:
    """Return the axis that points up, also that of cylinders and capsules.

    1 (y) before R2022a, 2 (z) since.
    """
    return 2 if _parse(version) >= "R2022a" else 1


@functools.lru_cache(maxsize=64)
def _column_of(version: str) -> str:
    plain = _parse(version)
    return max(column for column in _COLUMNS if column <= plain)


def _parse(version: str) -> str:
    match = _VERSION.fullmatch(version.strip())
    plain = f"R{match[1]}{match[2]}" if match else ""
    if plain < _COLUMNS[0]:
        raise ConfigError(
            f"{version!r} is not a known Webots version", where="webots", fix="e.g. R2025a"
        )
    return plain
