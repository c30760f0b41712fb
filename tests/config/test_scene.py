"""Poses, motions, obstacles and motion capture in the file: taken, or refused at their place."""

import re
from pathlib import Path

import pytest

from hilgw.config.load import load_config
from hilgw.config.model import MotionFile
from hilgw.config.scene import LARGEST_FILE, read_motion
from hilgw.config.source.positions import ConfigErrors
from tests.config.cases import Lines, cases

WORLD = """
version: 1
backend: mock
medium: {step_ms: 32, mocap: {listen: "127.0.0.1:9763"}}
robots:
  rover:
    motion: {kind: circle, center: [0, 0, 0], radius: 2, period_s: -8}
  scout:
    motion: {kind: waypoints, points: [[0, 0, 0], [4, 0, 0]], speed: 0.25, closed: false}
  buoy: {position: [1, 2, 3], rotation: [0, 0, 1, 1.57]}
obstacles:
  wall: {shape: box, size: [0.1, 4, 1], position: [2, 0, 0.5]}
  mast: {shape: capsule, radius: 0.1, height: 1, attached_to: rover, owner: scout}
adapters:
  xbee0: {kind: xbee, port: "loop://", channel: 12, attached_to: rover, position: [0, 0, 1]}
"""


def changed(old: str, new: str) -> str:
    assert old in WORLD
    return WORLD.replace(old, new)


@pytest.mark.parametrize(("old", "new", "line"), cases("wrong_scene.txt"))
def test_a_mistake_is_reported_at_its_place(old: str, new: str, line: str, errors: Lines) -> None:
    found = errors(changed(old, new))
    assert any(line in each and re.match(r"f:\d+:\d+: ", each) for each in found)


def test_a_rotation_without_a_position_is_worth_a_word(warnings: Lines) -> None:
    (line,) = warnings(changed("position: [1, 2, 3], ", ""))
    assert "warning: robots.buoy.rotation: has no effect without a position" in line


FILE = "version: 1\nrobots: {rover: {motion: {kind: file, path: poses.csv}}}\n"
POSES = "0,rover,0,0,0,0,0,0,1\n2,rover,4,0,0,0,0,0,1\n"


def refused(path: Path) -> list[str]:
    with pytest.raises(ConfigErrors) as caught:
        load_config(str(path))
    return str(caught.value).splitlines()


@pytest.mark.parametrize("folder", ["", "FOLDER/"])
def test_a_motion_file_is_looked_for_beside_the_configuration(tmp_path: Path, folder: str) -> None:
    path = folder.replace("FOLDER", str(tmp_path)) + "poses.csv"
    (tmp_path / "c.yaml").write_text(FILE.replace("poses.csv", path))
    (tmp_path / "poses.csv").write_text(POSES)
    motion = load_config(str(tmp_path / "c.yaml")).config.robots["rover"].motion
    assert isinstance(motion, MotionFile)
    assert read_motion(motion, "rover").at(10**9, 2).position == (2, 0, 0)


FAR = b"0,rover,0,0,2e9,0,0,0,1\n"


@pytest.mark.parametrize(
    ("path", "content", "reported"),
    [
        ("poses.csv", b"0,rover,0,0\n", "poses.csv:1:1: not a timed pose: '0,rover,0,0'; write t"),
        ("poses.csv", 2 * POSES.encode(), "poses.csv:3:1: rover: times do not ascend"),
        ("poses.csv", b"\xff\xfe", "poses.csv: is not UTF-8 text"),
        ("poses.csv", b"#" * (LARGEST_FILE + 1), "poses.csv: is larger than 16 MiB"),
        ("poses.csv", FAR, "poses.csv:1:9: position [0.0, 0.0, 2000000000.0] is not a valid pos"),
        ("poses.csv, name: rovr", POSES.encode(), "has no object 'rovr'; did you mean 'rover'?"),
        ("none.csv", b"", "cannot be read: No such file or directory"),
        (".", b"", "this is not a file"),
        ("/dev/zero", b"", "this is not a file"),
        ('"a\\0b"', b"", "has no NUL"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_file_that_holds_none(tmp_path: Path, path: str, content: bytes, reported: str) -> None:
    (tmp_path / "c.yaml").write_text(FILE.replace("poses.csv", path))
    (tmp_path / "poses.csv").write_bytes(content)
    (line,) = refused(tmp_path / "c.yaml")
    assert "c.yaml:2:" in line and "robots.rover.motion." in line and reported in line
