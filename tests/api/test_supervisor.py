"""`getSelf()` of a supervisor: its robot in the scene of a running gateway."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hilgw.api.session import Warnings
from hilgw.api.supervisor import Node
from tests.cli.commands.clients.test_arm import with_gateway

SCENE = """
version: 1
backend: mock
robots:
  rover:
    position: [1, 2, 3]
    rotation: [0, 0, 1, 1.5707963267948966]
    controller: {kind: webots, listen: "tcp://127.0.0.1:1"}
  lost: {controller: {kind: webots, listen: "tcp://127.0.0.1:2"}}
"""


def test_its_robot_in_the_scene(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:

    def ask(control: str) -> None:
        monkeypatch.setenv("HILGW_CONTROL", control)
        node = Node("rover", Warnings())
        assert node.getPosition() == [1, 2, 3]
        assert node.getOrientation() == pytest.approx([0, -1, 0, 1, 0, 0, 0, 0, 1], abs=1e-9)
        name, translation = node.getField("name"), node.getField("translation")
        assert name is not None and name.getSFString() == node.getName() == "rover"
        assert translation is not None and translation.getSFVec3f() == [1, 2, 3]
        assert capsys.readouterr().err == ""
        assert all(math.isnan(each) for each in Node("lost", Warnings()).getOrientation())
        assert node.getField("children") is None and node.remove() is None
        assert capsys.readouterr().err.count("without Webots") == 1

    with_gateway(tmp_path, ask, SCENE)


def test_without_a_gateway_the_pose_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HILGW_CONTROL", str(tmp_path / "none"))
    node = Node("rover", Warnings())
    assert all(math.isnan(each) for _ in range(3) for each in node.getPosition())
    assert capsys.readouterr().err.count("Node.getPosition") == 1
