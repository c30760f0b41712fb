"""Texts with characters that are not bytes, or that people do not see: errors with a position."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hilgw.cli.main import main

ROOT = Path(__file__).parents[2]
FILES = ["khepera", "text"]  # those with most texts that become bytes
STRANGE = ["a\u202eb", "\0", "\ud800", "\x1b[2J"]


class _Writer(yaml.SafeDumper):
    """Writes repeated values in full."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def texts(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each text."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(value, str):
            yield (*path, key)
        elif isinstance(value, dict | list):
            yield from texts(value, (*path, key))


def replaced(node: Any, path: tuple[Any, ...], text: str) -> str:
    node = inner = copy.deepcopy(node)
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = text
    return yaml.dump(node, Dumper=_Writer, width=10**6, sort_keys=False)


def check(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """`hilgw check` reports errors by position, or none; its output has no such character."""
    assert main(["check", str(path)]) in (0, 3)
    printed = "".join(capsys.readouterr())
    for line in printed.splitlines():
        assert line.startswith(f"{path}:")
    assert printed.replace("\n", "").isprintable()
    return printed


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("text", STRANGE, ids=ascii)
def test_any_text_is_accepted_or_an_error_with_its_position(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = yaml.safe_load((ROOT / "configs" / f"{name}.yaml").read_text(encoding="utf-8"))
    found = 0
    for path in texts(node):
        (tmp_path / "f.yaml").write_text(replaced(node, path, text))
        found += f"{tmp_path}/f.yaml: ok" not in check(tmp_path / "f.yaml", capsys)
    assert found > 5


@pytest.mark.parametrize("text", ["\u202e", "a\u202eb", "\u20ac"])
def test_the_line_end_of_a_robot_is_bytes(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = (ROOT / "configs" / "khepera.yaml").read_text(encoding="utf-8")
    escaped = text.encode("unicode_escape").decode()
    line_end = 'line_end: "\\r"'
    assert line_end in config
    (tmp_path / "f.yaml").write_text(config.replace(line_end, f'line_end: "{escaped}"'))
    assert main(["check", str(tmp_path / "f.yaml")]) == 3
    (error,) = capsys.readouterr().err.splitlines()
    line = config[: config.index(line_end)].count("\n") + 1
    assert error.startswith(f"{tmp_path}/f.yaml:{line}:17: robots.khepera.body.line_end: {text!r} ")
    override = f"robots.khepera.body.line_end={text}"
    assert main(["check", "khepera", "--set", override]) == 3
    assert "has a character that is not one byte" in "".join(capsys.readouterr())


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
    key: str, what: str, above: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = f'{{kind: beacon, "{key}": 1}}' + "}" * above.count("{") if above else f'"{key}": 1'
    (tmp_path / "f.yaml").write_text(f"version: 1\n{above}{inside}\n")
    assert main(["check", str(tmp_path / "f.yaml")]) == 3
    assert f"/f.yaml:2:{len(above) + (16 if above else 1)}: " in (
        printed := capsys.readouterr().err
    )
    assert what in printed


def test_no_error_reaches_the_terminal_raw(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send", "--control", "no\u202e\x1b.sock", "rover.tx", "hello"]) == 5
    error = capsys.readouterr().err.strip()
    assert r"no\u202e\x1b.sock" in error and error.isprintable()
