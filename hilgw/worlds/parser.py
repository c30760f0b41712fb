"""The parser of a world file, independent of the types of nodes: a field has its written values.

It keeps the open nodes in a list and never recurses, so nesting is limited by `MAX_DEPTH` alone.
"""

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

from hilgw.errors import ConfigError, printable, quoted
from hilgw.worlds.nodes import Parameter, Text, Value, World, WorldNode

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
    """A token. kind: STRING, WORD, SIGN or END. text: without quotes and escapes."""

    kind: str
    text: str
    offset: int


class WorldSource:
    """The text of a world file."""

    def __init__(self, data: bytes, file: str) -> None:
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
            problem = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
            raise self.error(error.start, problem, "save it as UTF-8") from None
        self._take(text)
        header = _HEADER.match(text)
        if header is None:
            problem = "the first line is not the header of a world file"
            raise self.error(0, problem, "it is e.g. #VRML_SIM R2025a utf8")
        self.version = header[1]

    def _take(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def line(self, offset: int) -> int:
        return bisect.bisect_right(self._starts, offset)

    def error(self, offset: int, problem: str, fix: str = "") -> ConfigError:
        """Return the error at this offset of the text."""
        offset = min(offset, len(self.text))
        line = self.line(offset)
        column = offset - self._starts[line - 1] + 1
        return ConfigError(problem, where=f"{self.file}:{line}:{column}", fix=fix)

    def tokens(self) -> Iterator[Token]:
        """Yield all tokens, then an endless row of END.

        Raises:
          ConfigError: a string is open, or there are more than MAX_TOKENS.
        """
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
        """Return the numbers of a list that follow, which are not tokens then.

        This is for meshes: most of a large file.
        """
        match = cast(re.Match[str], _NUMBERS.match(self.text, self._at))
        self._at = match.end()
        return [float(each) for each in match[0].replace(",", " ").split()]


def number_of(word: str) -> float | None:
    """Return the number of a word; None for another word."""
    return float(word) if _NUMBER.fullmatch(word) else None


# --- nodes ----------------------------------------------------------------------------------------


MAX_DEPTH = 1000
MAX_NUMBERS = 3 * 4096
"""Numbers kept of one field: a mesh has millions, no field of a device has as many."""

_CONSTANTS: dict[str, bool | None] = {"TRUE": True, "FALSE": False, "NULL": None}
_CLOSE_NODE, _CLOSE_LIST = "close it with }", "close it with ]"


def parse(data: bytes, file: str) -> World:
    """Parse the nodes of a world file.

    Raises:
      ConfigError: it is not a world file; `where` is file:line:column.
    """
    return _WorldParser(WorldSource(data, file)).world()


@dataclass(slots=True)
class _Open:
    """A node that is being read.

    values: of the field that is being read; None: the next word is the name of a field. brackets:
    the values are in [ ].
    """

    node: WorldNode
    offset: int
    name: str = ""
    values: list[Value] | None = None
    brackets: bool = False


class _WorldParser:
    def __init__(self, source: WorldSource) -> None:
        self._source = source
        self._tokens: Iterator[Token] = source.tokens()
        self._world = World(source.version)
        self._labels: dict[str, WorldNode] = {}
        self._open: list[_Open] = []
        self._open_nodes: set[WorldNode] = set()

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
            problem = f"a {token.text} in a world file"
            raise self._error(token, problem, "Webots worlds have EXTERNPROTO and nodes only")
        else:
            self._node(self._world.nodes, token)

    def _in_node(self, opened: _Open, token: Token) -> None:
        values = opened.values
        if token.kind == END:
            fix = _CLOSE_LIST if opened.brackets else _CLOSE_NODE
            raise self._source.error(
                opened.offset, f"the {opened.node.kind} node is not closed", fix
            )
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
            problem = f"{_shown(token)} where a field of {opened.node.kind} is expected"
            raise self._error(token, problem, "write the field's name before its value")
        opened.name = token.text
        opened.values = opened.node.fields[token.text] = []

    def _value(self, opened: _Open, values: list[Value], token: Token) -> None:
        if token.kind == STRING:
            values.append(Text(token.text))
        elif token.kind == SIGN:
            problem = f"{_shown(token)} where a value of {opened.name} is expected"
            raise self._error(token, problem, "write the value")
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
        numbers = [number, *self._source.numbers()] if opened.brackets else [number]
        values += numbers[:room]
        if len(numbers) > room:
            opened.node.partial.add(opened.name)

    def _node(self, values: list[Value] | list[WorldNode], token: Token) -> None:
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
            problem = f"{quoted(token.text)} is not a value, and not a node without {{"
            raise self._error(token, problem, "put a text in quotes, or write { after a node")
        node = WorldNode(token.text, self._source.line(token.offset), label)
        values.append(node)
        if label:
            self._labels[label] = node
        self._open.append(_Open(node, token.offset))
        self._open_nodes.add(node)

    def _use(self, values: list[Value] | list[WorldNode], name: Token) -> None:
        node = self._labels.get(name.text)
        if node is None:
            self._world.unknown.append((self._source.line(name.offset), name.text))
        elif node in self._open_nodes:
            raise self._error(
                name, f"USE {quoted(name.text)} inside that node", "a node cannot contain itself"
            )
        else:
            values.append(node)

    def _expect(self, kind: str, expected: str) -> Token:
        token = next(self._tokens)
        if token.kind != kind:
            raise self._error(token, f"{_shown(token)} where {expected} is expected", "write it")
        return token

    def _error(self, token: Token, problem: str, fix: str) -> ConfigError:
        return self._source.error(token.offset, problem, fix)


def _shown(token: Token) -> str:
    return "the end of the file" if token.kind == END else quoted(token.text)
