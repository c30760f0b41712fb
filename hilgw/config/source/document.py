"""Strict YAML: plain data, and the position of every key and value.

PyYAML composes the text to nodes; here the nodes become data. YAML beyond plain data (aliases,
anchors, tags, merge keys, several documents) is an error, and so are words that YAML versions read
differently; see scalars.py. All errors are collected; only a syntax error ends the document.
"""

import itertools
import re
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from hilgw.config.source.scalars import BAD, Surprise, resolve
from hilgw.config.source.syntax import (
    BRACES,
    NO_COLON,
    explain,
    has_bare_braces,
    without_space,
)
from hilgw.config.source.text import Diagnostic, LinePositions, Path, Position
from hilgw.errors import quoted

HAS_LIBYAML = yaml.__with_libyaml__
MAX_DEPTH = 32
MAX_VALUES = 50_000
# Where libyaml accepts what PyYAML refuses (tabs, '?' and '!' inside words, "|#"), and where it has
# another position for a missing value ("{key: , ...").
_DIFFERS = re.compile(r"[\t?!]|[|>][-+0-9]*#|:\s+(?:#[^\n\r]*[\n\r]\s*)*[,}\]]")
# No-break space and the quotes of word processors: plain characters for YAML.
_TYPOGRAPHIC = re.compile("[\u00a0\u2018-\u201f\u00ab\u00bb]")
_HALF = re.compile("[\ud800-\udfff]")
HALF = "an escape of half a character", "write the character"
_QUOTED = re.compile("\"[^\"]*\"|'[^']*'|#.*")  # where such a sign is text


@dataclass(slots=True)
class Document:
    """A configuration as plain data, with positions and the errors found so far.

    keys, values: path -> position of the key, and of the value. key_words, words: path -> the word
    as typed, for keys and values that are not text. bad: paths that have an error already; `mark`
    adds one. partial: paths of mappings with keys that could not be read. syntax: a syntax error
    ended the document, `data` is incomplete.
    """

    file: str
    data: Any = None
    keys: dict[Path, Position] = field(default_factory=dict)
    values: dict[Path, Position] = field(default_factory=dict)
    words: dict[Path, str] = field(default_factory=dict)
    key_words: dict[Path, str] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    bad: set[Path] = field(default_factory=set)
    _above_bad: set[Path] = field(default_factory=set)
    partial: set[Path] = field(default_factory=set)
    syntax: bool = False

    def position_of_key(self, path: Path) -> Position:
        """Return the position of the key, or of the list item; else of the nearest parent."""
        while path:
            if position := self.keys.get(path) or self.values.get(path):
                return position
            path = path[:-1]
        return Position(self.file, 1, 1)

    def position_of_value(self, path: Path) -> Position:
        return self.values.get(path) or self.position_of_key(path)

    def report(self, position: Position, path: Path, problem: str, fix: str = "") -> None:
        """Add an error at `path`; later checks skip this path and everything below it."""
        self.problems.append(Diagnostic.at(position, path, problem, fix))
        self.mark(path)

    def mark(self, path: Path) -> None:
        """Note that `path` has an error."""
        self.bad.add(path)
        while path not in self._above_bad:
            self._above_bad.add(path)
            path = path[:-1]

    def unmark_below(self, path: Path) -> None:
        """Forget the errors at and below `path`, whose value is replaced."""
        left = [bad for bad in self.bad if bad[: len(path)] != path]
        self.bad, self._above_bad = set(), set()
        for bad in left:
            self.mark(bad)

    def has_bad_below(self, path: Path) -> bool:
        """Return True if `path`, or a path below it, has an error."""
        return path in self._above_bad

    def is_bad(self, path: Path) -> bool:
        return any(path[:length] in self.bad for length in range(len(path) + 1))


def compose(text: str, file: str) -> Document:
    """Read one YAML text; never raise for anything in `text`.

    libyaml parses twenty times as fast as PyYAML. PyYAML parses again what it rejects, for its
    errors; so the result is the same with and without libyaml.
    """
    return compose_with(text, file, fast=HAS_LIBYAML and not _DIFFERS.search(text))


def compose_with(text: str, file: str, *, fast: bool) -> Document:
    """Compose the nodes of a document, with libyaml if `fast`."""
    document = Document(file)
    lines = LinePositions(text, file)
    loader = _Loader(_libyaml(text) if fast else _Parser(text))
    try:
        root = loader.get_single_node()
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        if fast and not isinstance(error, _LimitError):
            return compose_with(text, file, fast=False)
        root, document.syntax = loader.unfinished(), True
        problem = Diagnostic.at(*_explained(error, loader, lines))
    if root is not None:
        document.data = _Reader(document, lines, loader.beyond).value(root, ())
    if document.syntax:
        document.problems.append(problem)
    elif root is None:
        document.report(Position(file, 1, 1), (), "the file is empty", "begin with `version: 1`")
    return document


def _explained(
    error: Exception, loader: "_Loader", lines: LinePositions
) -> tuple[Position, Path, str, str]:
    if not isinstance(error, yaml.MarkedYAMLError):  # an escape "\\UFFFFFFFF", an endless %YAML
        position = lines.position(loader.index())
        return position, (), "not valid YAML", "write another number or character"
    mark, problem, fix = explain(error)
    position = lines.position(mark.index if mark else 0)
    if "<stream end>" in str(error.problem) and (bracket := loader.bracket()):
        signs = "{}" if isinstance(bracket.event, yaml.MappingStartEvent) else "[]"
        problem, fix = f"'{signs[0]}' is not closed", f"close it with '{signs[1]}'"
        position = lines.position(bracket.event.start_mark.index)
    elif "mapping values" in str(error.problem) and loader.word is not None:
        word = lines.position(loader.word)
        if word.line < position.line and lines.is_first(word):
            position, (problem, fix) = word, NO_COLON
    if problem == NO_COLON[0]:
        fix = without_space(lines.rest(position)) or fix
    line = lines.rest(Position(position.file, position.line, 1))
    if ("cannot follow" in problem or "indentation" in problem) and has_bare_braces(line):
        problem, fix = BRACES
    if pasted := _TYPOGRAPHIC.search(_QUOTED.sub("", line)):
        sign = "space" if pasted[0].isspace() else "quote"
        fix = f"write a plain {sign} for U+{ord(pasted[0]):04X} in this line"
    return position, (), problem, fix


@dataclass(slots=True)
class _Opened:
    """A node that is being composed.

    Its first event; the node itself, and the key or index of its child that is being composed, as
    soon as there is one.
    """

    event: Any
    node: Any = None
    key: Any = None


def _libyaml(text: str) -> Any:
    from yaml import _yaml

    return _yaml.CParser(text)


class _Parser(Reader, Scanner, Parser):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


class _LimitError(yaml.MarkedYAMLError):
    """The document is too large or too deep."""


class _Loader(Composer):
    """Composer of the events of one parser; an alias becomes a node without a value.

    beyond: for each node with an alias, an anchor or a tag: the problem, the fix, and whether its
    value can be read all the same. word: where an unquoted word starts, if it is the last node.
    libyaml composes nodes too, but many '[' overflow its stack; its parser has none.
    """

    def __init__(self, parser: Any) -> None:
        super().__init__()
        self.check_event, self.get_event = parser.check_event, parser.get_event
        self.peek_event = parser.peek_event
        self._parser = parser
        self.beyond: dict[yaml.Node, tuple[str, str, bool]] = {}
        self.word: int | None = None
        self._opened: list[_Opened] = []
        self._root: yaml.Node | None = None
        self._values = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()
        if self._opened:
            self._opened[-1].node, self._opened[-1].key = parent, index
        is_word = isinstance(event, yaml.ScalarEvent) and not event.style
        self.word = event.start_mark.index if is_word else None
        self._check_limits(event)
        if isinstance(event, yaml.AliasEvent):
            self.get_event()
            mark: Any = event.start_mark
            node: Any = yaml.ScalarNode("", "", mark)
            self.beyond[node] = f"alias {quoted(str(event.anchor))}", "write the value out", False
            return node
        self.anchors.clear()  # otherwise PyYAML reports duplicates
        self._opened.append(_Opened(event))
        node = super().compose_node(parent, index)
        self._opened.pop()
        if event.anchor:
            fix = "delete it and write values out"
            self.beyond[node] = f"anchor {quoted(event.anchor)}", fix, not event.tag
        elif event.tag:
            is_readable = not isinstance(event, yaml.ScalarEvent)
            self.beyond[node] = f"tag {quoted(event.tag)}", "delete it", is_readable
        if not self._opened:
            self._root = node
        return node

    def _check_limits(self, event: Any) -> None:
        problem, fix = "", ""
        self._values += 1
        if self._values > MAX_VALUES:
            problem, fix = f"more than {MAX_VALUES} values", "use several files"
        elif isinstance(event, yaml.CollectionStartEvent) and len(self._opened) >= MAX_DEPTH:
            problem, fix = f"nested more than {MAX_DEPTH} deep", "remove brackets or indentation"
        if problem:
            raise _LimitError(problem=problem, problem_mark=event.start_mark, note=fix)

    def index(self) -> int:
        return int(self._parser.get_mark().index)

    # Composer asks for the tags of YAML's types, which scalars.py replaces.

    def descend_resolver(self, parent: Any, index: Any) -> None:
        return

    def ascend_resolver(self) -> None:
        return

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        return ""

    def bracket(self) -> _Opened | None:
        opened = [item for item in self._opened if getattr(item.event, "flow_style", False)]
        return opened[-1] if opened else None

    def unfinished(self) -> yaml.Node | None:
        for outer, inner in itertools.pairwise(self._opened):
            if inner.node is None:
                continue
            if isinstance(outer.node, yaml.SequenceNode):
                outer.node.value.append(inner.node)
            elif outer.key is not None:
                outer.node.value.append((outer.key, inner.node))
        return self._opened[0].node if self._opened else self._root


class _Reader:
    def __init__(
        self,
        document: Document,
        lines: LinePositions,
        beyond: dict[yaml.Node, tuple[str, str, bool]],
    ) -> None:
        self._document = document
        self._lines = lines
        self._beyond = beyond

    def value(self, node: Any, path: Path) -> Any:
        document, position = self._document, self._position(node)
        document.values[path] = position
        if node in self._beyond:
            problem, fix, is_readable = self._beyond[node]
            document.problems.append(Diagnostic.at(position, path, problem, fix))
            if not is_readable:
                document.mark(path)
                return BAD
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, position, path)

    def _mapping(self, node: Any, path: Path) -> dict[Any, Any]:
        data: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key is None:
                continue
            below, position = (*path, key), self._position(key_node)
            if below in self._document.keys:
                problem = f"duplicate key, first in line {self._document.keys[below].line}"
                self._document.problems.append(
                    Diagnostic.at(position, below, problem, "keep one of them")
                )
                continue
            self._document.keys[below] = position
            if not isinstance(key, str):
                self._document.key_words[below] = key_node.value
            data[key] = self.value(value_node, below)
        return data

    def _key(self, node: Any, parent: Path) -> str | int | None:
        word, problem, fix = node.value, "", ""
        if isinstance(node, yaml.MappingNode) and not any(item.value for _, item in node.value):
            problem, fix = BRACES
            if parent:
                self._document.mark(parent)
        elif not isinstance(node, yaml.ScalarNode):
            problem, fix = "a key must be text", "put it in quotes"
        elif node in self._beyond:
            problem, fix, _ = self._beyond[node]
        elif _HALF.search(word):
            problem, fix = HALF
        elif "\0" in word:  # in pydantic's locations it precedes a choice: see unions.py
            problem, fix = "a key with the character \\0", "delete it"
        elif node.style:
            return str(word)
        elif word == "<<":
            problem, fix = "merge key '<<'", "write the keys out"
        elif word == "":
            problem, fix = "a key is missing before ':'", "write it, or delete the ':'"
        if problem:
            self._document.partial.add(parent)
            self._document.problems.append(
                Diagnostic.at(self._position(node), parent, problem, fix)
            )
            return None
        try:
            key = resolve(word)
            if isinstance(key, str) or type(key) is int:
                return key
            raise Surprise(f"the key {word} is not text", "put it in quotes")
        except Surprise as surprise:
            path = (*parent, word)
            self._document.report(self._position(node), path, surprise.what, surprise.fix)
            return str(word)

    def _scalar(self, node: Any, position: Position, path: Path) -> Any:
        word: str = node.value
        try:
            if not node.style:  # None, or empty: unquoted
                value = resolve(word)
            elif _HALF.search(word):
                raise Surprise(*HALF)
            else:
                return word
        except Surprise as surprise:
            self._document.report(position, path, surprise.what, surprise.fix)
            return BAD
        if not isinstance(value, str):
            self._document.words[path] = word
        return value

    def _position(self, node: Any) -> Position:
        return self._lines.position(node.start_mark.index)
