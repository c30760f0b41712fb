"""Source positions, diagnostics, and paths of keys."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hilgw.errors import ConfigError, printable, quoted

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
