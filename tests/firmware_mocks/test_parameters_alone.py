"""Setting a parameter of a running mock changes that alone, of every mock and parameter."""

import random
import re
import struct
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import pytest

from hilgw.plugins import MOCKS, load_mock, names, new_air

KINDS = sorted(names(MOCKS))
MS = 1_000_000
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
    for kind in KINDS
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
