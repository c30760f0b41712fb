"""Shipped configurations and firmware mocks do what they did: bytes, events, counts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.running import Modules, mock_names, run_config
from tests.golden.scripts import SCRIPTS

HERE = Path(__file__).parent
# A program that hilgw starts runs in real time, and so do the other gateways of a federation.
SHIPPED = [
    path
    for path in sorted((HERE.parents[1] / "configs").glob("*.yaml"))
    if not any(each in path.read_text() for each in ("kind: python", "federation:", "program:"))
]
MORE = sorted((HERE / "more").glob("*.yaml"))
# Nothing happens at these ends: what is a little later some day is still in.
DURATION_S = 4.45
DURATIONS_S = {
    "create2": 1.95,
    "dynamixel": 0.95,
    "feetech": 0.95,
    "khepera": 0.95,
    "ir_toy": 6.9,
    "swarm": 3.45,
    "wc2ec": 3.45,
    "wc2ec-serial": 1.95,
    "firmware-in-the-loop": 3.45,
}
MORE_S = {"epuck": 1.95, "loops": 2.45, "uart": 2.95}
SEND = {"do": "send", "data": b"by hand".hex()}
SWITCHES = (
    (1.603, "remote"),
    (2.403, "simulation"),
    (3.003, "shadow"),
    (3.803, "remote"),
    (4.103, None),
)


def switches(*robots: str) -> list[tuple[float, dict[str, object]]]:
    """Mode switches of these robots."""
    return [
        (at_s, {"do": "mode", "robot": robot, "mode": mode})
        for at_s, mode in ((0.1, "fly"), *SWITCHES)
        for robot in robots
    ]


ASKED: dict[str, list[tuple[float, dict[str, object]]]] = {
    "modes": switches("program", "firmware", "nobody"),
    "stepped-modes": switches("stepped"),
    "commands": [
        (0.3, {**SEND, "station": "rover.tx"}),
        (0.31, {**SEND, "station": "rover.tx", "data": "00" * 65}),
        (0.32, {**SEND, "station": "rover.tx", "channel": 99}),
        (0.5, {**SEND, "station": "xbee0"}),
        (0.55, {**SEND, "station": "xbee0", "channel": 13}),
        (0.6, {**SEND, "station": "xbee0", "data": "00" * 200}),
        (0.65, {**SEND, "station": "uart0", "channel": -1}),
        (0.66, {**SEND, "station": "uart0", "data": ""}),
        (0.7, {**SEND, "station": "nobody"}),
        (0.75, {"do": "set", "device": "rover.tx", "channel": 13}),
        (1.15, {"do": "set", "device": "rover.tx", "channel": 14}),
        (1.16, {"do": "set", "device": "rover.tx", "range": 0.5}),
        (1.55, {"do": "set", "device": "rover.tx", "range": 500}),
        (1.56, {"do": "set", "device": "rover.tx", "channel": 12, "range": 50.0}),
        (1.57, {"do": "set", "device": "rover.rx", "range": 5}),
        (1.58, {"do": "set", "device": "rover.rx", "channel": 13}),
        (1.59, {"do": "set", "device": "rover.none", "channel": "x"}),
        (1.7, {"do": "place", "object": "wall", "position": [0, 9, 0]}),
        (1.9, {"do": "place", "object": "lamp", "position": [0, 20, 0], "rotation": [0, 0, 1, 1]}),
        (2.1, {"do": "place", "object": "lamp", "position": None}),
        (2.15, {"do": "place", "object": "nobody", "position": [0, 0, 0]}),
        (2.16, {"do": "place", "object": "lamp", "position": [0, 0]}),
        (2.2, {"unplug": "xbee0"}),
        (2.25, {**SEND, "station": "xbee0"}),
        (2.9, {"plug": "xbee0"}),
        (3.0, {"unplug": "uart0"}),
        (3.3, {"plug": "uart0"}),
        (3.4, {"do": "arm", "robots": ["cab"]}),
        (3.41, {"do": "arm", "robots": ["rover"]}),
        (3.5, {"unplug": "cab"}),
        (3.8, {"plug": "cab"}),
        (4.0, {"do": "nonsense"}),
        (4.1, {"do": "report"}),
    ],
}


@pytest.mark.parametrize("config", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_configuration_does_what_it_did(
    config: Path, golden: Callable[[str, str], None]
) -> None:
    written = run_config(str(config), DURATIONS_S.get(config.stem, DURATION_S))
    golden(f"{config.stem}.txt", written)


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", MORE, ids=lambda path: path.stem)
def test_another_configuration_does_what_it_did(
    config: Path, golden: Callable[[str, str], None]
) -> None:
    written = run_config(
        str(config), MORE_S.get(config.stem, DURATION_S), ASKED.get(config.stem, [])
    )
    golden(f"more/{config.stem}.txt", written)


REAL_TIME_ONLY = {"webots-proxy"}
# `more/` has all kinds of requests and faults, some shipped files the mocks beside them.
AT_A_SPEED = [each for each in (*SHIPPED[::3], *MORE) if each.stem not in REAL_TIME_ONLY]


@pytest.mark.exhaustive
@pytest.mark.parametrize("config", AT_A_SPEED, ids=lambda path: path.stem)
def test_it_does_the_same_at_speed_max(config: Path, golden: Callable[[str, str], None]) -> None:
    """On the gateway's own event loop and network in process, instead of those of tests."""
    folder, durations = ("", DURATIONS_S) if config in SHIPPED else ("more/", MORE_S)
    asked = ASKED.get(config.stem, []) if folder else []
    duration_s = durations.get(config.stem, DURATION_S)
    golden(f"{folder}{config.stem}.txt", run_config(str(config), duration_s, asked, "max"))


def test_it_does_the_same_at_another_speed(golden: Callable[[str, str], None]) -> None:
    config = HERE / "more" / "radios.yaml"
    golden("more/radios.txt", run_config(str(config), DURATION_S, [], 20))


def test_no_golden_file_is_left_over() -> None:
    assert SHIPPED
    kept = {file.stem for file in HERE.glob("*.txt")}
    assert kept == {config.stem for config in SHIPPED}
    kept = {file.stem for file in (HERE / "more").glob("*.txt")}
    assert kept == {config.stem for config in MORE}


REST_MS = {"create2": 100.0}  # it never comes to rest
OWN_TESTS = HERE.parent / "firmware_mocks"


@pytest.mark.parametrize("kind", SCRIPTS)
def test_a_mock_sends_what_it_sent_before(kind: str, golden: Callable[[str, str], None]) -> None:
    written = [
        f"=== {variant}\n{Modules(*modules).play(script, REST_MS.get(kind, 3000.0))}"
        for variant, (modules, script) in SCRIPTS[kind]()
    ]
    golden(f"mocks/{kind}.txt", "\n".join(written))


def test_every_other_mock_has_tests_of_its_own() -> None:
    assert sorted(file.stem for file in (HERE / "mocks").glob("*.txt")) == sorted(SCRIPTS)
    tested = tuple(path.stem.removeprefix("test_") for path in OWN_TESTS.iterdir())
    assert [each for each in mock_names() if not (each in SCRIPTS or each.startswith(tested))] == []
