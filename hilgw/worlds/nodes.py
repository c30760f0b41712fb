"""What a world file contains: nodes with fields, as written."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Node:
    """One node, or one PROTO instance. kind: its type. label: its DEF name, or "". line: of the
    file, from 1. fields: name -> values: one for an SF field, any number for an MF field, three
    numbers for a vector; a node that is used (USE) is the same object again. partial: fields with
    more numbers than are kept."""

    kind: str
    line: int
    label: str = ""
    fields: dict[str, list[Value]] = field(default_factory=dict)
    partial: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """How many values are looked through to use it once."""
        return 1 + sum(map(len, self.fields.values()))

    def number(self, name: str) -> float | None:
        """The field if it is one number."""
        values = self.fields.get(name, ())
        return values[0] if len(values) == 1 and isinstance(values[0], float) else None

    def numbers(self, name: str) -> tuple[float, ...]:
        """The numbers of the field."""
        return tuple(each for each in self.fields.get(name, ()) if isinstance(each, float))

    def text(self, name: str) -> str | None:
        """The field if it is one string."""
        values = self.fields.get(name, ())
        return values[0].text if len(values) == 1 and isinstance(values[0], Text) else None

    def flag(self, name: str) -> bool | None:
        """The field if it is TRUE or FALSE."""
        values = self.fields.get(name, ())
        return values[0] if len(values) == 1 and isinstance(values[0], bool) else None

    def nodes(self, name: str) -> list[Node]:
        """The nodes of the field, in order."""
        return [each for each in self.fields.get(name, ()) if isinstance(each, Node)]


@dataclass(frozen=True, slots=True)
class Text:
    """A string of the file."""

    text: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """`IS name`: the value is a parameter of the surrounding PROTO."""

    name: str


Value = float | bool | Text | Node | Parameter | None


@dataclass(slots=True)
class World:
    """A world file. version: as in the header, such as "R2025a". protos: name -> URL of each
    EXTERNPROTO. unknown: (line, name) of each USE without a DEF before it."""

    version: str
    protos: dict[str, str] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    unknown: list[tuple[int, str]] = field(default_factory=list)
