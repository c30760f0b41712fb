"""The syntax of world files: what is read, and the position of each error."""

import math

import pytest
from hypothesis import given, strategies as st

from hilgw.errors import ConfigError
from hilgw.worlds.nodes import Parameter, Text, WorldNode
from hilgw.worlds.parser import MAX_BYTES, MAX_DEPTH, MAX_NUMBERS, parse
from tests.cases import cases

HEADER = "#VRML_SIM R2025a utf8\n"


def nodes(body: str) -> list[WorldNode]:
    return parse((HEADER + body).encode(), "w.wbt").nodes


def problem(data: str | bytes) -> str:
    if isinstance(data, str):
        data = (HEADER + data).encode()
    with pytest.raises(ConfigError) as error:
        parse(data, "w.wbt")
    assert error.value.fix
    return f"{error.value.where}: {error.value.what}"


def test_values_of_all_forms() -> None:
    (node,) = nodes(
        'DEF IT E-puck { # a comment with } and "\n'
        " translation 1, -2.5 +3e-1 hidden position_0_0 .5\n"
        ' name "a \\"quoted\\" \\\\ { text"  flag TRUE other FALSE nothing NULL\n'
        ' many [ 1 2, 3 ] words [ "a", "b" ] empty [ ] limit inf'
        " size IS boxSize\n"
        ' one Solid { } children [ Shape { } DEF S Solid { name "x" } USE S ] again USE S }'
    )
    assert (node.kind, node.label, node.line) == ("E-puck", "IT", 2)
    assert node.numbers("translation") == (1.0, -2.5, 0.3)
    assert node.number("position_0_0") == 0.5
    assert node.text("name") == 'a "quoted" \\ { text'
    assert [node.flag("flag"), node.flag("other")] == [True, False]
    assert node.fields["nothing"] == [None]
    assert node.fields["many"] == [1.0, 2.0, 3.0]
    assert node.fields["words"] == [Text("a"), Text("b")]
    assert node.fields["empty"] == []
    assert node.number("limit") == math.inf
    assert node.fields["size"] == [Parameter("boxSize")]
    assert [each.kind for each in node.nodes("one")] == ["Solid"]
    shape, solid, used = node.nodes("children")
    assert shape.kind == "Shape"
    assert used is solid
    assert node.nodes("again") == [solid]


def test_header_and_protos() -> None:
    text = (
        "\ufeff#VRML_SIM V8.6.2 utf8\r\n"
        'EXTERNPROTO "webots://projects/robots/x/protos/E-puck.proto"\r\n'
        'IMPORTABLE EXTERNPROTO "..\\protos\\Mine.proto"\r\nWorldInfo { }'
    )
    world = parse(text.encode(), "w.wbt")
    assert world.version == "V8.6.2"
    assert list(world.protos) == ["E-puck", "Mine"]
    assert world.nodes[0].line == 4


def test_a_use_without_a_def_is_noted() -> None:
    world = parse((HEADER + "Group { children [\n USE NONE ] }").encode(), "w.wbt")
    assert world.unknown == [(3, "NONE")]


def test_a_mesh_is_not_kept() -> None:
    (node,) = nodes("Coordinate { point [ " + "1 " * (MAX_NUMBERS + 5) + "] }")
    assert len(node.fields["point"]) == MAX_NUMBERS
    assert node.partial == {"point"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Robot {", "2:1: the Robot node is not closed"),
        ("Robot {\n children [\n  Solid { }", "2:1: the Robot node is not closed"),
        ("\n  }", "3:3: '}' where a node is expected"),
        ("Robot { name 'x' }", "2:14: \"'x'\" is not a value, and not a node without {"),
        ("Robot { name }", "2:14: '}' where a value of name is expected"),
        ("Robot { children [ } ]", "2:20: '}' where a value of children is expected"),
        ("Robot { 5 }", "2:9: '5' where a field of Robot is expected"),
        ("Robot { name TRUE FALSE }", "2:19: 'FALSE' where a field of Robot is expected"),
        ('Robot { name "x\n}', "2:14: a string is not closed"),
        ("PROTO X [ ] { }", "2:1: a PROTO in a world file"),
        ("ROUTE a.b TO c.d", "2:1: a ROUTE in a world file"),
        ("EXTERNPROTO Robot", "2:13: 'Robot' where the URL of a PROTO is expected"),
        ("IMPORTABLE Robot", "2:12: 'Robot' instead of EXTERNPROTO"),
        ("DEF", "2:4: the end of the file where the name of a node is expected"),
        ("DEF A Group { children USE A }", "2:28: USE 'A' inside that node"),
        ("Robot", "2:1: 'Robot' is not a value, and not a node without {"),
        (b"#VRML V2.0 utf8\n", "1:1: the first line is not the header of a world file"),
        (b"", "1:1: the first line is not the header of a world file"),
        (b"#VRML_SIM R2025a utf8\n#\n# \xff", "3:3: byte 0xff is not UTF-8 text"),
    ],
)
def test_errors_have_a_position_and_a_fix(body: str | bytes, expected: str) -> None:
    assert problem(body) == f"w.wbt:{expected}"


def test_input_is_bounded() -> None:
    deep = "Group { children " * (MAX_DEPTH + 1)
    assert "nested deeper" in problem(deep)
    assert len(nodes("Group { children " * MAX_DEPTH + "[ ]" + "}" * MAX_DEPTH)) == 1
    assert "larger than 16 MiB" in problem(b" " * (MAX_BYTES + 1))


# One string of 200,000 characters without an end must not take quadratic time; a test that hangs
# shows it.
@pytest.mark.parametrize("body", ['"' + "a" * 200_000, '"' + "\\" * 200_001, "[" * 200_000])
def test_hostile_lengths_end(body: str) -> None:
    problem(f"Robot {{ name {body}")


WORDS = ["Robot", "{", "}", "[", "]", "DEF", "USE", "A", "IS", "hidden", "children", "TRUE", "NULL"]
SOUP = st.lists(st.sampled_from([*WORDS, '"x"', "1", "-2.5", "#", "\n", '"', "EXTERNPROTO"]))


@cases(4)
@given(st.one_of(st.binary(), SOUP.map(" ".join).map(str.encode)))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for start in (b"", HEADER.encode()):
        try:
            parse(start + data, "w.wbt")
        except ConfigError as error:
            assert error.where.startswith("w.wbt:")
