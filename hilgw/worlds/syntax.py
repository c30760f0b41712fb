"""Tokens of a world file, with their source positions."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from typing import NamedTuple, cast

from hilgw.errors import ConfigError, printable

MAX_BYTES = 16 << 20
"""The largest world file that is read."""

STRING, WORD, SIGN, END = "string", "word", "sign", "end"

MAX_TOKENS = 1_500_000
"""Words, strings and signs of a file, without the numbers in lists: a few seconds of work."""

# Commas are white space. Possessive: a quote that is never closed costs one pass.
_SPACE = r"(?:[\s,]++|\#[^\r\n]*+)*+"
_SPACES = re.compile(_SPACE)
_TOKEN = re.compile(
    _SPACE + r'(?:"(?P<string>(?:[^"\\]++|\\.)*+)"|(?P<sign>[{}\[\]])|(?P<word>[^\s,"\#{}\[\]]++))',
    re.DOTALL,
)
_HEADER = re.compile(r"#VRML_SIM[ \t]+(\S[^\r\n]*?)[ \t]+utf8[ \t]*(?:\r?\n|\r|\Z)")
_LINE_END = re.compile("\r\n|\n|\r")
_ESCAPE = re.compile(r'\\(["\\])')
_DECIMAL = r"[-+]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?|[-+]?(?:inf|nan)"
_NUMBER = re.compile(_DECIMAL)
_NUMBERS = re.compile(rf"(?:[\s,]*+(?:{_DECIMAL})(?=[\s,\]]))*+")


class Token(NamedTuple):
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
        self._at = 0  # the end of what was read
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
        """All tokens, then an endless row of END. Raises ConfigError for an open string, and for
        more tokens than MAX_TOKENS."""
        text, match_at = self.text, _TOKEN.match
        for _ in range(MAX_TOKENS):
            match = match_at(text, self._at)
            if match is None:
                break
            kind = cast(str, match.lastgroup)
            self._at = match.end()
            if kind == STRING:
                yield Token(STRING, _ESCAPE.sub(r"\1", match[STRING]), match.start(STRING) - 1)
            else:
                yield Token(kind, match[kind], match.start(kind))
        rest = cast(re.Match[str], _SPACES.match(text, self._at)).end()
        if rest < len(text):
            if match is None:
                raise self.error(rest, "a string is not closed", 'close it with "')
            fix = "delete nodes that the radios do not need, or move them to PROTO files"
            raise self.error(rest, f"more than {MAX_TOKENS} words and signs", fix)
        while True:
            yield Token(END, "", len(text))

    def numbers(self) -> list[float]:
        """The numbers of a list that follow, which are no tokens then. For meshes: most of a large
        file."""
        match = cast(re.Match[str], _NUMBERS.match(self.text, self._at))
        self._at = match.end()
        return [float(each) for each in match[0].replace(",", " ").split()]


def number_of(word: str) -> float | None:
    """The number that a word is; None for another word."""
    return float(word) if _NUMBER.fullmatch(word) else None
