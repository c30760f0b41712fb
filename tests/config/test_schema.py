"""Models made from settings dataclasses: strict types, limits, unions that do not guess."""

import dataclasses
import functools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest
import yaml
from pydantic_core import SchemaValidator, ValidationError

from hilgw import plugins
from hilgw.config.context import Context
from hilgw.config.diagnose import locate
from hilgw.config.load import load_text
from hilgw.config.schema.describe import rows
from hilgw.config.schema.file import json_schema
from hilgw.config.schema.models import parts_schema, settings_schema
from hilgw.config.source.text import ConfigErrors
from hilgw.errors import ConfigError
from hilgw.settings import setting

ROOT = Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """A round one."""

    by: Literal["circle"] = "circle"
    radius_m: float = setting("radius", gt=0, unit="m")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """An edged one."""

    by: Literal["square"] = "square"
    edge_m: float = setting("edge", 1.0, unit="m")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Written under a key of its own."""

    written_as = "key"
    number: int = setting("number", example=7)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One field of each type settings may have."""

    integer: int = setting("an int", 5, ge=0, le=10, also=(-1,))
    real: float = setting("a float", 0.5, gt=0)
    flag: bool = setting("a bool", False)
    ending: str = setting("a line's end", "\n")
    text: str = setting("a str", "x", pattern="[a-z]*", example="abc")
    choice: str = setting("one of", "red", choices=("red", "green"))
    level: int = setting("one of", 1, choices=(1, 2, 4))
    maybe: float | None = setting("optional", None, ge=0)
    literal: Literal["on-time", "late"] = setting("literal", "late")
    pair: tuple[float, float] = setting("two", (0.0, 0.0), ge=-1)
    many: tuple[int, ...] = setting("many", (), ge=0)
    table: dict[int, str] = setting("table", default_factory=dict)
    nested: Square = setting("inside", Square())
    shape: Circle | Square = setting("tagged", Square())
    mixed: str | Key = setting("text or mapping", "none")
    either: int | str = setting("number or text", 0)
    shapes: dict[str, Square] = setting("by name", default_factory=dict)
    copy: int = setting("a name pydantic uses itself", 0)
    model_config: int = setting("and another", 0)

    def __post_init__(self) -> None:
        if self.integer == 9 and self.flag:
            raise ConfigError("9 cannot be flagged", fix="choose one")


def take(data: Any) -> Any:
    return SchemaValidator(settings_schema(Sample)).validate_python(data, context=Context())


def refusals(data: Any) -> list[tuple[tuple[Any, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        take(data)
    return [(locate(error)[0], error["type"]) for error in caught.value.errors()]


@pytest.mark.parametrize(
    ("data", "location"),
    [
        ({"integer": True}, ("integer",)),
        ({"integer": 1.0}, ("integer",)),
        ({"integer": 11}, ("integer",)),
        ({"integer": None}, ("integer",)),
        ({"real": 0}, ("real",)),
        ({"real": math.nan}, ("real",)),
        ({"real": math.inf}, ("real",)),
        ({"flag": "true"}, ("flag",)),
        ({"text": "A"}, ("text",)),
        ({"text": "a\n"}, ("text",)),
        ({"choice": "blue"}, ("choice",)),
        ({"level": 3}, ("level",)),
        ({"maybe": -1}, ("maybe",)),
        ({"literal": "never"}, ("literal",)),
        ({"pair": [1]}, ("pair",)),
        ({"pair": [1, -2]}, ("pair", 1)),
        ({"pair": "12"}, ("pair",)),
        ({"pair": {1: 2, 3: 4}}, ("pair",)),
        ({"many": [1, -1]}, ("many", 1)),
        ({"table": {1: 2}}, ("table", 1)),
        ({"nested": {"edge": 2}}, ("nested", "edge")),
        ({"shape": {"by": "circle"}}, ("shape", "radius_m")),
        ({"shape": {"by": "circle", "radius_m": 0}}, ("shape", "radius_m")),
        ({"shape": {"by": "oval"}}, ("shape", "by")),
        ({"shape": {"by": ["circle"]}}, ("shape", "by")),
        ({"shape": {"radius_m": 1}}, ("shape", "by")),
        ({"mixed": 1}, ("mixed",)),
        ({"mixed": {"number": 1}}, ("mixed", "key")),
        ({"mixed": {"key": {"number": "1"}}}, ("mixed", "key", "number")),
        ({"either": 1.5}, ("either",)),
        ({"either": True}, ("either",)),
        ({"shapes": {"a": {"edge": 1}}}, ("shapes", "a", "edge")),
        ({"field_copy": 1}, ("field_copy",)),
        ({"integer": 9, "flag": True}, ()),
        ([], ()),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_at_its_place(data: Any, location: tuple[Any, ...]) -> None:
    assert location in [where for where, _ in refusals(data)]


def test_parts_side_by_side() -> None:
    model = parts_schema("two", (Circle, Key), lambda a, b: (a, b), tag=("kind", "k"))
    adapter = SchemaValidator(model)
    data = {"kind": "k", "by": "circle", "radius_m": 1, "number": 2}
    assert adapter.validate_python(data, context=Context()) == (Circle(radius_m=1), Key(number=2))
    with pytest.raises(TypeError, match="declared twice"):
        parts_schema("two", (Circle, Square), lambda a, b: (a, b))


def test_settings_in_words() -> None:
    by_key = {row.key: row for row in rows(Sample)}
    assert by_key["integer"].in_words == "an int [whole number, 0 to 10, or -1, default 5]"
    assert by_key["choice"].type == "red or green"
    assert by_key["many"].type == "list of whole numbers"
    assert by_key["shape.by: circle"].doc == "A round one."
    assert by_key["shape.radius_m"].default == "required"
    assert by_key["mixed.key.number"].type == "whole number"
    assert by_key["shapes.NAME.edge_m"].unit == "m"
    assert by_key["maybe"].default == "not set"
    assert by_key["ending"].default == r'"\n"'


# The JSON schema.
@pytest.fixture(scope="module")
def editor() -> jsonschema.Draft202012Validator:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("file", sorted(ROOT.glob("configs/*.yaml")), ids=lambda file: file.stem)
def test_shipped_files_fit_the_schema(editor: jsonschema.Draft202012Validator, file: Path) -> None:
    data = json.loads(json.dumps(yaml.safe_load(file.read_text(encoding="utf-8"))))
    assert [error.message for error in editor.iter_errors(data)] == []


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("version"),
        lambda data: data.update(backend="moc"),
        lambda data: data.update(colour=1),
        lambda data: data["adapters"].update({"a.b": data["adapters"]["xbee0"]}),
        lambda data: data["robots"]["rover"].update(position=[0, 0]),
        lambda data: data["robots"]["rover"]["controller"].update(period_ms=0),
        lambda data: data["airs"]["lab"]["nodes"]["spare"].update(replies={"a": 1}),
    ],
)
def test_what_the_checks_refuse_editors_underline(
    editor: jsonschema.Draft202012Validator, change: Callable[[Any], None]
) -> None:
    data = yaml.safe_load((ROOT / "configs" / "xbee.yaml").read_text(encoding="utf-8"))
    change(data)
    assert not editor.is_valid(json.loads(json.dumps(data)))
    with pytest.raises(ConfigErrors):
        load_text(yaml.safe_dump(data), "f")


# One message, at the line at hand.
def errors(editor: jsonschema.Draft202012Validator, data: Any) -> list[tuple[list[Any], str]]:
    """All messages of a file, each with its place."""
    problems = editor.iter_errors(json.loads(json.dumps(data)))
    return [(list(error.absolute_path), error.message) for error in problems]


FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # each worker of the tests collects all


def entries() -> dict[tuple[str, str], tuple[Path, list[Any]]]:
    """Of each group and kind, a shipped file that has it, and where in the file."""
    places: dict[tuple[str, str], tuple[Path, list[Any]]] = {}
    for file in sorted(ROOT.glob("configs/*.yaml")):
        data = yaml.load(file.read_text(encoding="utf-8"), FAST)
        for name, entry in data.get("adapters", {}).items():
            places.setdefault(("adapters", entry["kind"]), (file, ["adapters", name]))
        for name, robot in data.get("robots", {}).items():
            for part in ("controller", "body", "motion"):
                if part in robot:
                    place = ["robots", name, part]
                    places.setdefault((part, robot[part]["kind"]), (file, place))
            for device, entry in robot.get("devices", {}).items():
                place = ["robots", name, "devices", device]
                places.setdefault(("devices", entry["node"]), (file, place))
    return places


ENTRIES = entries()


def test_each_kind_of_hardware_body_and_controller_has_a_shipped_file() -> None:
    for part, group in (
        ("adapters", plugins.ADAPTERS),
        ("body", plugins.BODIES),
        ("controller", plugins.CONTROLLERS),
    ):
        assert {kind for where, kind in ENTRIES if where == part} == set(plugins.own(group))


@pytest.mark.parametrize("case", ENTRIES, ids=" ".join)
def test_a_faulty_entry_has_one_message_at_its_line(
    editor: jsonschema.Draft202012Validator, case: tuple[str, str]
) -> None:
    file, place = ENTRIES[case]
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    *above, last = place
    parent = functools.reduce(lambda part, key: part[key], above, data)
    entry, tag = parent[last], "node" if case[0] == "devices" else "kind"
    parent[last] = entry | {"buadRate": 9600}
    ((where, message),) = errors(editor, data)
    assert where == place  # editors underline the key that the message names
    assert "'buadRate' was unexpected" in message
    parent[last] = entry | {tag: "xbe"}
    ((where, message),) = errors(editor, data)
    assert where == [*place, tag]
    assert message.startswith("'xbe' is not one of [")
    parent[last] = {key: value for key, value in entry.items() if key != tag}
    assert errors(editor, data) == [(place, f"'{tag}' is a required property")]
    for key in entry.keys() - {tag}:
        parent[last] = entry | {key: [[[]]]}
        places = [where for where, _ in errors(editor, data)]
        assert places, key
        assert all(where[: len(place) + 1] == [*place, key] for where in places), key
    parent[last] = 5
    assert errors(editor, data) == [(place, "5 is not of type 'object'")]


@pytest.mark.parametrize(
    ("change", "place", "reported"),
    [
        ({"framing": {"framing": "slip", "crk": "none"}}, ["framing"], "'crk' was unexpected"),
        ({"framing": {"framing": "slip", "crc": 5}}, ["framing", "crc"], "5 is not of type"),
        ({"framing": {"framing": "slp"}}, ["framing", "framing"], "'slp' is not one of"),
        ({"framing": 5}, ["framing"], "5 is not of type 'string', 'object'"),
        ({"mapping": {"by": "header", "x": 1}}, ["mapping"], "'x' was unexpected"),
        ({"position": [1, 2]}, ["position"], "[1, 2] is too short"),
        ({"position": [1, 2, "3"]}, ["position", 2], "'3' is not of type 'number'"),
        ({"port": {"usb": {"pid": 1}}}, ["port", "usb"], "'vid' is a required property"),
        ({"port": {"usb": 5}}, ["port", "usb"], "5 is not of type 'object'"),
    ],
    ids=str,
)
def test_choices_inside_an_entry_have_one_message_too(
    editor: jsonschema.Draft202012Validator, change: dict[str, Any], place: list[Any], reported: str
) -> None:
    entry = {"kind": "uart", "port": "/dev/ttyUSB0"}
    for good in (entry, {**entry, "port": {"usb": {"location": "1-1.3"}}}):
        assert errors(editor, {"version": 1, "adapters": {"line": good}}) == []
    problems = errors(editor, {"version": 1, "adapters": {"line": entry | change}})
    assert problems[0][0] == ["adapters", "line", *place]
    assert reported in problems[0][1]
    assert {len(where) for where, _ in problems} == {2 + len(place)}
