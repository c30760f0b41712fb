"""Node numbers and frame conventions by Webots version."""

from __future__ import annotations

import pytest

from hilgw.devices.nodes import cone_axis, name, number, upright_axis
from hilgw.errors import ConfigError

# Emitter, Receiver, DistanceSensor, LinearMotor, RotationalMotor, TouchSensor
SOME = {
    "R2019a": (38, 51, 37, 45, 52, 54),
    "R2019b": (39, 52, 38, 46, 53, 55),
    "R2020a": (39, 52, 38, 46, 53, 55),
    "R2020a rev 1": (39, 52, 38, 46, 53, 55),
    "R2020b": (40, 53, 39, 47, 54, 56),
    "R2021a-rev1": (40, 53, 39, 47, 54, 56),
    "R2021b": (41, 54, 40, 48, 55, 57),
    "R2021c": (41, 54, 40, 48, 55, 58),
    "R2022a": (41, 54, 40, 48, 55, 58),
    "R2022b": (42, 55, 41, 49, 56, 59),
    "R2023a-rev1": (42, 55, 41, 49, 56, 59),
    "R2023b": (43, 56, 42, 50, 57, 60),
    "R2024a": (43, 56, 42, 50, 57, 60),
    "R2025a": (43, 56, 42, 50, 57, 60),
}
NODES = (
    "EMITTER",
    "RECEIVER",
    "DISTANCE_SENSOR",
    "LINEAR_MOTOR",
    "ROTATIONAL_MOTOR",
    "TOUCH_SENSOR",
)


@pytest.mark.parametrize("version", SOME)
def test_numbers(version: str) -> None:
    assert tuple(number(version, node) for node in NODES) == SOME[version]


@pytest.mark.parametrize("version", SOME)
def test_names_are_the_inverse(version: str) -> None:
    for node in NODES:
        assert name(version, number(version, node)) == node
    assert name(version, 9999) is None


def test_nodes_that_came_and_went() -> None:
    assert number("R2021a", "DIFFERENTIAL_WHEELS") == 32
    assert number("R2021b", "ALTIMETER") == 34
    assert number("R2025a", "VACUUM_GRIPPER") == 61
    for version, node in (("R2021b", "DIFFERENTIAL_WHEELS"), ("R2021a", "ALTIMETER")):
        with pytest.raises(ConfigError, match="no node"):
            number(version, node)


@pytest.mark.parametrize("version", ["R2018b", "2025a", "", "R2025d", "R2025a; rm", "latest"])
def test_other_versions_are_refused(version: str) -> None:
    for ask in (cone_axis, upright_axis, lambda each: number(each, "EMITTER")):
        with pytest.raises(ConfigError) as caught:
            ask(version)
        assert caught.value.fix


@pytest.mark.parametrize(
    ("version", "cone", "up"),
    [("R2019a", 2, 1), ("R2021c", 2, 1), ("R2022a", 0, 2), ("R2025a", 0, 2)],
)
def test_axes(version: str, cone: int, up: int) -> None:
    assert (cone_axis(version), upright_axis(version)) == (cone, up)
