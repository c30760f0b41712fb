"""Parses a world file. The parser is independent of the types of nodes: a field has the values
that are written.

It keeps the open nodes in a list and never recurses, so nesting is limited by `MAX_DEPTH` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hilgw.errors import ConfigError, quoted
from hilgw.worlds.nodes import Node, Parameter, Text, Value, World
from hilgw.worlds.syntax import END, SIGN, STRING, WORD, Source, Token, number_of

MAX_DEPTH = 1000
MAX_NUMBERS = 3 * 4096
"""Numbers kept of one field: a mesh has millions, no field of a device has as many."""

_CONSTANTS: dict[str, bool | None] = {"TRUE": True, "FALSE": False, "NULL": None}
_CLOSE_NODE, _CLOSE_LIST = "close it with }", "close it with ]"


def parse(data: bytes, file: str) -> World:
    """The nodes of a world file.

    Raises ConfigError, `where` as file:line:column, for what is not a world file.
    """
    return _Parser(Source(data, file)).world()


@dataclass(slots=True)
class _Open:
    """A node that is being read. values: of the field that is being read; None: the next word is
    the name of a field. brackets: the values are in [ ]."""

    node: Node
    offset: int
    name: str = ""
    values: list[Value] | None = None
    brackets: bool = False


class _Parser:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens: Iterator[Token] = source.tokens()
        self._world = World(source.version)
        self._labels: dict[str, Node] = {}
        self._open: list[_Open] = []
        self._open_nodes: set[Node] = set()

    def world(self) -> World:
        for token in self._tokens:
            if self._open:
                self._in_node(self._open[-1], token)
            elif token.kind == END:
                return self._world
            else:
                self._at_top(token)
        raise AssertionError("unreachable: END never ends")

    def _at_top(self, token: Token) -> None:
        if token.kind != WORD or number_of(token.text) is not None:
            raise self._error(token, f"{_shown(token)} where a node is expected", "delete it")
        if token.text == "IMPORTABLE":
            token = self._expect(WORD, "EXTERNPROTO")
            if token.text != "EXTERNPROTO":
                raise self._error(token, f"{_shown(token)} instead of EXTERNPROTO", "write that")
        if token.text == "EXTERNPROTO":
            url = self._expect(STRING, "the URL of a PROTO").text
            name = url.replace("\\", "/").rpartition("/")[2].removesuffix(".proto")
            self._world.protos[name] = url
        elif token.text in ("PROTO", "ROUTE"):
            what = f"a {token.text} in a world file"
            raise self._error(token, what, "Webots worlds have EXTERNPROTO and nodes only")
        else:
            self._node(self._world.nodes, token)

    def _in_node(self, opened: _Open, token: Token) -> None:
        values = opened.values
        if token.kind == END:
            fix = _CLOSE_LIST if opened.brackets else _CLOSE_NODE
            what = f"the {opened.node.kind} node is not closed"
            raise self._source.error(opened.offset, what, fix)
        if values is None:
            self._field_name(opened, token)
        elif opened.brackets and token.kind == SIGN and token.text == "]":
            opened.values, opened.brackets = None, False
        elif not opened.brackets and values:  # an SF field: only numbers continue it
            number = number_of(token.text) if token.kind == WORD else None
            if number is None:
                opened.values = None
                self._field_name(opened, token)
            else:
                self._number(opened, number)
        elif not opened.brackets and token.kind == SIGN and token.text == "[":
            opened.brackets = True
        else:
            self._value(opened, values, token)

    def _field_name(self, opened: _Open, token: Token) -> None:
        if token.kind == SIGN and token.text == "}":
            self._open_nodes.remove(self._open.pop().node)
            return
        if token.kind == WORD and token.text == "hidden":
            token = self._expect(WORD, "the name of a hidden field")
        if token.kind != WORD or number_of(token.text) is not None or token.text in _CONSTANTS:
            what = f"{_shown(token)} where a field of {opened.node.kind} is expected"
            raise self._error(token, what, "write the field's name before its value")
        opened.name = token.text
        opened.values = opened.node.fields[token.text] = []

    def _value(self, opened: _Open, values: list[Value], token: Token) -> None:
        if token.kind == STRING:
            values.append(Text(token.text))
        elif token.kind == SIGN:
            what = f"{_shown(token)} where a value of {opened.name} is expected"
            raise self._error(token, what, "write the value")
        elif (number := number_of(token.text)) is not None:
            self._number(opened, number)
            return
        elif token.text in _CONSTANTS:
            values.append(_CONSTANTS[token.text])
        elif token.text == "IS":
            values.append(Parameter(self._expect(WORD, "the name of a parameter").text))
        else:
            self._node(values, token)
        if not opened.brackets:
            opened.values = None

    def _number(self, opened: _Open, number: float) -> None:
        values = opened.values
        if values is None:
            return
        room = max(0, MAX_NUMBERS - len(values))
        found = [number, *self._source.numbers()] if opened.brackets else [number]
        values += found[:room]
        if len(found) > room:
            opened.node.partial.add(opened.name)

    def _node(self, values: list[Value] | list[Node], token: Token) -> None:
        """A node, or a USE of one, added to the values; its fields follow."""
        label = ""
        if token.text == "USE":
            name = self._expect(WORD, "the name of a node")
            self._use(values, name)
            return
        if token.text == "DEF":
            label = self._expect(WORD, "the name of a node").text
            token = self._expect(WORD, "a node")
        if len(self._open) >= MAX_DEPTH:
            raise self._error(token, f"nodes nested deeper than {MAX_DEPTH}", "nest fewer")
        brace = next(self._tokens)
        if brace.kind != SIGN or brace.text != "{":
            what = f"{quoted(token.text)} is not a value, and not a node without {{"
            raise self._error(token, what, "put a text in quotes, or write { after a node")
        node = Node(token.text, self._source.line(token.offset), label)
        values.append(node)
        if label:
            self._labels[label] = node
        self._open.append(_Open(node, token.offset))
        self._open_nodes.add(node)

    def _use(self, values: list[Value] | list[Node], name: Token) -> None:
        node = self._labels.get(name.text)
        if node is None:
            self._world.unknown.append((self._source.line(name.offset), name.text))
        elif node in self._open_nodes:
            what = f"USE {quoted(name.text)} inside that node"
            raise self._error(name, what, "a node cannot contain itself")
        else:
            values.append(node)

    def _expect(self, kind: str, what: str) -> Token:
        token = next(self._tokens)
        if token.kind != kind:
            raise self._error(token, f"{_shown(token)} where {what} is expected", "write it")
        return token

    def _error(self, token: Token, what: str, fix: str) -> ConfigError:
        return self._source.error(token.offset, what, fix)


def _shown(token: Token) -> str:
    return "the end of the file" if token.kind == END else quoted(token.text)
