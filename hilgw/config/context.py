"""The state of one check of a file: allowed keys and resulting object of each mapping, findings."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hilgw.config.source.document import Document
from hilgw.config.source.text import WARNING, ConfigErrors, Diagnostic, Path, descend
from hilgw.errors import ConfigError, known_here, suggest
from hilgw.settings import Problem

_NUMBER = re.compile(r"-?[0-9]{1,19}")  # a key of a mapping by channel


class Context:
    """Allowed keys of each mapping, and the object made from each valid mapping.

    Mappings are compared by identity; the document that holds them must outlive this object.
    """

    def __init__(self) -> None:
        self._keys: dict[int, dict[str, str]] = {}
        self._parts: dict[int, tuple[type[Any], ...]] = {}
        self._made: dict[int, Any] = {}

    def note_shape(
        self, mapping: Any, keys: dict[str, str], parts: tuple[type[Any], ...] = ()
    ) -> None:
        """Store the shape of a mapping.

        Args:
            mapping: The mapping.
            keys: Each allowed key with an example of its value, or "".
            parts: The settings dataclasses that declare the keys.
        """
        self._keys[id(mapping)] = keys
        self._parts[id(mapping)] = parts

    def parts(self, mapping: Any) -> tuple[type[Any], ...]:
        return self._parts.get(id(mapping), ())

    def keys(self, mapping: Any) -> tuple[str, ...]:
        return tuple(self._keys.get(id(mapping), ()))

    def advice(self, mapping: Any, key: str) -> str:
        """Return the fix for a missing key."""
        example = self._keys.get(id(mapping), {}).get(key)
        return f"write `{key}: {example}`" if example else f"write `{key}: ...`"

    def note(self, mapping: Any, made: Any) -> Any:
        self._made[id(mapping)] = made
        return made

    def made(self, mapping: Any) -> Any:
        """Return the object made from this mapping; None for one with errors, or another value."""
        return self._made.get(id(mapping))


@dataclass
class Inspection:
    """A document under inspection: walks its data, collects errors and warnings.

    Errors are added to the document's problems.
    """

    document: Document
    context: Context
    warnings: list[Diagnostic] = field(default_factory=list)
    _suggested: int = 0

    def each(self, *path: str | None) -> Iterator[tuple[Path, Any]]:
        """Yield every mapping at a path of the data; None matches any name."""
        return _walk(self.document.data, (), path)

    def made(self, *path: str | None) -> Iterator[tuple[Path, Any]]:
        """Yield path and object of each mapping at a path that passed validation."""
        for place, data in self.each(*path):
            if (part := self.context.made(data)) is not None:
                yield place, part

    def get(self, *path: str | int) -> Any:
        """Return the value at a path of the data; None if there is none."""
        return descend(self.document.data, path)

    def error(self, path: Path, problem: str, fix: str) -> None:
        """Report an error, unless the value already has one."""
        if not self.document.is_bad(path):
            self.document.report(self.document.position_of_value(path), path, problem, fix)

    def errors(self, path: Path, problems: Iterable[Problem]) -> None:
        """Report errors of settings below `path`, each as (dotted key, what, fix)."""
        for dotted, problem, fix in problems:
            self.error(self.below(path, dotted), problem, fix)

    def config_error(self, path: Path, error: ConfigError) -> None:
        """Report a ConfigError whose `where` is a dotted key below `path`."""
        self.errors(path, [(error.where, error.what, error.fix)])

    def warn(self, path: Path, problem: str, fix: str = "") -> None:
        position = self.document.position_of_value(path)
        self.warnings.append(Diagnostic.at(position, path, problem, fix, WARNING))

    def suggest(self, name: str, known: Iterable[str]) -> str:
        """Return the fix for an unknown name.

        Only as many names as errors are shown are compared with the known ones: a file with
        thousands of wrong names is rejected as fast as any other.
        """
        self._suggested += 1
        return suggest(name, known) if self._suggested <= ConfigErrors.SHOWN else known_here(known)

    def has_errors_below(self, path: Path) -> bool:
        """Return True if an error was reported at `path` or below it."""
        return self.document.has_bad_below(path)

    def below(self, path: Path, dotted: str) -> Path:
        """Return the path that `dotted` means below `path`.

        Keys may be numbers, and may contain dots.
        """
        parts = dotted.split(".") if dotted else []
        while parts:
            here = descend(self.document.data, path)
            keys = here if isinstance(here, dict) else ()
            length = next((n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in keys), 0)
            if length:
                path = (*path, ".".join(parts[:length]))
            else:
                path = (*path, int(parts[0]) if _NUMBER.fullmatch(parts[0]) else parts[0])
            del parts[: length or 1]
        return path


def _walk(data: Any, path: Path, pattern: tuple[str | None, ...]) -> Iterator[tuple[Path, Any]]:
    if not isinstance(data, dict):
        return
    if not pattern:
        yield path, data
        return
    for key in data if pattern[0] is None else (pattern[0],):
        if key in data:
            yield from _walk(data[key], (*path, key), pattern[1:])
