"""Files that are no text, or no files."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from hilgw.config.load import load_text
from hilgw.config.source.document import compose, compose_with
from hilgw.config.source.positions import ConfigErrors
from hilgw.config.source.text import MAX_BYTES, decode, read_text
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
    found = 0
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
        found += code == 3
    assert found > 5


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
    ("key", "what"),
    [
        (r"\0", r"a key with the character \0; delete it"),
        (r"a\0b", r"a key with the character \0; delete it"),
        (r"\ud800", "an escape of half a character; write the character"),
    ],
)
@pytest.mark.parametrize("above", ["", "robots: {rover: {controller: ", "adapters: {a: "])
def test_a_key_with_such_a_character_is_an_error(
    key: str, what: str, above: str, errors: Callable[..., list[str]]
) -> None:
    inside = f'{{kind: beacon, "{key}": 1}}' + "}" * above.count("{") if above else f'"{key}": 1'
    found = "".join(errors(f"version: 1\n{above}{inside}\n"))
    assert f"f:2:{len(above) + (16 if above else 1)}: " in found and what in found


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
        for found in errors.diagnostics:
            assert found.message
            assert found.fix
            assert str(found).isprintable()
            assert len(str(found)) < 1500
            if found.file == "f":
                assert 1 <= found.line <= len(lines)
                assert 1 <= found.column <= len(lines[found.line - 1]) + 1


@given(st.binary(max_size=80))
def test_random_bytes(data: bytes) -> None:
    try:
        text = decode(data, "f")
    except ConfigErrors as errors:
        (found,) = errors.diagnostics
        assert str(found).isprintable()
        assert found.line <= data.count(b"\n") + data.count(b"\r") + 1
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
    found = [path] if path else []
    if isinstance(data, dict):
        for key, value in data.items():
            found += places(value, (*path, key))
    return found


@cases(4)
@given(
    st.lists(TOKENS, max_size=14).map("".join),
    st.integers(0, len(SHIPPED)),
    st.integers(0, 4),
    st.booleans(),
)
def test_libyaml_changes_nothing(words: str, at: int, removed: int, alone: bool) -> None:
    text = words if alone else SHIPPED[:at] + words + SHIPPED[at + removed :]
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
