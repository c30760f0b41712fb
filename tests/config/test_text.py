"""Strict YAML, files that are no text, and files that are none: read, or refused with the place."""

import copy
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from hilgw.config.load import load_text
from hilgw.config.source.document import MAX_DEPTH, compose, compose_with
from hilgw.config.source.scalars import BAD
from hilgw.config.source.text import MAX_BYTES, ConfigErrors, decode, read_text
from tests.cases import cases
from tests.e2e.running import in_process


def refusal(file: Path | str) -> str:
    with pytest.raises(ConfigErrors) as caught:
        read_text(str(file))
    return str(caught.value)


def test_missing_directory_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "none.yaml"
    assert refusal(missing) == f"{missing}: no such file; `hilgw example` lists the shipped ones"
    assert refusal(tmp_path) == f"{tmp_path}: is a directory; name a file in it"
    large = tmp_path / "large.yaml"
    large.write_bytes(b"a" * (MAX_BYTES + 1))
    assert "is larger than 1 MiB" in refusal(large)
    large.write_bytes(b"a" * MAX_BYTES)
    assert len(read_text(str(large))) == MAX_BYTES
    assert "is larger than 1 MiB" in refusal("/dev/zero")
    for name in ("a\0b", "x" * 5000, "\udcff.yaml", "bad\nname"):
        assert refusal(name).isprintable()

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert refusal(large) == f"{large}: permission denied; check its permissions"


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"a: 1\nb: \xff\n", "f:2:4: byte 0xff is not UTF-8 text; save it as UTF-8 text"),
        ("a: ü\nb: é".encode("latin-1"), "f:1:4: byte 0xfc is not UTF-8 text"),
        (b"a: \xf0\x9f", "f:1:4: byte 0xf0 is not UTF-8 text"),
        (b"a: 1\0\n", "f:1:5: character U+0000 is not allowed in a text file; delete it"),
        ("a: \u2028".encode(), "f:1:4: character U+2028 is not allowed"),
        (b"\x1b[31m", "f:1:1: character U+001B is not allowed"),
        ("a: \ufeff1".encode(), "f:1:4: character U+FEFF is not allowed"),
        ("a: 1".encode("utf-16"), "f:1:1: the file is UTF-16 or UTF-32 text; save it as UTF-8"),
        ("a: 1".encode("utf-32"), "f:1:1: the file is UTF-16 or UTF-32 text; save it as UTF-8"),
        (bytes(range(255, 127, -1)) + b"\0", "f:"),
    ],
)
def test_bytes_that_are_no_text(data: bytes, line: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        decode(data, "f")
    assert str(caught.value).startswith(line) and caught.value.exit_code == 3
    assert decode("\ufeffa: ü\r\n\tb".encode(), "f") == "a: ü\r\n\tb"


# Texts with characters that are not bytes, or that people do not see: errors with a position.
ROOT = Path(__file__).parents[2]
# In the files with most texts that become bytes.
STRANGE = [
    ("khepera", "a\u202eb"),
    ("khepera", "\0"),
    ("text", "\0"),
    ("text", "\ud800"),
    ("khepera", "\x1b[2J"),
]


def texts(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(value, str):
            yield (*path, key)
        elif isinstance(value, dict | list):
            yield from texts(value, (*path, key))


def place(path: tuple[Any, ...]) -> tuple[Any, ...]:
    """Equal for the same key of two parts of a kind, such as two sensors."""
    named = ("robots", "sensors", "leds", "devices", "adapters", "airs", "nodes", "answers")
    above = zip((None, *path), path, strict=False)
    return tuple("*" if up in named or isinstance(key, int) else key for up, key in above)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "text"), STRANGE, ids=ascii)
def test_any_text_is_taken_or_an_error_at_its_place(name: str, text: str, tmp_path: Path) -> None:
    """`hilgw check` reports errors by position, or none; its output has no such character."""
    shipped = (ROOT / "configs" / f"{name}.yaml").read_text(encoding="utf-8")
    node = yaml.safe_load(shipped)
    refused = 0
    for path in {place(path): path for path in texts(node)}.values():
        whole = inner = copy.deepcopy(node)
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = text
        (tmp_path / "f.yaml").write_text(json.dumps(whole, indent=1))  # which is YAML
        code, out, err = in_process("check", "f.yaml", cwd=tmp_path)
        lines = (out + err).splitlines()
        assert code in (0, 3) and lines
        assert all(line.startswith("f.yaml:") and line.isprintable() for line in lines)
        refused += code == 3
    assert refused > 5


@pytest.mark.parametrize("text", ["\u202e", "a\u202eb", "\u20ac"])
def test_the_line_end_of_a_robot_is_bytes(text: str, errors: Callable[..., list[str]]) -> None:
    config = (ROOT / "configs" / "khepera.yaml").read_text(encoding="utf-8")
    line_end, escaped = 'line_end: "\\r"', text.encode("unicode_escape").decode()
    (error,) = errors(config.replace(line_end, f'line_end: "{escaped}"'))
    line = config[: config.index(line_end)].count("\n") + 1
    assert error.startswith(f"f:{line}:17: robots.khepera.body.line_end: {text!r} ")
    (error,) = errors(config, f"robots.khepera.body.line_end={text}")
    assert "has a character that is not one byte" in error


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (r"\0", r"a key with the character \0; delete it"),
        (r"a\0b", r"a key with the character \0; delete it"),
        (r"\ud800", "an escape of half a character; write the character"),
    ],
)
@pytest.mark.parametrize("above", ["", "robots: {rover: {controller: ", "adapters: {a: "])
def test_a_key_with_such_a_character_is_an_error(
    key: str, message: str, above: str, errors: Callable[..., list[str]]
) -> None:
    inside = f'{{kind: beacon, "{key}": 1}}' + "}" * above.count("{") if above else f'"{key}": 1'
    reported = "".join(errors(f"version: 1\n{above}{inside}\n"))
    assert f"f:2:{len(above) + (16 if above else 1)}: " in reported and message in reported


def test_no_error_reaches_the_terminal_raw(tmp_path: Path) -> None:
    code, _, error = in_process(
        "send", "--control", "no\u202e\x1b.sock", "rover.tx", "hello", cwd=tmp_path
    )
    assert code == 5 and r"no\u202e\x1b.sock" in error and error.strip().isprintable()


# Whatever a file holds: a configuration, or lines with places in it. Never a traceback.
SHIPPED = (Path(__file__).parents[2] / "configs" / "xbee.yaml").read_text(encoding="utf-8")
DATA = yaml.safe_load(SHIPPED)

WORDS = r"""[ ] { } , : ? - | > & * ! % @ ` # ' " \ << --- ... ~ = null yes 014 1e3 .5 .nan
.inf 1:30 2026-01-31 0x10 &a *a !!str !x %YAML "\ud800" "\UFFFFFFFF" [a]"""
SPACED = ["\n", "\t", "\r", " ", "\n  ", "\n    ", ": ", "- ", "{node: Emitter}", "kind: xbee\n"]
TOKENS = st.sampled_from([*WORDS.split(), *SPACED, "é", "\U0001f916", "\ufeff"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["xbee", "mock", "Emitter", "rx", "lab", "rover", "header", "wc2ec", "beacon"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SCALARS, inner, max_size=4),
    max_leaves=6,
)


def judge(text: str, *overrides: str) -> None:
    try:
        load_text(text, "f", overrides)
    except ConfigErrors as errors:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert errors.diagnostics
        for diagnostic in errors.diagnostics:
            assert diagnostic.message
            assert diagnostic.fix
            assert str(diagnostic).isprintable()
            assert len(str(diagnostic)) < 1500
            if diagnostic.file == "f":
                assert 1 <= diagnostic.line <= len(lines)
                assert 1 <= diagnostic.column <= len(lines[diagnostic.line - 1]) + 1


@given(st.binary(max_size=80))
def test_random_bytes(data: bytes) -> None:
    try:
        text = decode(data, "f")
    except ConfigErrors as errors:
        (diagnostic,) = errors.diagnostics
        assert str(diagnostic).isprintable()
        assert diagnostic.line <= data.count(b"\n") + data.count(b"\r") + 1
        return
    judge(text)


@given(st.data())
def test_the_shipped_file_with_pieces_cut_and_put_in(data: st.DataObject) -> None:
    text = SHIPPED
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(SHIPPED.index("version:"), len(text)))
        end = min(len(text), start + data.draw(st.sampled_from([0, 0, 1, 3, 20, 200])))
        text = text[:start] + "".join(data.draw(st.lists(TOKENS, max_size=3))) + text[end:]
    try:
        text = decode(text.encode(), "f")
    except ConfigErrors:
        return
    judge(text)


def places(data: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    paths = [path] if path else []
    if isinstance(data, dict):
        for key, value in data.items():
            paths += places(value, (*path, key))
    return paths


@cases(4)
@given(
    st.lists(TOKENS, max_size=14).map("".join),
    st.integers(0, len(SHIPPED)),
    st.integers(0, 4),
    st.booleans(),
)
def test_libyaml_changes_nothing(words: str, begin: int, removed: int, alone: bool) -> None:
    text = words if alone else SHIPPED[:begin] + words + SHIPPED[begin + removed :]
    assert compose(text, "f") == compose_with(text, "f", fast=False)


@given(st.sampled_from(places(DATA)), VALUES, SCALARS, st.booleans())
def test_the_shipped_file_with_another_value_or_key(
    path: tuple[object, ...], value: object, key: object, rename: bool
) -> None:
    data = yaml.safe_load(SHIPPED)
    parent = data
    for part in path[:-1]:
        parent = parent[part]
    if rename:
        parent[key] = parent.pop(path[-1])
    else:
        parent[path[-1]] = value
    judge(yaml.safe_dump(data, allow_unicode=False))


@given(
    st.sampled_from(places(DATA)).map(lambda path: ".".join(map(str, path)))
    | st.text(max_size=20)
    | st.lists(TOKENS, max_size=5).map("".join),
    st.text(max_size=20) | st.lists(TOKENS, max_size=5).map("".join),
)
def test_random_overrides(path: str, value: str) -> None:
    judge(SHIPPED, f"{path}={value}", f"{path}.{value}={path}", value)


def problems(text: str) -> list[str]:
    return [str(problem) for problem in compose(text, "f").problems]


def only(text: str) -> str:
    lines = problems(text)
    assert len(lines) == 1, lines
    return lines[0]


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
    positions = [(each.line, each.column, each.path) for each in document.problems]
    assert positions == [(3, 9, "a[1][1]"), (5, 4, "c")]


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


DEEP = "[" * 1000, "{a: " * 1000, "- " * 1000, "[" * 200_000


@pytest.mark.parametrize("text", [*DEEP, "[" + "1," * 500 + "]"])
def test_nesting_and_endless_values_end(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hilgw.config.source.document.MAX_VALUES", 500)
    for good in ("[" * MAX_DEPTH + "]" * MAX_DEPTH, "[" + "1," * 499 + "]"):
        assert compose(good, "f").problems == []
    document, much = compose(text, "f"), f"nested more than {MAX_DEPTH} deep"
    assert [p.message for p in document.problems] == [
        much if text in DEEP else "more than 500 values"
    ]
    assert document.syntax or text not in DEEP


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
