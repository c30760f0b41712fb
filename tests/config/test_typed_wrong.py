"""What people type: each slip is one error, at its place, with the fix that helps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

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

SLIPS: list[tuple[str, str, str]] = [  # what is replaced, by what, the error
    ("version: 1\n", "verison: 1\n", "1:1: verison: unknown key; did you mean 'version'?"),
    ("version: 1\n", "version: 1.0\n", "1:10: *; write it without a decimal point: 1"),
    ("version: 1\n", "version: 2\n", "1:10: *; upgrade: pip install --upgrade hilgw"),
    ("115200", "9600.0", "12:15: *; write it without a decimal point: 9600"),
    ("115200", '"9600"', "12:15: *; write it without quotes: 9600"),
    ("115200", "115,200", "12:15: *; write the digits only: 115200"),
    ("115200", "115 200", "12:15: *; write the digits only: 115200"),
    ("115200", "9600 baud", "12:15: *; write the number alone, all digits and no unit"),
    ("115200", "9.6k", "12:15: *; write the number alone, all digits and no unit"),
    ("500", "500ms", "7:56: *; write the number alone, all digits and no unit"),
    ("115200", "about 9600", "12:15: *; write a whole number"),
    ("baudRate: ", "baudRate:", "12:5: *; write a space after the colon: `baudRate: 115200`"),
    ("baudRate", "speed", "12:5: *: unknown key; did you mean 'baudRate'?"),
    ("position", "translation", "4:5: *: unknown key; did you mean 'position'?"),
    ("kind: uart", "kind: serial", "10:11: *: unknown kind 'serial'; did you mean 'uart'?"),
    ("kind: uart", "kind: Arduino", "10:11: *: unknown kind 'Arduino'; did you mean 'uart'?"),
    ("kind: uart", "kind: lora", "10:11: *: unknown kind 'lora'; did you mean 'rylr998'?"),
    ("kind: uart", "kind:\u00a0uart", "10:5: *; write a plain space for U+00A0 in this line"),
    (
        '"ping {n}"',
        "\u201cping {n}\u201d",
        "7:76: *; write a plain quote for U+201C in this line",
    ),
    ("kind: uart", "\tkind: uart", "10:5: a tab *; indent with spaces"),
    (GOOD, "hello\n", "1:1: *; begin with `version: 1`"),
    (GOOD, "- a\n", "1:1: *; begin with `version: 1`"),
    (
        GOOD,
        "#VRML_SIM R2025a utf8\nWorldInfo {\n}\n",
        "1:1: *; `hilgw import-world` makes a configuration of it",
    ),
]


@pytest.mark.parametrize(("word", "slip", "expected"), SLIPS)
def test_a_slip_is_one_error_with_its_fix(
    errors: Callable[[str], list[str]], word: str, slip: str, expected: str
) -> None:
    assert word in GOOD
    (found,) = errors(GOOD.replace(word, slip, 1))
    where, _, fix = expected.partition("*")
    assert found.startswith(f"f:{where}") and found.endswith(fix)


def test_the_file_without_a_slip_is_good(warnings: Callable[[str], list[str]]) -> None:
    assert warnings(GOOD) == []


def test_two_mistyped_keys_are_two_errors_and_a_missing_one_is_its_own(
    errors: Callable[[str], list[str]],
) -> None:
    text = GOOD.replace("version", "verison").replace("port:", "prot:").replace("kind: uart", "")
    found = errors(text)
    assert [line.partition("; ")[0] for line in found] == [
        "f:1:1: verison: unknown key",
        "f:9:3: adapters.arduino.kind: missing",
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "replies: mock: must have a value; write it, or delete the key"),
        ("[ping, pong]", "replies: mock: a list is not KEY:VALUE, e.g. ping:pong; replies: "),
        ("ping", "replies: mock: 'ping' is not KEY:VALUE"),
        ("{ping: pong}", ""),
    ],
)
def test_the_value_of_a_mock_in_words_of_yaml(
    errors: Callable[[str], list[str]],
    warnings: Callable[[str], list[str]],
    value: str,
    message: str,
) -> None:
    text = f"{GOOD}    mock: {{replies: {value}}}\nbackend: mock\n"
    if not message:
        assert warnings(text) == []
        return
    (found,) = errors(text)
    assert found.startswith("f:14:") and message in found
