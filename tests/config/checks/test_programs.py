"""Checks of the programs that hilgw starts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.config.load import load_config
from hilgw.config.queries import moves_unlatched
from hilgw.errors import HilgwError

SIMULATED = 'body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015", simulated: true}'
REAL = 'body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015", simulated: false}'
CREATE = "body: {kind: create2, port: /dev/ttyUSB0}"
REMOTE = "remote: {kind: create2, port: /dev/ttyUSB0}"
UNLATCHED = "safety: {latch: false}"

Robot = Callable[..., tuple[str, str]]


@pytest.fixture
def robot(tmp_path: Path) -> Robot:
    """What is wrong with a robot that has a program and these keys, "": nothing; and the file."""

    def check(*keys: str, restart: str = "", backend: str = "real") -> tuple[str, str]:
        (tmp_path / "brain.py").write_text("")
        controller = f"controller: {{kind: python, file: brain.py{restart}}}"
        lines = ["version: 1", f"backend: {backend}", "robots:", "  r0:"]
        text = "\n".join([*lines, *(f"    {key}" for key in (*keys, controller)), ""])
        file = tmp_path / "robot.yaml"
        file.write_text(text)
        try:
            load_config(str(file))
        except HilgwError as error:
            return str(error), str(file)
        return "", str(file)

    return check


EXPLICIT = ", restart: with-body"


@pytest.mark.parametrize("keys", [(REAL,), (CREATE,), (SIMULATED, REMOTE)])
def test_a_program_is_not_requested_to_move_a_real_robot_that_its_loss_does_not_disarm(
    robot: Robot, keys: tuple[str, ...]
) -> None:
    error, file = robot(*keys, UNLATCHED, restart=EXPLICIT)
    assert error.startswith(f"{file}:{len(keys) + 6}:") and "robots.r0.controller.restart" in error
    assert "with `latch: false` the program would move the real robot again" in error
    assert "remove `latch: false` from `safety`, or write `restart: never`" in error


@pytest.mark.parametrize("restart", ["", ", restart: never", ", restart: on-failure"])
def test_what_is_not_written_is_not_wrong_and_follows_no_body(robot: Robot, restart: str) -> None:
    error, file = robot(REAL, UNLATCHED, restart=restart)
    assert error == "" and moves_unlatched(load_config(file).config, "r0")


@pytest.mark.parametrize(
    ("keys", "backend"),
    [
        ((REAL,), "real"),
        ((REAL, "safety: {latch: true}"), "real"),
        ((SIMULATED, UNLATCHED), "real"),
        ((CREATE, UNLATCHED), "mock"),
        ((UNLATCHED,), "real"),
    ],
)
def test_a_program_follows_a_body_that_its_loss_disarms_or_that_is_simulated(
    robot: Robot, keys: tuple[str, ...], backend: str
) -> None:
    error, file = robot(*keys, restart=EXPLICIT, backend=backend)
    assert error == "" and not moves_unlatched(load_config(file).config, "r0")
