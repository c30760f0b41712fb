"""Strict YAML: what is plain data is read, everything else is refused with its place."""

import math
import re

import pytest

from hilgw.config.source.document import MAX_DEPTH, compose
from hilgw.config.source.scalars import BAD


def problems(text: str) -> list[str]:
    return [str(problem) for problem in compose(text, "f").problems]


def only(text: str) -> str:
    found = problems(text)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("", None),
        ("true", True),
        ("0x3332", 0x3332),
        ("18446744073709551615", 2**64 - 1),
        ("1.0e+3", 1000.0),
        (".inf", math.inf),
        ("0013A20040A1B2C3", "0013A20040A1B2C3"),
        ("y", "y"),
        ("'014'", "014"),
        ('"yes"', "yes"),
        ('"a\\0b"', "a\0b"),
    ],
)
def test_what_all_yaml_versions_read_alike(word: str, value: object) -> None:
    document = compose(f"key: {word}\n", "f")
    assert document.problems == []
    assert document.data == {"key": value}
    assert type(document.data["key"]) is type(value)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("yes", 'write true, or "yes" if it is text'),
        ("No", 'write false, or "No" if it is text'),
        ("OFF", "write false"),
        ("014", 'write 14 without zeros, or "014" if it is text'),
        ("0013200040", '"0013200040" if it is text (an address, a serial number)'),
        ("-007", "write -7 without zeros"),
        ("00.5", "write 0.5 without zeros"),
        ("0o14", 'write 12, or "0o14" if it is text'),
        ("0b101", 'write 5, or "0b101" if it is text'),
        ("0X10", 'write "0X10" if it is text'),
        ("-0x10", 'write "-0x10" if it is text'),
        ("1:30", 'write "1:30" if it is text'),
        ("12:30:45.5", "base-60"),
        ("1_000", "write 1000"),
        ("1e3", "write 1000"),
        ("1.5e3", "write 1500.0"),
        ("2e-7", "write 2.0e-07"),
        (".5", "write 0.5"),
        ("5.", "write 5.0"),
        ("1e999", "write a smaller number"),
        ("1.0e+999", "too large"),
        ("18446744073709551616", "more than 64 bits"),
        ("9" * 5000, "more than 64 bits"),
        ("0x" + "f" * 400, "more than 64 bits"),
        ("2026-01-31", 'write "2026-01-31" if it is text'),
        ("2026-01-31T10:00:00Z", "a date"),
    ],
)
def test_surprises_are_refused_with_what_to_write(word: str, expected: str) -> None:
    document = compose(f"a: 1\nkey:  {word}\n", "f")
    (problem,) = document.problems
    line = str(problem)
    assert line.startswith("f:2:7: key: ") and expected in line and len(line) < 300
    assert document.data == {"a": 1, "key": BAD}
    if instead := re.match(r"write ([\d.e+-]+|true|false)( without|, or|$)", problem.fix or ""):
        again = compose(f"key: {instead[1]}", "f")
        assert again.problems == [] and not isinstance(again.data["key"], str)


def test_places_count_as_editors_do() -> None:
    text = "a:\r\n  - 1\r\n  - [x, yes]\rb: 'ü'\nc: no\n"
    document = compose(text, "f")
    assert document.values[("a", 1, 1)].line == 3
    assert document.values[("a", 1, 1)].column == 9
    assert document.keys[("b",)].line == 4
    found = [(each.line, each.column, each.path) for each in document.problems]
    assert found == [(3, 9, "a[1][1]"), (5, 4, "c")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: &x 1\n", "f:1:4: a: anchor 'x'; delete it and write values out"),
        ("a: 1\nb: [*a]\n", "f:2:5: b[0]: alias 'a'; write the value out"),
        ("a: !!int 3\n", "f:1:4: a: tag 'tag:yaml.org,2002:int'; delete it"),
        ("a: !python/x {b: 1}\n", "f:1:4: a: tag '!python/x'; delete it"),
        ("a:\n  <<: {b: 1}\n", "f:2:3: a: merge key '<<'; write the keys out"),
        ("a: 1\n---\nb: 2\n", "f:2:1: a second document begins here; keep one, or use two files"),
        ("[a]: 1\n", "f:1:1: a key must be text; put it in quotes"),
        ("{a: 1}: 1\n", "f:1:1: a key must be text; put it in quotes"),
        ("? &k a\n: 1\n", "f:1:3: anchor 'k'; delete it and write values out"),
        ("? \n: 1\n", "f:1:2: a key is missing before ':'; write it, or delete the ':'"),
        ("true: 1\n", "f:1:1: true: the key true is not text; put it in quotes"),
        ("1.5: 1\n", "f:1:1: '1.5': the key 1.5 is not text; put it in quotes"),
        ('a: "\\ud800"\n', "f:1:4: a: an escape of half a character; write the character"),
        ("", "f:1:1: the file is empty; begin with `version: 1`"),
        ("# nothing\n", "f:1:1: the file is empty; begin with `version: 1`"),
    ],
)
def test_beyond_plain_data(text: str, line: str) -> None:
    assert only(text) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a:\n\t- 1\n", "f:2:1: a tab where spaces are needed; indent with spaces"),
        ("a: @x\n", "f:1:4: a value cannot begin with this character; put it in quotes"),
        (
            "a: b: c\n",
            "f:1:5: a ':' where a key is not allowed; check the indentation, or put a text that "
            "contains ': ' in quotes",
        ),
        ("a: [1\nb\n", "f:1:4: '[' is not closed; close it with ']'"),
        ("a: {b: 1\n", "f:1:4: '{' is not closed; close it with '}'"),
        (
            "a: [1}\n",
            "f:1:6: this cannot follow in a list that begins in line 1; write ',' or ']' before it",
        ),
        ('a: "b\n', "f:1:4: a quote is not closed; close it"),
        ("a:\n  b: 1\n c: 2\n", "f:3:2: wrong indentation"),
        ("a: 1\nb\n", "f:2:1: a key without ':'; write `key: value`"),
        ("a:\n  kind xbee\n  port: x\n", "f:2:3: a key without ':'; write `key: value`"),
        (
            "a:\n  - kind:xbee\n    port: x\n",
            "f:2:5: a key without ':'; write a space after the colon: `kind: xbee`",
        ),
        ("a: [1,, 2]\n", "f:1:7: a value is missing here; write it"),
        ('a: "\\q"\n', "f:1:6: unknown escape in a double-quoted text"),
        ('a: "\\UFFFFFFFF"\n', "f:1:7: not valid YAML"),
        ("a: 1\n...\nb: 2\n", "f:3:1: this cannot follow the end of the data"),
        ("a: !x!y 1\n", "f:1:4: tags are not allowed"),
        ("%YAML 9.1\n---\na: 1\n", "f:1:1: unknown YAML version"),
        (f"%YAML {'9' * 5000}.1\n---\na: 1\n", "f:1:7: not valid YAML"),
        ("a: *\n", "f:1:5: a value cannot begin with '*'; put it in quotes"),
        ("a: & b\n", "f:1:5: a value cannot begin with '&'; put it in quotes"),
        ("a: {b: !}\n", "f:1:9: a value cannot begin with '!'; put it in quotes"),
    ],
)
def test_syntax_errors_are_reported_plainly(text: str, line: str) -> None:
    document = compose(text, "f")
    assert document.syntax
    assert str(document.problems[-1]).startswith(line)


@pytest.mark.parametrize("text", ["[" * 1000, "{a: " * 1000, "- " * 1000, "[" * 200_000])
def test_nesting_ends_at_a_depth(text: str) -> None:
    assert compose("[" * MAX_DEPTH + "]" * MAX_DEPTH, "f").problems == []
    document = compose(text, "f")
    assert document.syntax
    assert [p.message for p in document.problems] == [f"nested more than {MAX_DEPTH} deep"]


def test_a_file_of_endless_values_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hilgw.config.source.document.MAX_VALUES", 500)
    assert compose("[" + "1," * 499 + "]", "f").problems == []
    document = compose("[" + "1," * 500 + "]", "f")
    assert [p.message for p in document.problems] == ["more than 500 values"]


def test_strangers_text_is_escaped_and_shortened() -> None:
    line = only(f"a: &{'x' * 3000} 1\n")
    assert len(line) < 150
    line = only('"\\e[31m\\nred": 1\n"\\e[31m\\nred": 2\n')
    assert "\x1b" not in line
    assert "\n" not in line


def test_data_words_and_the_nearest_place_of_what_is_not_there() -> None:
    document = compose("a: {b: [1, 0x10, {c: text}], 12: .nan}", "f")
    assert document.data["a"]["b"] == [1, 16, {"c": "text"}]
    assert math.isnan(document.data["a"][12])
    assert document.words == {("a", "b", 0): "1", ("a", "b", 1): "0x10", ("a", 12): ".nan"}
    document = compose("a:\n  b: {c: 1}\n", "f")
    assert document.position_of_key(("a", "b", "x", "y")).line == 2
    assert document.position_of_value(("nothing",)) == document.position_of_key(())
    assert document.position_of_value(("a", "b", "c")).column == 10
    assert [line.split(":")[1] for line in problems("a: yes\nb: 014\nc: [\n")] == ["1", "2", "3"]


def test_a_repeated_key_names_the_first_and_is_not_kept() -> None:
    document = compose("a: 1\nb: 2\na: {c: yes, c: 1}\n", "f")
    (problem,) = map(str, document.problems)
    assert problem == "f:3:1: a: duplicate key, first in line 1; keep one of them"
    assert document.data == {"a": 1, "b": 2}
