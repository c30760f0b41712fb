"""Parts that stay real beside mocks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hilgw.config.load import load_text
from hilgw.config.queries import is_mocked

Lines = Callable[..., list[str]]
FILE = """\
version: 1
backend: {backend}
real: {real}
robots:
  rover:
    body: {{kind: wc2ec, connect: "tcp://127.0.0.1:27015"}}
    controller: {{kind: webots, listen: "tcp://127.0.0.1:1234"}}
  other:
    devices: {{tx: {{node: Emitter}}}}
    controller: {{kind: webots_proxy}}
adapters:
  x0: {{kind: xbee, port: /dev/ttyS8, channel: 12}}
"""
PARTS = ["rover.body", "rover.controller", "other.controller", "other.webots", "x0"]


def text(real: str, backend: str = "mock") -> str:
    return FILE.format(real=real, backend=backend)


@pytest.mark.parametrize("backend", ["mock", "loopback", "real"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_listed_is_real(part: str, backend: str) -> None:
    config = load_text(text(f"[{part}]", backend), "f").config
    mocked = [] if backend == "real" else [each for each in PARTS if each != part]
    assert [each for each in PARTS if is_mocked(config, each)] == mocked


@pytest.mark.parametrize(
    ("real", "message"),
    [
        ("[rover.controler]", "f:3:8: real[0]: there is no part 'rover.controler'; did you mean"),
        ("[x0, rover.webots]", "f:3:12: real[1]: there is no part 'rover.webots'"),
        ("[tx]", "f:3:8: real[0]: there is no part 'tx'"),
        ("x0", "f:3:7: real: must be a list"),
        ("[1]", "f:3:8: real[0]: must be text"),
    ],
)
def test_a_wrong_name_is_reported_where_it_is(errors: Lines, real: str, message: str) -> None:
    (error,) = errors(text(real))
    assert error.startswith(message)


def test_what_is_real_runs_in_real_time(errors: Lines) -> None:
    robot = text("[x0, rover.body, rover.controller]").split("  other:")[0] + "adapters:\n"
    robot += "  x0: {kind: xbee, port: /dev/ttyS8, channel: 12}\n"
    found = errors(robot + "speed: max\n")
    assert [each.split(" runs in")[0].split(": ", 1)[1] for each in found] == [
        "robots.rover.body.connect: a body outside this process",
        "adapters.x0.port: a real port",
    ]
    load_text(robot.replace("x0, rover.body, ", "") + "speed: max\n", "f")
