"""What the API reports of how a program is written, once."""

import time
from collections.abc import Iterator

import pytest

from hilgw.api import Robot
from hilgw.protocols.webots.device_messages import EmitterConfiguration
from tests.api.simulator import Simulator, robot_of


@pytest.fixture
def robot() -> Iterator[Robot]:
    def make(tag: int) -> EmitterConfiguration:
        return EmitterConfiguration(tag, -1, 3, -1.0, 2.0, 5.0, ())

    made = robot_of(Simulator([("Emitter", "tx", make)]))
    yield made
    made.close()


def test_a_step_beside_the_multiples(robot: Robot, capsys: pytest.CaptureFixture[str]) -> None:
    for duration in (32, 64, 0, None):
        robot.step(duration)
    assert capsys.readouterr().err == ""
    for duration in (50, 50, 10):
        robot.step(duration)
    line = (
        "Warning: robot.step(50): a step of 50 ms takes 64 ms: "
        "steps are multiples of the basic time step of 32 ms.\n"
    )
    assert capsys.readouterr().err == line


def test_packets_that_no_step_sends(robot: Robot, capsys: pytest.CaptureFixture[str]) -> None:
    tx = robot.getDevice("tx")
    tx.send(b"1")
    robot.step(32)
    tx.send(b"2")
    tx.send(b"3")
    robot.close()
    assert "Warning: 2 packets of 'tx' did not leave: packets leave" in capsys.readouterr().err


def test_a_program_that_sends_and_does_not_step(
    robot: Robot, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    tx = robot.getDevice("tx")
    for _ in range(3):
        tx.send(b"with a step")
        robot.step(32)
        now_s[0] += 10.0
    tx.send(b"the first")
    tx.send(b"soon")
    assert capsys.readouterr().err == ""
    for _ in range(2):
        now_s[0] += 1.5
        tx.send(b"late")
    line = "Emitter.send() of 'tx' without a step: packets leave with robot.step()"
    assert capsys.readouterr().err.count(line) == 1
    robot.step(32)
