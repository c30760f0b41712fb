"""Reads a file as UTF-8 text, with an error for every way this can fail."""

import bisect
import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from hilgw.config.shipped import names
from hilgw.errors import ConfigError, nearest, printable, quoted

Path = tuple[str | int, ...]

_PLAIN = re.compile(r"[A-Za-z_][\w-]{0,79}")
_LONGEST = 400

ERROR = "error"
WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a file, counted from 1; line 0 means the file (or the option) as a whole."""

    file: str
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error or a warning: its position, the path of its key, the problem, the fix."""

    file: str
    line: int
    column: int
    path: str
    message: str
    fix: str = ""
    severity: str = ERROR

    @classmethod
    def at(
        cls, position: Position, path: Path, message: str, fix: str = "", severity: str = ERROR
    ) -> "Diagnostic":
        words = _on_one_line(message), _on_one_line(fix), severity
        return cls(printable(position.file), position.line, position.column, spell(path), *words)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        severity = self.severity if self.severity != ERROR else ""
        text = ": ".join(part for part in (where, severity, self.path, self.message) if part)
        return f"{text}; {self.fix}" if self.fix else text


class ConfigErrors(ConfigError):
    """The errors of a configuration, in the order of the file."""

    SHOWN = 100

    def __init__(
        self, diagnostics: Iterable[Diagnostic], warnings: Iterable[Diagnostic] = ()
    ) -> None:
        self.diagnostics = list(diagnostics)
        self.warnings = list(warnings)
        super().__init__(f"{len(self.diagnostics)} errors in the configuration")

    def __str__(self) -> str:
        lines = [str(diagnostic) for diagnostic in self.diagnostics[: self.SHOWN]]
        if len(self.diagnostics) > self.SHOWN:
            lines.append(f"... and {len(self.diagnostics) - self.SHOWN} more errors")
        return "\n".join(lines)


def _on_one_line(text: str) -> str:
    if not text.isprintable():
        text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:_LONGEST])
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def spell(path: Path) -> str:
    """Return the text of a path: robots.rover.position[2]."""
    text = ""
    for part in path:
        if isinstance(part, int) and not isinstance(part, bool):
            text += f"[{part}]"
        else:
            name = part if _PLAIN.fullmatch(str(part)) else quoted(str(part))
            text += f".{name}" if text else f"{name}"
    return text


def descend(data: Any, path: Path) -> Any:
    """Return the value at a path of plain data; None if there is none."""
    for part in path:
        try:
            data = data[part]
        except (LookupError, TypeError):
            return None
    return data


MAX_BYTES = 1 << 20

# Control characters, a byte order mark inside the text, and line ends of YAML 1.1 only.
NOT_TEXT = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
_LINE_END = re.compile("\r\n|\n|\r")
_WIDE_BOMS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FIX = "save it as UTF-8 text"


class LinePositions:
    """Positions of offsets in a text. Lines end as in editors: LF, CR LF or CR."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def position(self, offset: int) -> Position:
        line = bisect.bisect_right(self._starts, offset)
        return Position(self._file, line, offset - self._starts[line - 1] + 1)

    def rest(self, position: Position) -> str:
        """Return the line from this position on, without a comment."""
        start = self._starts[position.line - 1] + position.column - 1
        return self._text[start:].partition("\n")[0].partition(" #")[0].strip()[:80]

    def is_first(self, position: Position) -> bool:
        """Return True if only spaces and dashes of lists precede the position in its line."""
        start = self._starts[position.line - 1]
        return not self._text[start : start + position.column - 1].strip(" -")


def read_text(file: str) -> str:
    """Return the text of a configuration file, or raise ConfigErrors."""
    try:
        with FilePath(file).open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        near = nearest(file, names()) if "/" not in file else None
        fix = f"did you mean {near}?" if near else "`hilgw example` lists the shipped ones"
        raise _whole(file, "no such file", fix) from None
    except IsADirectoryError:
        raise _whole(file, "is a directory", "name a file in it") from None
    except PermissionError:
        raise _whole(file, "permission denied", "check its permissions") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise _whole(file, f"cannot be read: {reason}", "check the path") from None
    if len(data) > MAX_BYTES:
        raise _whole(file, "is larger than 1 MiB", "a configuration is smaller")
    return decode(data, file)


def decode(data: bytes, file: str) -> str:
    """Decode UTF-8 bytes, without a leading byte order mark, or raise ConfigErrors."""
    if data.startswith(_WIDE_BOMS):
        problem = "the file is UTF-16 or UTF-32 text"
        raise ConfigErrors([Diagnostic.at(Position(file, 1, 1), (), problem, _FIX)])
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        position = LinePositions(before, file).position(len(before))
        problem = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
        raise ConfigErrors([Diagnostic.at(position, (), problem, _FIX)]) from None
    check_text(text, file)
    return text


def check_text(text: str, file: str) -> None:
    """Raise ConfigErrors for characters that no text file has."""
    if strange := NOT_TEXT.search(text):
        position = LinePositions(text, file).position(strange.start())
        problem = f"character U+{ord(strange[0]):04X} is not allowed in a text file"
        raise ConfigErrors([Diagnostic.at(position, (), problem, "delete it, or " + _FIX)])


def _whole(file: str, problem: str, fix: str) -> ConfigErrors:
    return ConfigErrors([Diagnostic.at(Position(file), (), problem, fix)])
