"""World files: their syntax and frames, and what `hilgw import-world` prints."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hilgw.cli.main import main
from hilgw.config.load import load_config
from hilgw.errors import ConfigError
from hilgw.medium.pose import Pose
from hilgw.worlds.frames import NO_ROTATION, WORLD, Rotation, Vector
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


def test_a_use_is_of_the_last_def_of_its_name() -> None:
    (solid,) = nodes("Solid { children [ DEF A Box { } DEF A Cone { } USE A ] }")
    assert [each.kind for each in solid.nodes("children")] == ["Box", "Cone", "Cone"]


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


number = st.floats(-10, 10)
vectors = st.tuples(number, number, number)
axes = vectors.filter(lambda each: math.hypot(*each) > 0.1)
angles = st.one_of(st.floats(-7, 7), st.sampled_from([0.0, math.pi, -math.pi, 3.14159, 3.1415]))
rotations = st.tuples(axes, angles).map(lambda each: (*each[0], each[1]))
ONE = (1.0, 1.0, 1.0)


def same(position: Vector, rotation: Rotation, pose: Pose) -> None:
    made = Pose.from_axis_angle(position, rotation)
    assert made.position == pytest.approx(pose.position, abs=1e-7)
    for row, expected in zip(made.rows, pose.rows, strict=True):
        assert row == pytest.approx(expected, abs=1e-7)


@given(vectors, rotations, vectors, rotations)
def test_frames_compose_as_poses(a: Vector, turn_a: Rotation, b: Vector, turn_b: Rotation) -> None:
    outer = WORLD.child(a, turn_a, ONE)
    inner = outer.child(b, turn_b, ONE)
    one, two = Pose.from_axis_angle(a, turn_a), Pose.from_axis_angle(b, turn_b)
    same(*inner.pose(), one.compose(two))
    same(*inner.seen_from(outer), two)


def test_a_rotation_without_an_axis_is_none() -> None:
    assert WORLD.child((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 2.0), ONE).pose()[1] == NO_ROTATION


ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "import-world.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```(vrml|yaml)\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = Path("arena.wbt")
    file.write_text(BLOCKS["vrml"], encoding="utf-8")
    return file


def test_the_page_shows_what_is_printed(arena: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import-world", str(arena)]) == 0
    assert capsys.readouterr().out == BLOCKS["yaml"]


def test_the_commands_of_the_page(arena: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"^    hilgw (.*)$", PAGE, re.MULTILINE)
    assert commands == ["import-world arena.wbt -o arena.yaml", "check arena.yaml"]
    for command in commands:
        assert main(command.split()) == 0
    assert capsys.readouterr().out == "arena.yaml: ok\n"
    assert list(load_config("arena.yaml").config.robots) == ["rover", "E-puck"]


def test_a_file_is_not_replaced(arena: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("old.yaml").write_text("mine")
    assert main(["import-world", str(arena), "-o", "old.yaml"]) == 1
    assert "old.yaml: exists already; " in capsys.readouterr().err
    assert Path("old.yaml").read_text() == "mine"
    assert main(["import-world", str(arena), "-o", "no/folder.yaml"]) == 1
    assert "no/folder.yaml: cannot write: No such file" in capsys.readouterr().err


def test_errors_have_a_position(arena: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arena.write_text("#VRML_SIM R2025a utf8\nRobot {\n  name rover\n}\n")
    assert main(["import-world", str(arena)]) == 3
    assert capsys.readouterr().err.startswith("arena.wbt:3:8: 'rover' is not a value")
    assert main(["import-world", "none.wbt"]) == 3
    assert "none.wbt: cannot be read: No such file" in capsys.readouterr().err
    assert main(["import-world", "."]) == 3
    assert main(["import-world", "a\0b"]) == 3


def test_a_world_that_no_configuration_holds(
    arena: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arena.write_text("#VRML_SIM R2025a utf8\n" + "Robot { } " * 20_000)
    assert main(["import-world", str(arena)]) == 3
    assert "the world is larger than a configuration may be" in capsys.readouterr().err
