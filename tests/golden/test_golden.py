"""Shipped configurations and firmware mocks do what they did: bytes, events, counts."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.golden.running import Modules, mock_names, run_config

Script = list[Sequence[Any]]
Variant = tuple[list[tuple[str, Mapping[str, Any]]], Script]


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def lines(who: str, wait_ms: float, end: bytes, *texts: bytes) -> Script:
    return [(wait_ms, who, text + end) for text in texts]


# --- text_module ----------------------------------------------------------------------------------

SPEECH = {
    "banner": "READY",
    "answers": {"AT": "OK", "VER=.": "1.0"},
    "transmit": r"SEND (?P<destination>\d+) (?P<length>\d+) ",
    "accepted": "QUEUED",
    "sent": "SENT",
    "refused": "BUSY",
    "receive": "GOT {source} {length} {data} {hex} {rssi}",
}


def text_module() -> Iterator[tuple[str, Variant]]:
    requests: Script = [
        (0, "a", b"AT\r\n"),
        *lines("a", 100, b"\r\n", b"AT", b"VER=2", b"VER", b"", noise(4, 9)),
        (100, "a", b"SEND 2 4 a\r\n\xff\r\nSEND 0 1 x\r\n"),
        (100, "a", b"SEND 0 5 {hex}\r\n"),
        (100, "a", b"SEND 3 6 ping 1\r\n"),
        (300, "b", b"LISTEN\r\nSTOP\r\n"),
        (100, "a", b"SEND 2 1 x\r\n"),
        (100, "b", b"LISTEN\r\n"),
        (100, "a", b"SEND 2 1 y\r\n"),
        (100, "a", b"SEND 2 1 z\r\n"),
        (100, "a", "host_baud", 9600),
        (0, "a", b"AT\r\n"),
        (100, "a", "reset"),
    ]
    hearer = {**SPEECH, "address": 2, "listen": "LISTEN", "deaf": "STOP", "banner": ""}
    yield "lines", (
        [("text_module", {**SPEECH, "address": 1}), ("text_module", hearer),
         ("text_module", {"address": 3, "replies": "ping:pong"})],
        requests,
    )  # fmt: skip
    hexed = {
        "line_end": "\n", "boot_ms": 5, "unknown": "?", "transmit": "T(?P<hex>[0-9A-F]*)",
        "receive": "R{hex},{rssi}", "band": "x", "bits_per_s": 1200, "baudRate": 9600,
    }  # fmt: skip
    yield (
        "hex",
        (
            [
                ("text_module", hexed),
                ("text_module", hexed),
                ("text_module", {**hexed, "band": "y"}),
            ],
            lines("a", 300, b"\n", b"early", b"T48007EC0", b"T4", b"Tzz", b"T", b"\r", b"T00" * 9),
        ),
    )


# --- irda_sir -------------------------------------------------------------------------------------

SIR_PING = bytes.fromhex("ffffffffffffffffffff c0 07 03 70 69 6e 67 20 31 12 3f c1")


def irda_sir() -> Iterator[tuple[str, Variant]]:
    for rate in (2400, 9600, 115200):
        near = {"baudRate": rate, "position": "0.5,0,0"}
        answer = {"baudRate": rate, "position": "0.3,0.3,0", "address": 3, "replies": "ping:pong"}
        other = {"baudRate": 19200, "position": "0.2,0,0"}
        exchange: Script = [
            (10, "a", SIR_PING),
            (200, "b", b"light"),
            (1, "a", b"both at once"),
            (200, "a", SIR_PING[:-3] + b"\x00" + SIR_PING[-2:]),
            (200, "a", noise(rate, 30)),
            (300, "d", b"another rate"),
            (200, "a", "host_baud", 57600),
            (0, "a", SIR_PING),
            (200, "a", "set", "position", "5,0,0"),
            (0, "b", b"too far"),
        ]
        a = {"baudRate": rate, "echo": "false" if rate == 115200 else "true"}
        yield (
            f"at_{rate}",
            ([("irda_sir", given) for given in (a, near, answer, other)], exchange),
        )


# --- create2 --------------------------------------------------------------------------------------


def create2() -> Iterator[tuple[str, Variant]]:
    drive = bytes((145, 0, 100, 0, 200))
    commands: Script = [
        (10, "a", drive),  # off: nothing
        (10, "a", bytes((128, 142, 35, 131, 149, 3, 35, 7, 100))),
        *(
            (20, "a", each)
            for each in (drive, bytes((137, 0, 100, 128, 0)), bytes((146, 0, 9, 0, 9)))
        ),
        (10, "a", bytes((139, 10, 255, 128, 140, 0, 1, 60, 8, 141, 0))),
        (100, "a", bytes((148, 4, 7, 35, 43, 44))),
        (60, "a", "set", "cliff", "left"),
        (40, "a", bytes((150, 0))),
        (40, "a", noise(5, 40)),
        (40, "a", bytes(20)),
        (40, "a", bytes((128, 132)) + drive),
        (900, "a", bytes((142, 100))),
        (10, "a", "reset"),
        (10, "a", bytes((128, 142, 6, 7))),
        (20, "a", bytes((173, 142, 6))),
    ]
    yield "commands", ([("create2", {"width": 0.6, "depth": 0.6})], commands)
    slow: Script = [(10, "a", bytes((128, 148, 1, 100))), (100, "a", bytes((150, 0)))]
    yield "slow", ([("create2", {"baud_rate": 19200, "charger": "yes"})], slow)


# --- robots with lines of text --------------------------------------------------------------------


def khepera() -> Iterator[tuple[str, Variant]]:
    drive: Script = [
        *lines("a", 20, b"\r", b"B", b"R", b"E", b"N", b"D,l20000,l-5000", b"E"),
        *lines(
            "a", 300, b"\r\n", b"R", b"N", b"K,0,1", b"K,0,2", b"I,l5,d-7", b"R", b"D,l99999,l0"
        ),
        *lines(
            "a", 20, b"\n", b"E", b"D,1", b"D,x,1", b"Z", b"", b"K,9,1", noise(11, 30), b"D,l0,l0"
        ),
        (20, "a", "set", "width", "3"),
        (20, "a", "reset"),
        *lines("a", 20, b"\r", b"R"),
    ]
    yield "drive", ([("khepera", {"version": "2.2", "answer_ms": 3})], drive)


def gcode_machine() -> Iterator[tuple[str, Variant]]:
    commands: Script = [
        *lines("a", 50, b"\n", b"$", b"$$", b"$#", b"$G", b"$I", b"$X", b"$H", b"$C", b"$foo"),
        *lines("a", 20, b"\n", b"G99", b"G1X1", b"*", b"GX", b"G21 G90 (words) ; more"),
        *lines("a", 20, b"\n", b"G0X5Y5", b"G1X10F600", b"G4P0.2", b"G91 G20 G1 Z0.1", b"M30"),
        (0, "a", b"M3 S100\n?"),
        (2500, "a", b"?"),
        (10, "a", b"G90 G21\n$J=G91X50F600\n$J=G90X1F1\n"),
        *((300, "a", each) for each in (b"?", b"G0X0\n", b"$J=X1\n", b"$J=X-5F1\n", b"\x85?")),
        *((200, "a", each) for each in (b"G1 X0 F600\n", b"!?", b"~?", b"\x18", b"G0X0\n$X\n?")),
        *((200, "a", each) for each in (b"G0 X999\n", b"$X\n", b"\x18", b"$X\n", noise(3, 60))),
        (200, "a", b"\n" + bytes(90) + b"\n"),
        (20, "a", b"\n" + b"G0X1\nG0X2\n" * 9 + b"?"),
        (900, "a", b"?\x18?"),
    ]  # fmt: skip
    yield "commands", ([("gcode_machine", {})], commands)
    homing: Script = [(50, "a", b"G0X1\n?$H\n"), (10, "a", b"?"), (600, "a", b"G0X1\n?")]
    yield "homing", ([("gcode_machine", {"homing": "yes", "soft_limits": "no"})], homing)


SCRIPTS = {each.__name__: each for each in (create2, gcode_machine, irda_sir, khepera, text_module)}


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
