"""Tokens of a world file, with their source positions."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass

from hilgw.errors import ConfigError, printable

MAX_BYTES = 16 << 20
"""The largest world file that is read."""

STRING, WORD, SIGN, END = "string", "word", "sign", "end"

# Commas are white space. Possessive: a quote that is never closed costs one pass.
_TOKEN = re.compile(
    r'[\s,]+|\#[^\r\n]*+|"(?P<string>(?:[^"\\]++|\\.)*+)"|(?P<sign>[{}\[\]])'
    r'|(?P<word>[^\s,"\#{}\[\]]+)',
    re.DOTALL,
)
_HEADER = re.compile(r"#VRML_SIM[ \t]+(\S[^\r\n]*?)[ \t]+utf8[ \t]*(?:\r?\n|\r|\Z)")
_LINE_END = re.compile("\r\n|\n|\r")
_ESCAPE = re.compile(r'\\(["\\])')
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?:inf|nan)")


@dataclass(frozen=True, slots=True)
class Token:
    """kind: STRING, WORD, SIGN or END. text: without quotes and escapes."""

    kind: str
    text: str
    offset: int


class Source:
    """The text of a world file."""

    def __init__(self, data: bytes, file: str) -> None:
        """Raises ConfigError for what is not UTF-8 text with the header of a world."""
        self.file = printable(file)
        self.text = ""
        self._starts = [0]
        if len(data) > MAX_BYTES:
            raise ConfigError(
                "is larger than 16 MiB", where=self.file, fix="move its meshes to files"
            )
        data = data.removeprefix(b"\xef\xbb\xbf")
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            self._take(data[: error.start].decode())
            what = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
            raise self.error(error.start, what, "save it as UTF-8") from None
        self._take(text)
        header = _HEADER.match(text)
        if header is None:
            what = "the first line is not the header of a world file"
            raise self.error(0, what, "it is e.g. #VRML_SIM R2025a utf8")
        self.version = header[1]

    def _take(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def line(self, offset: int) -> int:
        return bisect.bisect_right(self._starts, offset)

    def error(self, offset: int, what: str, fix: str = "") -> ConfigError:
        """The error at this offset of the text."""
        offset = min(offset, len(self.text))
        line = self.line(offset)
        column = offset - self._starts[line - 1] + 1
        return ConfigError(what, where=f"{self.file}:{line}:{column}", fix=fix)

    def tokens(self) -> Iterator[Token]:
        """All tokens, then an endless row of END. Raises ConfigError for an open string."""
        position, size = 0, len(self.text)
        while position < size:
            match = _TOKEN.match(self.text, position)
            if match is None:
                raise self.error(position, "a string is not closed", 'close it with "')
            kind = match.lastgroup
            if kind == STRING:
                yield Token(STRING, _ESCAPE.sub(r"\1", match[STRING]), position)
            elif kind is not None:
                yield Token(kind, match[kind], position)
            position = match.end()
        while True:
            yield Token(END, "", size)


def number_of(word: str) -> float | None:
    """The number that a word is; None for another word."""
    return float(word) if _NUMBER.fullmatch(word) else None
