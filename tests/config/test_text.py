"""Files that are no text, or no files."""

from __future__ import annotations

from pathlib import Path

import pytest

from hilgw.config.source.positions import ConfigErrors
from hilgw.config.source.text import MAX_BYTES, Lines, decode, read_text


def refusal(file: Path | str) -> str:
    with pytest.raises(ConfigErrors) as caught:
        read_text(str(file))
    return str(caught.value)


def test_missing_directory_and_size(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    assert refusal(missing) == f"{missing}: no such file; `hilgw example` lists the shipped ones"
    assert refusal(tmp_path) == f"{tmp_path}: is a directory; name a file in it"
    large = tmp_path / "large.yaml"
    large.write_bytes(b"a" * (MAX_BYTES + 1))
    assert "is larger than 1 MiB" in refusal(large)
    large.write_bytes(b"a" * MAX_BYTES)
    assert len(read_text(str(large))) == MAX_BYTES
    assert "is larger than 1 MiB" in refusal("/dev/zero")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "\udcff.yaml", "bad\nname"])
def test_odd_names(name: str) -> None:
    line = refusal(name)
    assert line.isprintable()


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    file = tmp_path / "secret.yaml"
    assert refusal(file) == f"{file}: permission denied; check its permissions"


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"a: 1\nb: \xff\n", "f:2:4: byte 0xff is not UTF-8 text; save it as UTF-8 text"),
        ("a: ü\nb: é".encode("latin-1"), "f:1:4: byte 0xfc is not UTF-8 text"),
        (b"a: \xf0\x9f", "f:1:4: byte 0xf0 is not UTF-8 text"),
        (b"a: 1\0\n", "f:1:5: character U+0000 is not allowed in a text file; delete it"),
        ("a: \u2028".encode(), "f:1:4: character U+2028 is not allowed"),
        (b"\x1b[31m", "f:1:1: character U+001B is not allowed"),
        ("a: \u0081".encode(), "f:1:4: character U+0081 is not allowed"),
        ("a: \ufeff1".encode(), "f:1:4: character U+FEFF is not allowed"),
        (
            "a: 1".encode("utf-16"),
            "f:1:1: the file is UTF-16 or UTF-32 text; save it as UTF-8 text",
        ),
        (
            "a: 1".encode("utf-32"),
            "f:1:1: the file is UTF-16 or UTF-32 text; save it as UTF-8 text",
        ),
        (bytes(range(255, 127, -1)) + b"\0", "f:"),
        (b"\x7fELF\x02\x01\x01\0", "f:1:1: character U+007F is not allowed"),
    ],
)
def test_bytes_that_are_no_text(data: bytes, line: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        decode(data, "f")
    assert str(caught.value).startswith(line)
    assert caught.value.exit_code == 3


def test_a_leading_mark_of_utf8_is_harmless() -> None:
    assert decode("\ufeffa: ü\r\n\tb".encode(), "f") == "a: ü\r\n\tb"


def test_lines() -> None:
    lines = Lines("a\nb\r\nc\rd", "f")
    places = [(p.line, p.column) for p in map(lines.position, range(8))]
    assert places == [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1)]
