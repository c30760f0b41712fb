"""What people type: each slip is one error, at its place, with the fix that helps."""

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import hilgw
from hilgw.config.load import load_text
from hilgw.config.source.text import ConfigErrors
from tests.config.cases import Lines
from tests.work import all_calls

GOOD = """\
version: 1
robots:
  rover:
    position: [0, 0, 0]
    devices:
      tx: {node: Emitter, type: serial, channel: 1}
    controller: {kind: beacon, emitter: tx, period_ms: 500, payload: "ping {n}"}
adapters:
  arduino:
    kind: uart
    port: /dev/ttyACM9
    baudRate: 115200
    channel: 1
"""

NO_LIST = ", not a list; write `key: value` in each line, without '-' and [ ]"
BEACON = '{kind: beacon, emitter: tx, period_ms: 500, payload: "ping {n}"}'
SLIPS: list[tuple[str, str, str]] = [  # what is replaced, by what, the error
    ("version: 1\n", "verison: 1\n", "1:1: verison: unknown key; did you mean 'version'?"),
    ("version: 1\n", "version: 1.0\n", "1:10: *; write it without a decimal point: 1"),
    ("version: 1\n", "version: 2\n", "1:10: *; upgrade: pip install --upgrade hilgw"),
    ("115200", "9600.0", "12:15: *; write it without a decimal point: 9600"),
    ("115200", '"9600"', "12:15: *; write it without quotes: 9600"),
    ("115200", "115,200", "12:15: *; write the digits only: 115200"),
    ("115200", "9600 baud", "12:15: *; write the number alone, all digits and no unit"),
    ("500", "500ms", "7:56: *; write the number alone, all digits and no unit"),
    ("baudRate: ", "baudRate:", "12:5: *; write a space after the colon: `baudRate: 115200`"),
    ("baudRate", "speed", "12:5: *: unknown key; did you mean 'baudRate'?"),
    ("position", "translation", "4:5: *: unknown key; did you mean 'position'?"),
    ("kind: uart", "kind: serial", "10:11: *: unknown kind 'serial'; did you mean 'uart'?"),
    ("kind: uart", "kind: Arduino", "10:11: *: unknown kind 'Arduino'; did you mean 'uart'?"),
    ("kind: uart", "kind: lora", "10:11: *: unknown kind 'lora'; did you mean 'rylr998'?"),
    ("kind: beacon", "kind: c++", "7:24: *: unknown kind 'c++'; did you mean 'webots'?"),
    ("position: [0, 0, 0]", 'position: "0, 0,1"', "4:15: *; write [0, 0, 1]"),
    ("position: [0, 0, 0]", "position: 1.5 -2 0", "4:15: *; write [1.5, -2, 0]"),
    ("version: 1\n", "version: 1\nspeed: fast\n", "2:8: *; write it like 2, or max"),
    ('"ping {n}"', "ping {n}", "7:75: a text with braces is not in quotes; put it in quotes"),
    ('"ping {n}"', "{n}", "7:70: *; put a text with braces in quotes: '{n}'"),
    ('"ping {n}"', "{{n}}", "7:71: *: a text with braces is not in quotes; put it in quotes"),
    ("{node: Emitter, type: serial, channel: 1}\n", "[tx]\n", f"6:11: *{NO_LIST}"),
    ("  arduino:\n    kind: uart\n", "  - kind: uart\n", f"9:3: adapters: must be a *{NO_LIST}"),
    (BEACON, "beacon", "7:17: *; write `{kind: beacon}`"),
    ("kind: uart", "kind:\u00a0uart", "10:5: *; write a plain space for U+00A0 in this line"),
    ('"ping {n}"', "\u201cping {n}\u201d", "7:76: *; write a plain quote for U+201C in this line"),
    ("kind: uart", "\tkind: uart", "10:5: a tab *; indent with spaces"),
    (GOOD, "hello\n", "1:1: *; begin with `version: 1`"),
    (
        GOOD,
        "#VRML_SIM R2025a utf8\nWorldInfo {\n}\n",
        "1:1: *; `hilgw import-world` makes a configuration of it",
    ),
]


@pytest.mark.parametrize(("word", "slip", "expected"), SLIPS)
def test_a_slip_is_an_error_with_a_fix(errors: Lines, word: str, slip: str, expected: str) -> None:
    assert word in GOOD and load_text(GOOD, "f").warnings == []
    (error,) = errors(GOOD.replace(word, slip, 1))
    where, _, fix = expected.partition("*")
    assert error.startswith(f"f:{where}") and error.endswith(fix)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "replies: mock: must have a value; write it, or delete the key"),
        ("[ping, pong]", "replies: mock: a list is not KEY:VALUE, e.g. ping:pong; replies: "),
        ("ping", "replies: mock: 'ping' is not KEY:VALUE"),
    ],
)
def test_the_value_of_a_mock_in_words_of_yaml(errors: Lines, value: str, message: str) -> None:
    assert load_text(f"{GOOD}    mock: {{replies: {{ping: pong}}}}\nbackend: mock\n", "f")
    (error,) = errors(f"{GOOD}    mock: {{replies: {value}}}\nbackend: mock\n")
    assert error.startswith("f:14:") and message in error


# Every number of a configuration has a range, so no number reaches code that it would break.
def settings_classes() -> Iterator[type[Any]]:
    """Every dataclass of hilgw whose fields are declared with setting()."""
    for module in pkgutil.walk_packages(hilgw.__path__, "hilgw."):
        if "__main__" in module.name:
            continue
        for kind in vars(importlib.import_module(module.name)).values():
            if not (isinstance(kind, type) and is_dataclass(kind)):
                continue
            if any("doc" in field.metadata for field in fields(kind)):
                yield kind


def is_number(hint: Any) -> bool:
    """Whether a value of this type, or an item of it, is a number. Keys are not."""
    if get_origin(hint) is Literal:
        return False
    if get_origin(hint) in (dict, Mapping):
        return is_number(get_args(hint)[1])
    return hint in (int, float) or any(map(is_number, get_args(hint)))


def unbounded(settings: type[Any]) -> list[str]:
    hints = get_type_hints(settings)
    return [
        f"{settings.__qualname__}.{field.name}"
        for field in fields(settings)
        if "doc" in field.metadata and is_number(hints[field.name])
        if not field.metadata["choices"]
        if field.metadata["le"] is None
        or (field.metadata["ge"] is None and field.metadata["gt"] is None)
    ]


def test_every_number_has_a_lower_and_an_upper_bound() -> None:
    classes = list(settings_classes())
    assert len(classes) > 20
    assert [name for settings in classes for name in unbounded(settings)] == []


# A file with thousands of errors is refused with work in proportion to its length.
HEAD = "version: 1\nwebots: R2025a\nbackend: mock\n"
ROVERS = "robots:\n" + "".join(f"  rover{number}: {{}}\n" for number in range(60))
UART = "adapters:\n  a:\n    kind: uart\n    port: /dev/x\n"

SHAPES: dict[str, tuple[str, str]] = {  # what stands before the entries; one entry
    "unknown keys": ("robots:\n  r:\n", "    key{n}: 1\n"),
    "wrong values": (
        "robots:\n  r:\n    devices:\n",
        "      e{n}: {{node: Emitter, channel: -7}}\n",
    ),
    "wrong types": ("robots:\n", "  r{n}: {{position: abc}}\n"),
    "unknown kinds": ("robots:\n", "  r{n}: {{controller: {{kind: nope}}}}\n"),
    "unknown references": (ROVERS + UART + "    sources:\n", "      '{n}': rovver{n}x\n"),
    "duplicate names": ("robots:\n", "  r: {{}}\n"),
    "duplicate ports": ("adapters:\n", "  a{n}: {{kind: uart, port: x}}\n"),
    "obstacles": ("obstacles:\n", "  o{n}: {{shape: sphere, radius: -1}}\n"),
    "motor limits": (
        "robots:\n  r:\n    body:\n      kind: wc2ec\n      port: x\n      limits:\n",
        "        m{n}: {{min_position: 3, max_position: 1}}\n",
    ),
    "listeners": (
        "robots:\n",
        "  r{n}: {{controller: {{kind: wc2ec, listen: 'tcp://127.0.0.1:2'}}}}\n",
    ),
    "parameters of a mock": (UART + "    mock:\n", "      p{n}: 1\n"),
    "adapters with mocks": ("adapters:\n", "  a{n}: {{kind: uart, port: p{n}, mock: {{m: 1}}}}\n"),
    "registers of a node": (
        "airs:\n  a:\n    nodes:\n      n:\n        mock: xbee\n",
        "        q{n}: 1\n",
    ),
}


def file_of(shape: str, entries: int) -> str:
    before, entry = SHAPES[shape]
    return HEAD + before + "".join(entry.format(n=number) for number in range(entries))


def refused(text: str) -> int:
    with pytest.raises(ConfigErrors) as caught:
        load_text(text, "f")
    return len(caught.value.diagnostics)


@pytest.mark.exhaustive
@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_the_number_of_wrong_entries_alone(shape: str) -> None:
    assert refused(file_of(shape, 10)) >= 9  # and everything is imported
    few, many = (all_calls(lambda n=n: refused(file_of(shape, n))) for n in (60, 180))
    assert many <= 3.1 * few
