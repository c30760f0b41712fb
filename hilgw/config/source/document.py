"""Strict YAML: one pass over the text gives plain data and the position of every key and value.

YAML beyond plain data (aliases, anchors, tags, merge keys, several documents) is an error, and so
are words that YAML versions read differently; see scalars.py. The pass collects all errors; only a
syntax error ends it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from hilgw.config.source.positions import Diagnostic, Path, Position
from hilgw.config.source.scalars import BAD, Surprise, resolve
from hilgw.config.source.syntax import NO_COLON, explain
from hilgw.config.source.text import Lines
from hilgw.errors import quoted

MAX_DEPTH = 32
MAX_VALUES = 50_000


@dataclass(slots=True)
class Document:
    """One configuration as plain data, with positions and the errors found so far.

    keys, values: path -> position of the key, and of the value. key_words, words: path -> the word
    as typed, for keys and values that are not text. bad: paths that have an error already. partial:
    paths of mappings with keys that could not be read. syntax: a syntax error ended the pass,
    `data` is incomplete.
    """

    file: str
    data: Any = None
    keys: dict[Path, Position] = field(default_factory=dict)
    values: dict[Path, Position] = field(default_factory=dict)
    words: dict[Path, str] = field(default_factory=dict)
    key_words: dict[Path, str] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    bad: set[Path] = field(default_factory=set)
    partial: set[Path] = field(default_factory=set)
    syntax: bool = False

    def position_of_key(self, path: Path) -> Position:
        """The position of the key, or of the list item; else of the nearest parent."""
        while path:
            if position := self.keys.get(path) or self.values.get(path):
                return position
            path = path[:-1]
        return Position(self.file, 1, 1)

    def position_of_value(self, path: Path) -> Position:
        return self.values.get(path) or self.position_of_key(path)

    def report(self, position: Position, path: Path, what: str, fix: str = "") -> None:
        """Adds an error at `path`; later checks skip this path and everything below it."""
        self.problems.append(Diagnostic.at(position, path, what, fix))
        self.bad.add(path)

    def is_bad(self, path: Path) -> bool:
        return any(path[:length] in self.bad for length in range(len(path) + 1))


@dataclass(slots=True)
class _Open:
    """A mapping or list being read. path: None when what is read is not kept.

    key: the key whose value comes next; NO_KEY when a key comes next; SKIP: its value is not kept.
    bracket: the position of its bracket, when it has one.
    """

    container: dict[Any, Any] | list[Any]
    path: Path | None
    key: Any
    bracket: Position | None


_NO_KEY = object()
_SKIP = object()


def compose(text: str, file: str) -> Document:
    """Reads one YAML text. Never raises for anything in `text`."""
    document = Document(file)
    _Composer(document, Lines(text, file)).run(text)
    return document


class _Composer:
    """Follows the parser's events with a stack of its own: no recursion, so depth is a count."""

    def __init__(self, document: Document, lines: Lines) -> None:
        self.document = document
        self.lines = lines
        self.stack: list[_Open] = []
        self.word: Position | None = None  # where an unquoted word begins
        self.values = 0
        self.documents = 0

    def run(self, text: str) -> None:
        loader: Any = yaml.SafeLoader(text)
        try:
            while not self.document.syntax and loader.check_event():
                self.take(loader.get_event())
        except yaml.MarkedYAMLError as error:
            mark, what, fix = explain(error)
            position = self.lines.position(mark.index if mark else 0)
            if "<stream end>" in str(error.problem) and (opened := self.open_bracket()):
                position, what, fix = opened
            elif "mapping values" in str(error.problem) and (
                word := self.key_before(position.line)
            ):
                position, what, fix = word, *NO_COLON
            self.end(position, what, fix)
        except (ValueError, OverflowError):  # an escape such as "\UFFFFFFFF", an endless %YAML
            position = self.lines.position(loader.get_mark().index)
            self.end(position, "not valid YAML", "write another number or character")
        if self.documents == 0 and not self.document.syntax:
            self.document.report(
                Position(self.document.file, 1, 1),
                (),
                "the file is empty",
                "begin with `version: 1`",
            )

    def end(self, position: Position, what: str, fix: str = "") -> None:
        """Adds an error after which the rest of the text cannot be read."""
        self.document.problems.append(Diagnostic.at(position, (), what, fix))
        self.document.syntax = True

    def open_bracket(self) -> tuple[Position, str, str] | None:
        """The innermost open bracket, and the error when the text ends before it is closed."""
        for item in reversed(self.stack):
            if item.bracket is not None:
                signs = "{}" if isinstance(item.container, dict) else "[]"
                return item.bracket, f"'{signs[0]}' is not closed", f"close it with '{signs[1]}'"
        return None

    def key_before(self, line: int) -> Position | None:
        """The last word, when it begins a line before `line`: a key that lacks its ':'."""
        word = self.word
        return word if word and word.line < line and self.lines.is_first(word) else None

    def take(self, event: Any) -> None:
        position = self.lines.position(event.start_mark.index)
        plain = isinstance(event, yaml.ScalarEvent) and event.style is None
        self.word = position if plain else None
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                self.end(position, "a second document begins here", "keep one, or use two files")
        elif isinstance(event, yaml.CollectionEndEvent):
            self.stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            self.values += 1
            if self.values > MAX_VALUES:
                self.end(position, f"more than {MAX_VALUES} values", "use several files")
            elif self.stack and self.stack[-1].key is _NO_KEY:
                self.take_key(event, position)
            else:
                self.take_value(event, position)

    # --- keys -----------------------------------------------------------------------------------

    def take_key(self, event: Any, position: Position) -> None:
        top = self.stack[-1]
        top.key = _SKIP
        if isinstance(event, yaml.CollectionStartEvent):
            self.lose_key(position, "a key must be text", "put it in quotes")
            self.push(event, None)
            return
        if isinstance(event, yaml.AliasEvent) or event.anchor or event.tag:
            self.lose_key(position, *_beyond(event))
            return
        key = self.key_of(event, position, top.path)
        if key is None or top.path is None:
            return
        path = (*top.path, key)
        if path in self.document.keys:
            first = self.document.keys[path].line
            what = f"duplicate key, first in line {first}"
            self.document.problems.append(Diagnostic.at(position, path, what, "keep one of them"))
            return
        self.document.keys[path] = position
        if not isinstance(key, str):
            self.document.key_words[path] = event.value
        top.key = key

    def lose_key(self, position: Position, what: str, fix: str) -> None:
        """Reports the error of a key that cannot be kept."""
        path = self.stack[-1].path
        if path is not None:
            self.document.problems.append(Diagnostic.at(position, path, what, fix))
            self.document.partial.add(path)

    def key_of(self, event: Any, position: Position, parent: Path | None) -> str | int | None:
        """The key that this scalar is; None when it is not a valid key."""
        word: str = event.value
        if not event.implicit[0]:
            return word
        if word == "<<":
            self.lose_key(position, "merge key '<<'", "write the keys out")
            return None
        try:
            key = resolve(word)
        except Surprise as surprise:
            self.report(position, _below(parent, word), surprise.what, surprise.fix)
            return word
        if isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool)):
            return key
        if word == "":
            self.lose_key(position, "a key is missing before ':'", "write it, or delete the ':'")
            return None
        self.report(
            position, _below(parent, word), f"the key {word} is not text", "put it in quotes"
        )
        return word

    # --- values ---------------------------------------------------------------------------------

    def take_value(self, event: Any, position: Position) -> None:
        path = self.next_path()
        if path is not None:
            self.document.values[path] = position
        value: Any = BAD
        if isinstance(event, yaml.AliasEvent) or event.tag:
            self.report(position, path, *_beyond(event))
        elif event.anchor and path is not None:
            self.document.problems.append(Diagnostic.at(position, path, *_beyond(event)))
        if isinstance(event, yaml.CollectionStartEvent):
            value = self.push(event, path)
        elif isinstance(event, yaml.ScalarEvent) and not event.tag:
            value = self.value_of(event, position, path)
        if path is None:
            return
        self.attach(path, value)

    def next_path(self) -> Path | None:
        """The path of the next value; closes its key."""
        if not self.stack:
            return ()
        top = self.stack[-1]
        key, top.key = top.key, _NO_KEY if isinstance(top.container, dict) else None
        if top.path is None or key is _SKIP:
            return None
        return (*top.path, len(top.container) if isinstance(top.container, list) else key)

    def value_of(self, event: Any, position: Position, path: Path | None) -> Any:
        word: str = event.value
        if not event.implicit[0]:
            if any("\ud800" <= character <= "\udfff" for character in word):
                self.report(position, path, "an escape of half a character", "write the character")
                return BAD
            return word
        try:
            value = resolve(word)
        except Surprise as surprise:
            self.report(position, path, surprise.what, surprise.fix)
            return BAD
        if path is not None and not isinstance(value, str):
            self.document.words[path] = word
        return value

    def push(self, event: Any, path: Path | None) -> Any:
        mapping = isinstance(event, yaml.MappingStartEvent)
        container: dict[Any, Any] | list[Any] = {} if mapping else []
        position = self.lines.position(event.start_mark.index)
        if len(self.stack) >= MAX_DEPTH:
            self.end(
                position, f"nested more than {MAX_DEPTH} deep", "remove brackets or indentation"
            )
        bracket = position if event.flow_style else None
        self.stack.append(_Open(container, path, _NO_KEY if mapping else None, bracket))
        return container

    def attach(self, path: Path, value: Any) -> None:
        """Puts a value into its container: the one opened before it."""
        if not path:
            self.document.data = value
            return
        depth = -2 if isinstance(value, dict | list) else -1
        container = self.stack[depth].container
        if isinstance(container, list):
            container.append(value)
        else:
            container[path[-1]] = value

    def report(self, position: Position, path: Path | None, what: str, fix: str) -> None:
        if path is not None:
            self.document.report(position, path, what, fix)


def _below(parent: Path | None, key: str) -> Path | None:
    return None if parent is None else (*parent, key)


def _beyond(event: Any) -> tuple[str, str]:
    """The error of a node that uses YAML beyond plain data."""
    if isinstance(event, yaml.AliasEvent):
        return f"alias {quoted(str(event.anchor))}", "write the value out"
    if event.anchor:
        return f"anchor {quoted(event.anchor)}", "delete it and write values out"
    return f"tag {quoted(event.tag)}", "delete it"
