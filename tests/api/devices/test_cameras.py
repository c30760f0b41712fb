"""Cameras of the API: their size, and images of both kinds of connections."""

from pathlib import Path
from typing import Any

import pytest

from hilgw.api import Camera, Robot
from hilgw.protocols.webots.answers import Image
from hilgw.protocols.webots.device_messages import CameraConfiguration, ImageFile, SetSamplingPeriod
from tests.api.simulator import Simulator

PIXELS = bytes(range(24))  # 3 columns, 2 rows


def configuration(tag: int) -> Any:
    limits = {"minFieldOfView": 0.5, "maxFieldOfView": 1.0}
    return CameraConfiguration(
        tag, 7, 3, 2, 0.75, 0.01, True, **limits, recognition=False, segmentation=False, exposure=2
    )


@pytest.fixture
def simulator() -> Simulator:
    return Simulator([("Camera", "eye", configuration)])


def test_what_a_camera_is(robot: Robot) -> None:
    eye = robot.getDevice("eye")
    assert isinstance(eye, Camera) and eye.getNodeType() == 38
    assert (eye.getWidth(), eye.getHeight(), eye.width, eye.height) == (3, 2, 3, 2)
    assert (eye.getFov(), eye.getMinFov(), eye.getMaxFov()) == (0.75, 0.5, 1.0)
    assert (eye.getNear(), eye.getExposure(), eye.hasRecognition()) == (0.01, 2.0, False)


def test_an_image_of_the_answer(
    simulator: Simulator, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    eye = robot.getDevice("eye")
    assert eye.getImage() is None and "disabled device" in capsys.readouterr().err
    eye.enable(32)
    assert eye.getImage() is None and eye.getImageArray() is None
    simulator.images = [[Image(1, 0, PIXELS), Image(1, 9, b"segmentation")]]
    robot.step(32)
    assert simulator.commands() == [SetSamplingPeriod(1, 32)]
    assert eye.getImage() == PIXELS
    robot.step(32)
    assert eye.getImage() == PIXELS  # the last one stays
    assert Camera.imageGetRed(PIXELS, 3, 1, 1) == 18
    assert Camera.imageGetGreen(PIXELS, 3, 1, 1) == 17
    assert Camera.imageGetBlue(PIXELS, 3, 1, 1) == 16
    assert Camera.imageGetGray(PIXELS, 3, 1, 1) == Camera.imageGetGrey(PIXELS, 3, 1, 1) == 17
    assert eye.getImageArray() == [
        [[2, 1, 0], [14, 13, 12]],
        [[6, 5, 4], [18, 17, 16]],
        [[10, 9, 8], [22, 21, 20]],
    ]


def test_an_image_in_a_file(
    tmp_path: Path, simulator: Simulator, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a local socket: the simulator changes the file."""
    file = tmp_path / "eye"
    file.write_bytes(PIXELS)
    eye = robot.getDevice("eye")
    eye.enable(32)
    simulator.answers = [[ImageFile(1, len(PIXELS), str(file))]]
    robot.step(32)
    assert eye.getImage() == PIXELS
    file.unlink()
    assert eye.getImage() is None and "wb_camera_get_image(): " in capsys.readouterr().err


def test_a_camera_that_the_robot_does_not_have(
    robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    """libController crashes when it enables one."""
    other = Camera("other")
    robot.step(32)
    assert (other.getWidth(), other.getImage()) == (-1, None)
    assert "'other' was not found" in capsys.readouterr().err
