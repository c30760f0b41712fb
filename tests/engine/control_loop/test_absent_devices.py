"""Devices that the configuration names and the body does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from hilgw.cli.main import main
from hilgw.engine.control_loop.devices.registration import NAMES_SHOWN, absent_words

FILE = """
version: 1
backend: mock
webots: R2025a
robots:
  rover:
    body: {{{body}, limits: {{left_weel: {{max_velocity: 5}}}}}}
    controller: {{kind: webots, listen: "tcp://127.0.0.1:1234"}}
    devices:
      front: {{node: DistanceSensor}}
      tx: {{node: Emitter, type: radio}}
"""
WEBOTS = 'kind: webots, connect: "tcp://127.0.0.1:1235", robot: rover'
WC2EC = 'kind: wc2ec, connect: "tcp://127.0.0.1:1235"'
OWN = "mock: {{devices: 'left_wheel:RotationalMotor, ds:GPS'}}"


def test_one_line_names_them_and_what_there_is() -> None:
    assert absent_words([], ["ds"]) == ""
    assert absent_words(["ds_lef", "horn"], ["ds_left", "ds_right"]) == (
        "the body does not have 'ds_lef' (did you mean 'ds_left'?), 'horn'; known here: ds_left, "
        "ds_right"
    )
    many = [f"x{number}" for number in range(NAMES_SHOWN + 5)]
    assert " and 5 more; " in absent_words(many, ["ds"])


def output_of(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    file = tmp_path / "absent.yaml"
    file.write_text(text)
    arguments = ["--speed", "max", "--duration", "3s", "--control", str(tmp_path / "control")]
    assert main(["-c", str(file), *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_they_are_named_once_when_the_body_connects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = WEBOTS + ", mock: {devices: 'left_wheel:RotationalMotor, ds:GPS'}"
    shown = output_of(FILE.format(body=body), tmp_path, capsys)
    line = (
        "rover the body does not have 'front', 'left_weel' (did you mean 'left_wheel'?); known "
        "here: ds, left_wheel"
    )
    assert shown.count(line) == 1


@pytest.mark.parametrize("body", [WEBOTS, WC2EC], ids=["webots", "wc2ec"])
def test_a_mock_has_the_devices_of_the_file(
    body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So the sensors of an imported world have values."""
    shown = output_of(FILE.format(body=body), tmp_path, capsys)
    assert "'left_weel'" in shown and "'front'" not in shown
    assert "front " in shown.partition("the body does not have")[2]
