"""The speed of simulated time: what it may be, and what cannot run at another one than 1."""

import pytest

from hilgw.config.load import load_text
from tests.config.cases import Lines

FILE = """\
version: 1
speed: {speed}
backend: {backend}
robots:
  rover:
    devices: {{tx: {{node: Emitter}}}}
    controller: {{kind: beacon, emitter: tx}}
  cab:
    controller: {{kind: wc2ec, listen: "tcp://127.0.0.1:27016"}}
    body: {{kind: wc2ec, connect: "tcp://127.0.0.1:27015"}}
  chip:
    controller: {{kind: wc2ec, port: /dev/ttyS7, baudRate: 115200}}
adapters:
  x0: {{kind: xbee, port: /dev/ttyS8, channel: 12}}
airs:
  lab: {{nodes: {{{nodes}}}}}
"""
LINK = "spare: {mock: xbee, link: ./s}"
INSIDE = "run with --backend mock, or leave speed out"


def text(speed: object, backend: str = "real", nodes: str = "") -> str:
    return FILE.format(speed=speed, backend=backend, nodes=nodes)


@pytest.mark.parametrize("speed", [0.5, 2, "max"])
def test_real_hardware_runs_in_real_time(errors: Lines, speed: object) -> None:
    def line(place: str, key: str, what: str) -> str:
        return f"f:{place}: {key}: {what} runs in real time, not at speed {speed}; {INSIDE}"

    outside = "a controller outside this process"
    assert errors(text(speed, nodes=LINK)) == [
        line("9:39", "robots.cab.controller.listen", outside),
        line("10:34", "robots.cab.body.connect", "a body outside this process"),
        line("12:37", "robots.chip.controller.port", outside),
        line("14:26", "adapters.x0.port", "a real port"),
    ]


@pytest.mark.parametrize("backend", ["mock", "loopback"])
def test_mocks_run_at_any_speed_but_not_their_links(errors: Lines, backend: str) -> None:
    assert load_text(text(2, backend), "f").config.speed == 2
    assert load_text(text("max", backend), "f").config.speed == "max"
    (error,) = errors(text("max", backend, LINK))
    assert error == (
        "f:16:43: airs.lab.nodes.spare.link: a port for another program runs in real time, not at "
        "speed max; delete it, or run with --set airs.lab.nodes.spare.link=null"
    )
    loaded = load_text(text("max", backend, LINK), "f", ["airs.lab.nodes.spare.link=null"])
    assert loaded.config.airs["lab"].nodes["spare"].link is None


BRAIN = "  brain: {controller: {kind: webots, %s}}\n"


def test_what_has_no_time_of_its_own_runs_at_any_speed(errors: Lines) -> None:
    robots = text("max").split("  cab:")[0]
    for more in ("", BRAIN % 'listen: "tcp://127.0.0.1:1234"'):
        assert load_text(robots + more, "f").config.speed == "max"
    assert load_text(text(1.0, nodes=LINK), "f").config.speed == 1
    mocked = robots.replace("backend: real", "backend: mock")
    (error,) = errors(mocked + BRAIN % "ipc: true")
    assert error.startswith("f:8:43: robots.brain.controller.ipc: a local socket runs in real time")
    (error,) = errors(text("max", "mock") + 'medium: {mocap: {listen: "127.0.0.1:0"}}\n')
    assert error.startswith("f:17:17: medium.mocap: motion capture runs in real time")


@pytest.mark.parametrize(
    ("speed", "message"),
    [
        ("0", "0 is out of range; allowed: more than 0, up to 1000000"),
        ("-2", "-2 is out of range; allowed: more than 0, up to 1000000"),
        ("fast", "'fast' is not valid here; write it like 2, or max"),
        ("Max", "'Max' is not valid here; write it like 2, or max"),
        (".nan", "must be a finite number; write a number"),
        (".inf", "must be a finite number; write a number"),
        ("true", 'must be a number or text, not true; put it in quotes: "true"'),
    ],
)
def test_a_wrong_speed_is_the_only_error(errors: Lines, speed: str, message: str) -> None:
    assert errors(text(speed, nodes=LINK)) == [f"f:2:8: speed: {message}"]


def test_the_option_replaces_the_value_of_the_file() -> None:
    assert load_text(text(2), "f", speed="1").config.speed == 1
    assert load_text(text(1, "mock"), "f", ["speed=2"], speed="max").config.speed == "max"
    assert load_text(text(1), "f", backend="mock", speed="0.5").config.speed == 0.5
