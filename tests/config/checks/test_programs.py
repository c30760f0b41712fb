"""Checks of the programs that hilgw starts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.config.load import load_config
from hilgw.config.queries import moves_unlatched
from tests.config.cases import Lines, faults

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
        return "\n".join(faults(text, str(file))), str(file)

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


FILE = """\
version: 1
backend: {backend}
{more}
webots: R2020a
robots:
  cart:
    body: {{kind: wc2ec, port: /dev/ttyS1, baudRate: 57600, mock: {{program: cat}}}}
    controller: {{kind: wc2ec, port: /dev/ttyS2, mock: {{{mock}}}}}
adapters:
  x0: {{kind: xbee, port: /dev/ttyS8, channel: 12, mock: {{program: [cat, -u]}}}}
"""


def text(mock: str = "program: cat", backend: str = "mock", more: str = "") -> str:
    return FILE.format(mock=mock, backend=backend, more=more)


@pytest.mark.parametrize(
    ("mock", "problem"),
    [
        ("program: cat, lin: stdio", "a program has no such parameter; did you mean 'line'?"),
        ("program: cat, emitter: tx", "a program has no such parameter"),
        ('program: "\'"', 'mock: "\'" is not a command'),
        ("program: cat, restart: with-body", "mock: 'with-body' is neither never nor on-failure"),
        ('program: cat, line: "tcp://x"', "mock: "),
    ],
)
def test_parameters_that_it_refuses(errors: Lines, mock: str, problem: str) -> None:
    (error,) = errors(text(mock))
    assert problem in error
    assert "robots.cart.controller.mock" in error


def test_it_runs_in_real_time_only(errors: Lines) -> None:
    found = errors(text(more="speed: max"))
    assert len(found) == 3
    assert all("a program runs in real time, not at speed max" in each for each in found)
    assert errors(text(more="speed: max", backend="real")), "that has other reasons"
    assert not any("a program" in each for each in errors(text(more="speed: max", backend="real")))


def test_it_runs_in_the_folder_of_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "cart.yaml"
    file.write_text(text("program: ./node, folder: build"))
    config = load_config(str(file)).config
    controller, body = config.robots["cart"].controller, config.robots["cart"].body
    assert controller is not None and body is not None
    assert controller.settings.mock["folder"] == str(tmp_path / "build")
    assert body.settings.mock["folder"] == str(tmp_path)
    assert config.adapters["x0"].settings.mock["folder"] == str(tmp_path)
