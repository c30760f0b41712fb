"""What every mock has: UART, deadlines, framings, and parameters that are checked and named."""

import importlib
import random
import re
import struct
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firmware_mocks import parameters as values, text_module
from firmware_mocks._framing.crc import NAMED, crc_of
from firmware_mocks._framing.specs import framing_of
from firmware_mocks.air import Air
from firmware_mocks.base import Adjustable, Mock, Timers, Uart, creator
from firmware_mocks.parameters import OF_AIR, Parameters, in_air, parameter
from hilgw import plugins
from hilgw.framing.crc import named
from hilgw.plugins import MOCKS, load_mock, names, new_air
from hilgw.settings import PROGRAM
from tests.firmware_mocks.bench import AirBench

MS = 1_000_000


def test_a_timer_may_start_another_that_is_due_already() -> None:
    timers, ran = Timers(), []
    timers.start("a", 10, lambda now: timers.start("b", 11, lambda when: ran.append(when)))
    timers.run(50)
    assert ran == [50]


@pytest.mark.parametrize("rate", [115200, 111111, None])
def test_rates_close_enough_understand_each_other(rate: int | None) -> None:
    uart = Uart("seed", baud_rate=115200)
    uart.host_baud = rate
    assert uart.distort(bytes(range(256))) == bytes(range(256))


def test_a_mock_wants_to_be_called_at_its_earliest_deadline() -> None:
    class Some(Mock):
        def receive(self, data: bytes, now: int) -> None: ...

        def reset(self, now: int) -> None: ...

    mock = Some("some")
    assert mock.next_deadline() is None
    mock.uart.write(b"x", 20)
    assert mock.next_deadline() == 20
    mock.timers.start("t", 10, lambda now: None)
    assert mock.next_deadline() == 10
    mock.host_baud = 19200
    assert mock.uart.host_baud == 19200
    assert (mock.baud_rate, mock.bits_per_byte) == (9600, 10)
    assert mock.describe() == "some"
    with pytest.raises(ValueError, match="colour: no parameter"):
        mock.set("colour", "red")


def test_bytes_that_are_written_for_later_follow_each_other() -> None:
    """The line is idle in between: bytes that leave before do not count twice."""
    uart = Uart("seed", baud_rate=9600)
    uart.write(b"12", 0)
    uart.write(b"34", 100 * MS)
    assert uart.idle_at(0) == 100 * MS + 2 * uart.byte_ns


@pytest.mark.parametrize("loss", [-0.1, 1.1, float("nan")])
def test_a_loss_that_is_not_a_share_is_refused(loss: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Air(loss=loss)


SPEECH = {
    "banner": "READY",
    "answers": {"AT": "OK", "VER=.": "1.0"},
    "transmit": r"SEND (?P<destination>\d+) (?P<length>\d+) ",
    "accepted": "QUEUED",
    "sent": "SENT",
    "refused": "BUSY",
    "receive": "GOT {source} {length} {data} {hex} {rssi}",
}


def test_the_wrong_rate_and_too_long_a_line_are_lost() -> None:
    bench = AirBench(text_module.create, {"address": 1, **SPEECH})
    bench.run(100)
    bench.taken()
    bench.modules[0].host_baud = 9600
    assert bench.ask(0, b"AT\r\n", 300) != b"OK\r\n"
    bench.modules[0].host_baud = 115_200
    bench.run(1000)
    bench.taken()
    bench.ask(0, b"x" * 3000, 300)
    assert bench.modules[0].overruns == 3000 - 2048
    bench.run(1000)
    assert bench.ask(0, b"AT\r\n", 300) == b"OK\r\n"


@pytest.mark.parametrize("name", [*NAMED, "poly=0x18005,init=0xFFFF,rev=true,xorOut=0xFFFF"])
@given(data=st.binary(max_size=80))
def test_crcs_are_those_of_the_gateway(name: str, data: bytes) -> None:
    crc = crc_of(name)
    assert (crc is None) == (name == "none")
    if crc is not None:
        assert crc.of(data) == named(name).compute(data)


def test_crcs_of_the_usual_nine_characters() -> None:
    sums = {"crc16": 0x29B1, "xmodem": 0x31C3, "x-25": 0x906E, "modbus": 0x4B37}
    for name, value in {**sums, "crc32": 0xCBF43926}.items():
        crc = crc_of(name)
        assert crc is not None
        assert crc.of(b"123456789") == value
    for name in ("crc17", "poly=5", "poly=0x1021", "init=3"):
        with pytest.raises(ValueError, match=r"CRC|degree"):
            crc_of(name)


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("cobs-crc16", "02 48 05 7E C0 9D 85 00"),
        ("slip-crc16", "C0 48 00 7E DB DC 9D 85 C0"),
        ("hdlc", "7E 48 00 7D 5E C0 69 A3 7E"),
        ("length", "AA 55 00 04 48 00 7E C0 9E 53"),
        ("lines", "48 00 7E C0 0A"),
        ("lines-crlf", "48 00 7E C0 0D 0A"),
        ("gap:20ms", "48 00 7E C0"),
        ("raw", "48 00 7E C0"),
    ],
)
def test_frames_as_documented(name: str, wire: str) -> None:
    assert framing_of(name).encode(bytes.fromhex("48 00 7E C0")) == bytes.fromhex(wire)


@dataclass(frozen=True)
class Settings(Parameters):
    rate: int = parameter("UART rate, bit/s", 9600, values.whole, 50, 115_200, name="baudRate")
    delay_ns: int = parameter(
        "delay (default {default}; of a byte)", 2, values.milliseconds, 0, 10, name="delay_ms"
    )
    answer: str = parameter("answer, as {n} (default: none)", "", values.string)
    position: tuple[float, float, float] = in_air()
    seed: object = parameter(
        "seed (default: that of the air)", OF_AIR, values.unread, is_fixed=True
    )
    place: object = values.unused()


class Pairwise(Adjustable[Settings]):
    """A mock that refuses a rate above its delay, which no single value shows."""

    def receive(self, data: bytes, now: int) -> None: ...

    def reset(self, now: int) -> None: ...

    def _adopt(self, name: str) -> None:
        if self.settings.rate == 50 and self.settings.delay_ns:
            raise ValueError("baudRate: 50 does not fit the delay")


create = creator(Pairwise, Settings)


def made(**given: Any) -> Pairwise:
    return create("m", Air(7), given, position=(1.0, 2.0, 3.0))


def test_each_text_shows_the_default_once() -> None:
    texts = Settings.texts()
    assert list(texts) == ["baudRate", "delay_ms", "answer", "position", "seed", "place"]
    assert texts["baudRate"] == "UART rate, bit/s (default 9600)"
    assert texts["delay_ms"] == "delay (default 2; of a byte)"
    assert texts["answer"] == "answer, as {n} (default: none)"
    assert texts["place"] == "not used"


def test_defaults_are_read_as_a_users_values_are() -> None:
    settings = made().settings
    assert (settings.rate, settings.delay_ns, settings.answer) == (9600, 2_000_000, "")
    assert (settings.position, settings.seed) == ((1.0, 2.0, 3.0), 7)
    settings = made(baudRate="115200", delay_ms="0.5", position="4, 5, 6", seed=3).settings
    assert (settings.rate, settings.delay_ns) == (115_200, 500_000)
    assert (settings.position, settings.seed) == ((4.0, 5.0, 6.0), 3)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("baudRate", 49, "baudRate: 49 is not a number from 50 to 115200"),
        ("delay_ms", "11", "delay_ms: '11' is not a number from 0 to 10"),
        ("baudrate", 9600, "baudrate: no such parameter; did you mean baudRate\\?"),
        ("rate", 9600, "rate: no such parameter; .*"),
    ],
)
def test_a_wrong_value_is_refused_at_the_start_and_later(name: str, value: Any, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        made(**{name: value})
    mock = made()
    before = mock.settings
    with pytest.raises(ValueError, match=f"^{text}$"):
        mock.set(name, value)
    assert mock.settings == before


def test_a_value_that_does_not_fit_the_others_leaves_all_as_they_were() -> None:
    mock = made()
    before = mock.settings
    with pytest.raises(ValueError, match="baudRate: 50 does not fit the delay"):
        mock.set("baudRate", "50")
    assert mock.settings == before
    mock.set("delay_ms", "0")
    mock.set("baudRate", "50")
    assert (mock.settings.rate, mock.settings.position) == (50, (1.0, 2.0, 3.0))


def test_a_seed_is_that_of_the_start() -> None:
    with pytest.raises(ValueError, match="seed: cannot change after the start"):
        made().set("seed", "8")


def literal_defaults(kind: str) -> dict[str, str]:
    """Name and value of each default that is one word."""
    texts = load_mock(kind).parameters.items()
    return {
        name: match[1]
        for name, text in texts
        if (match := re.search(r"\(default ([\w.+-]+)\)", text))
    }


@pytest.mark.parametrize("kind", sorted({*names(MOCKS)} - {PROGRAM}))
def test_the_default_shown_is_the_one_in_use(kind: str) -> None:
    def state(parameters: dict[str, Any]) -> dict[str, Any]:
        mock = load_mock(kind).create("m", new_air(0, 0.0), parameters, position=(0.0, 0.0, 0.0))
        return {"": mock.describe(), "rate": mock.baud_rate, "byte": mock.bits_per_byte}

    for name, value in literal_defaults(kind).items():
        assert state({name: value}) == state({}), name


PARAMETERS_ALONE_KINDS = sorted(names(MOCKS))
END_NS = 400 * MS
MORE_NS = 200 * MS

# What sets each mock in motion, or fills its memory; each at its time in ms.
DRIVEN: dict[str, list[tuple[int, bytes]]] = {
    "create2": [(0, b"\x80\x83"), (20, b"\x91" + struct.pack(">hh", 200, 100))],
    "epuck": [(0, b"D,300,200\r"), (100, b"L,2,1\r")],
    "gcode_machine": [(100, b"G1 X3 F600\n")],
    "hc12": [(0, b"hello")],
    "khepera": [(0, b"D,l20000,l15000\r"), (50, b"K,0,1\r")],
    "rylr998": [(200, b"AT+SEND=0,5,HELLO\r\n")],
    "wc2ec_robot": [(100, bytes((53,)) + b"\x35\x03" + struct.pack("<d", 2.0))],
    "xbee": [(200, b"hello")],
}
PLACED = {"position", "heading"}
"""Parameters that move the robot to where they say: that is their effect."""
PLACES = {"x", "y", "heading", "room", "pose"}
# What a value does to the robot, or to its peer, that another value does not undo.
LASTING = {
    "create2": {"wheel_drop", "cliff", "charger"},  # its firmware stops it: OI, safe mode
    "hc12": {"FU"},  # FU2 slows the line down
    "wc2ec_robot": {"sensors", "devices", "lift", "dialect", "webots", "wc2ec_types", "frame"},
}
# What begins again by being set: the script of a controller, the buffer of a framing; and a
# simulator loads a new world for a parameter of the world.
ANEW = {
    "uart_node": {"framing"},
    "webots_controller": {"script"},
    "webots_simulator": {*load_mock("webots_simulator").parameters}
    - {"speed", "accept", "loading_ms", "reset_ms", "framing"},
}


def run(mock: Any, inputs: Sequence[tuple[int, bytes]], now: int, end: int) -> None:
    """What the mock does from now to the end, with these inputs."""
    waiting = deque((ms * MS, data) for ms, data in inputs)
    while now < end:
        due = mock.next_deadline()
        given = waiting[0][0] if waiting else end
        now = max(now, min(given, end if due is None else due))
        mock.advance(now)
        mock.take(now)
        if waiting and now >= waiting[0][0]:
            mock.receive(waiting.popleft()[1], now)
        if due is not None and (later := mock.next_deadline()) is not None and later <= now:
            now += 1  # a deadline that stays must not loop for ever


def running(kind: str, parameters: Mapping[str, Any]) -> Any:
    """A mock after some time with a client that uses it."""
    mock = load_mock(kind).create("m", new_air(0, 0.0), dict(parameters), position=(0.0, 0.0, 0.0))
    mock.advance(0)
    if hasattr(mock, "connect"):
        mock.connect(0)
    run(mock, DRIVEN.get(kind, [(0, b"?\r\n")]), 0, END_NS)
    return mock


def state_of(thing: Any, seen: set[int] | None = None) -> Any:
    """All that an object holds, in plain form, each object of it once; numbers as their text, as
    `set` gives it."""
    if isinstance(thing, Enum) or thing is None or callable(thing):
        return repr(thing) if isinstance(thing, Enum) else thing is None
    if isinstance(thing, bool | int | float):
        return f"{float(thing):g}"
    if isinstance(thing, str | bytes | bytearray):
        return str(thing)
    if isinstance(thing, random.Random):
        return hash(thing.getstate())
    inner = set() if seen is None else seen
    if isinstance(thing, Mapping):
        return {str(key): state_of(value, inner) for key, value in thing.items()}
    if isinstance(thing, list | tuple | set | frozenset | deque):
        return [state_of(each, inner) for each in thing]
    if id(thing) in inner:
        return "..."
    inner.add(id(thing))
    slots = [name for each in type(thing).__mro__ for name in getattr(each, "__slots__", ())]
    held = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    held |= getattr(thing, "__dict__", {})
    return {name: state_of(value, inner) for name, value in held.items()}


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            yield from differences(one.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{path}.{index}")
    elif one != other:
        yield f"{path}: {one!r:.80} -> {other!r:.80}"


def values_of(kind: str, name: str) -> list[str]:
    """Values that this parameter takes: words of its description, and some numbers."""
    words = re.findall(r"[\w.+-]+\w", load_mock(kind).parameters[name])
    taken = []
    for word in dict.fromkeys([*words, "1", "2", "7", "0.7", "100", "0.3,0.2,0", "1,2,3", "a:b"]):
        try:
            load_mock(kind).create("m", new_air(0, 0.0), {name: word}, position=(0.0, 0.0, 0.0))
        except ValueError:
            continue
        taken.append(word)
        if len(taken) == 2:
            break
    return taken


CASES = [
    (kind, name)
    for kind in PARAMETERS_ALONE_KINDS
    for name in load_mock(kind).parameters
    if name not in ANEW.get(kind, ())
]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_setting_a_parameter_changes_that_alone(kind: str, name: str) -> None:
    """To the value that it has, and to another and back: the mock goes on as without that."""
    values = values_of(kind, name)
    ways = [values[:1]]
    if name not in LASTING.get(kind, ()):
        ways.append([*values[1:2], *values[:1]])
    first = {name: values[0]} if values else {}
    alone = running(kind, first)
    run(alone, (), END_NS, END_NS + MORE_NS)
    for way in ways:
        mock = running(kind, first)
        try:
            for value in way:
                mock.set(name, value)
        except ValueError as error:
            assert str(error).startswith(f"{name}: "), error
            continue
        run(mock, (), END_NS, END_NS + MORE_NS)
        changed = [
            each
            for each in differences(state_of(alone), state_of(mock))
            if name not in PLACED or not PLACES & set(each.split(":")[0].split("."))
        ]
        assert changed == [], (way, changed)


WRONG_VALUES_KINDS = plugins.own(plugins.MOCKS)
WRONG: list[Any] = [
    "foo", "", " ", "nan", "inf", "-1", "1e400", "9" * 40, "1.5", "1,2", "1,2,nan", "ping", ":pong",
    "\\x", "(", "{foo}", "0x", "NaN:1", "äöü", "a=b", None, [], [1, 2], {}, {1: None}, True,
    float("nan"), 10**30, -1, 1.5,
]  # fmt: skip
PYTHON = re.compile(
    r"invalid literal|could not convert|codec|object|NoneType|fromhex|unpack|argument|expected"
)


def module_of(kind: str) -> Any:
    return importlib.import_module(f"firmware_mocks.{kind}")


@pytest.mark.parametrize("kind", WRONG_VALUES_KINDS)
def test_a_wrong_value_is_reported_with_its_parameter(kind: str) -> None:
    mock = module_of(kind)
    for name in mock.PARAMETERS:
        errors = []
        for value in WRONG:
            try:
                made = mock.create("m", Air(0), {name: value})
                assert made.describe()
            except ValueError as error:
                errors.append(str(error))
        for text in errors:
            assert text.startswith(f"{name}: "), (name, text)
            assert not PYTHON.search(text), (name, text)


@pytest.mark.parametrize("kind", WRONG_VALUES_KINDS)
def test_text_is_rejected_where_a_number_is_needed(kind: str) -> None:
    mock = module_of(kind)
    for name in mock.PARAMETERS:
        if not name.endswith(("_ms", "_us", "_m", "_dbm", "_per_s")):
            continue
        for value in ("nan", "inf", "-inf", "foo", None):
            with pytest.raises(ValueError, match=f"^{name}: "):
                mock.create("m", Air(0), {name: value})


@pytest.mark.parametrize("kind", WRONG_VALUES_KINDS)
def test_an_unknown_parameter_is_reported_with_the_known_ones(kind: str) -> None:
    mock = module_of(kind)
    some = next(iter(mock.PARAMETERS))
    with pytest.raises(ValueError, match=rf"^strange: .*\b{some}\b"):
        mock.create("m", Air(0), {"strange": 1})


REFUSED = {
    "hc12": "B=14400 | C=0 | FU=5 | set=up",
    "rylr998": "ADDRESS=70000 | UID=x | replies=3 | position=1,2",
    "text_module": "transmit=( | answers=1 | baudRate=1",
    "ir_toy": "play=nec:1 | play=rc5:32:0 | play=sirc:0:128 | play=raw:1,2 | play=raw:1,0,1 | "
    "every_ms=0 | repeats=1.5 | replies=nec:1:2 | jammer=0:5 | facing=0,0,0 | cone=7 | "
    "stretch_us=2000 | ahead=0 | hardware=3 | firmware=100",
    "uart_node": "mode=ecko | framing=cobs-crc17 | framing=gap:soon | framing=raw-x | byteSize=8 | "
    "rate=-1 | size=0 | buffer=0 | rtscts=maybe | banner=\\xzz",
    "wc2ec_robot": "width=0.1 | lift=maybe | dialect=newest | frame=slip | webots=R2018a | "
    "wc2ec_types=seed | position=9, 9, 0",
    "wc2ec_controller": "sensors=a, b | motors=a, | motor_type=256",
    "wc2ec_node": "watchdog_ms=0 | baudRate=1",
    "xbee": "hardware=xbee9 | channel=27 | api_mode=3 | replies=ping | power=2.5 | SH=1FFFFFFFF | "
    "address=11111111111111111 | ni=longer than 20 letters | pins=D3 | pins=D3:up | pins=D33:1",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_value_that_does_not_fit_is_refused(kind: str) -> None:
    """At the start; and while it runs it changes nothing."""
    for name, _, value in (each.partition("=") for each in REFUSED[kind].split(" | ")):
        with pytest.raises(ValueError, match=f"^{name}"):
            module_of(kind).create("m", Air(0), {name: value})
        mock = module_of(kind).create("m", Air(0), {})
        before = mock.describe()
        with pytest.raises(ValueError, match=f"^{name}"):
            mock.set(name, value)
        assert mock.describe() == before
