"""Whatever a file holds: a configuration, or lines with places in it. Never a traceback."""

from __future__ import annotations

from pathlib import Path

import yaml
from hypothesis import given, strategies as st

from hilgw.config.load import load_text
from hilgw.config.source.document import compose, compose_with
from hilgw.config.source.positions import ConfigErrors
from hilgw.config.source.text import decode
from tests.cases import cases

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


@given(st.text(max_size=80) | st.lists(TOKENS, max_size=20).map("".join))
def test_random_text(text: str) -> None:
    try:
        text = decode(text.encode("utf-8", "replace"), "f")
    except ConfigErrors as errors:
        assert errors.diagnostics[0].fix
        return
    judge(text)


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
