"""Strict schemas for pydantic's core, made from settings dataclasses.

`settings_schema(Dataclass)` validates plain data and returns the dataclass. Settings may be bool,
int, float, str, Literal, None, lists (as tuples), dicts, dataclasses, and unions of these that
differ by their YAML type or by a field of one literal value.

pydantic's models are not used: their import and their making take 100 ms at each start.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import MISSING
from enum import StrEnum
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic_core import CoreSchema, core_schema

from hilgw.config.context import Context
from hilgw.config.schema.limits import bounded, refuse, refuse_key, worded
from hilgw.errors import HilgwError, quoted

CHOICE = "\0"  # precedes the name of a choice in pydantic's locations

# The accepted values of each type, and its name in messages.
_ACCEPTED: dict[Any, tuple[type[Any], ...]] = {float: (float, int), tuple: (list,)}
_WORDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    tuple: "a list",
}


def union(
    tag: str,
    by_name: Mapping[str, Any],
    by_type: Mapping[Any, Any],
    *,
    rest: Any = None,
    names: Callable[[], Iterable[str]] | None = None,
) -> CoreSchema:
    """Return the schema of a union of mappings and other types; the key `tag` selects the mapping.

    Args:
        tag: The key that selects the mapping.
        by_name: The schema of each name under `tag`.
        by_type: The schema of each other type, as settings declare it.
        rest: The schema of all names that are not in by_name.
        names: Returns all names, for the message about an unknown one.
    """
    types: dict[type[Any], str] = {}
    choices = {CHOICE + name: schema for name, schema in by_name.items()}
    for member, schema in by_type.items():
        choices[CHOICE + _word(member)] = schema
        for accepted in _accepted(member):
            types.setdefault(accepted, CHOICE + _word(member))

    if rest is not None:
        choices[CHOICE] = rest

    def choose(value: Any) -> str | None:
        if tag and isinstance(value, dict):
            name = value.get(tag)
            if not isinstance(name, str) or CHOICE + name in choices:
                return f"{CHOICE}{name}"
            return CHOICE if names and name in names() else None
        return types.get(type(value))

    context: dict[str, Any] = {
        "tag": tag,
        "names": names or (lambda: list(by_name)),
        "wanted": " or ".join(dict.fromkeys(map(_word, by_type))),
        "text": str in types,
    }
    return core_schema.tagged_union_schema(
        choices,
        choose,
        custom_error_type="hilgw_union",
        custom_error_message="fits no member of the union",
        custom_error_context=context,
        metadata={"names": frozenset(by_name)},
    )


def one_of(members: Mapping[Any, Any]) -> CoreSchema:
    """Return the schema of a union of settings types (type -> schema).

    Dataclasses differ by a literal field, other types by their YAML type.
    """
    classes = [member for member in members if dataclasses.is_dataclass(member)]
    if len(classes) < 2:
        return union("", {}, members)
    tag, by_name = tags(classes)
    others = {member: schema for member, schema in members.items() if member not in classes}
    return union(tag, {name: members[part] for name, part in by_name.items()}, others)


def is_tag(hint: Any) -> bool:
    """Return True for a field of one literal value that distinguishes its dataclass from others."""
    return get_origin(hint) is Literal and len(get_args(hint)) == 1


def tags(classes: Iterable[Any]) -> tuple[str, dict[str, Any]]:
    """Return the field that distinguishes the classes, and the class of each of its values."""
    classes = list(classes)
    literals = [
        {name: get_args(hint)[0] for name, hint in get_type_hints(cls).items() if is_tag(hint)}
        for cls in classes
    ]
    for name in literals[0]:
        if all(name in fields for fields in literals):
            by_name = {fields[name]: cls for fields, cls in zip(literals, classes, strict=True)}
            if len(by_name) == len(classes):
                return name, by_name
    raise TypeError(f"no Literal field distinguishes {classes}")


def _accepted(member: Any) -> tuple[type[Any], ...]:
    origin = get_origin(member) or member
    if origin is Literal:
        return tuple({type(value) for value in get_args(member)})
    if dataclasses.is_dataclass(member):
        return (dict,)
    return _ACCEPTED.get(origin, (origin,))


def _word(member: Any) -> str:
    if get_origin(member) is Literal:
        return " or ".join(quoted(str(value)) for value in get_args(member))
    if key := getattr(member, "written_as", ""):
        return f"a mapping with the key {quoted(key)}"
    return _WORDS.get(get_origin(member) or member, "a mapping")


def parts_schema(
    title: str,
    parts: tuple[type[Any], ...],
    make: Callable[..., Any] | None = None,
    *,
    tag: tuple[str, str] | None = None,
    types: Mapping[str, Any] = MappingProxyType({}),
    rest: str = "",
    tagged: bool = False,
) -> CoreSchema:
    """Return the schema of a mapping with the keys of all `parts` (dataclasses) side by side.

    Args:
        title: The title of the schema.
        parts: The dataclasses.
        make: Gets one instance per part; None: the only instance is the value.
        tag: A key, and the only value it may have.
        types: The schemas of these fields.
        rest: The field of the last part that takes all other keys.
        tagged: Fields of one literal value are required.
    """
    fields: dict[str, Any] = {}
    if tag:
        fields[tag[0]] = core_schema.typed_dict_field(core_schema.literal_schema([tag[1]]))
    for part in parts:
        own = _fields(part, types, tagged)
        if twice := [key for key in own if key in fields]:
            raise TypeError(f"{title}: {twice[0]} is declared twice")
        fields |= own
    fields.pop(rest, None)
    about = {
        "title": title,
        "description": inspect.getdoc(parts[-1]) or "",
        "additionalProperties": bool(rest),
        **getattr(parts[-1], "in_editors", {}),
    }
    mapping = core_schema.typed_dict_schema(
        fields,
        strict=True,
        extra_behavior="allow" if rest else "forbid",
        metadata={"json": about},
    )
    keys = {key: _example(field) for key, field in fields.items()}
    return core_schema.with_info_wrap_validator_function(
        functools.partial(_build, parts, keys, make, rest), mapping
    )


def _example(field: Any) -> str:
    return str(field.get("metadata", {}).get("json", {}).get("examples", [""])[0])


def _build(
    parts: tuple[type[Any], ...],
    keys: dict[str, str],
    make: Callable[..., Any] | None,
    rest: str,
    value: Any,
    handler: Any,
    info: Any,
) -> Any:
    context: Context = info.context
    context.note_shape(value, keys, parts)
    valid = handler(value)
    try:
        instances = [_instance(part, valid, keys, rest) for part in parts]
        made = make(*instances) if make is not None else instances[0]
    except HilgwError as error:
        refused = refuse(error.what, error.fix)
        raise (
            refuse_key(value, error.where, refused) if error.where in value else refused
        ) from error
    return context.note(value, made)


def _instance(part: type[Any], valid: dict[Any, Any], keys: Container[Any], rest: str) -> Any:
    names = [field.name for field in dataclasses.fields(part) if field.init]
    values = {name: valid[name] for name in names if name in valid and name != rest}
    if rest:
        values[rest] = {key: item for key, item in valid.items() if key not in keys}
    return part(**values)


@functools.cache
def settings_schema(part: type[Any], *, tagged: bool = False) -> CoreSchema:
    """Return the schema of one settings dataclass.

    With `tagged` the field that distinguishes it from the others of a union is required.
    """
    return parts_schema(part.__name__, (part,), tagged=tagged)


def _fields(part: type[Any], types: Mapping[str, Any], tagged: bool) -> dict[str, Any]:
    hints, made = get_type_hints(part), {}
    for field in dataclasses.fields(part):
        hint = hints[field.name]
        required = default_of(field) is MISSING or (tagged and is_tag(hint))
        schema = types.get(field.name) or convert(hint, field.metadata)
        about = {"json": _about(field, required=required)}
        if field.init:
            made[field.name] = core_schema.typed_dict_field(
                schema, required=required, metadata=about
            )
    return made


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a setting; MISSING if the setting is required."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def _about(field: dataclasses.Field[Any], *, required: bool) -> dict[str, Any]:
    about: dict[str, Any] = {"title": field.name}
    if doc := field.metadata.get("doc"):
        unit = field.metadata.get("unit")
        about["description"] = f"{doc} ({unit})" if unit else doc
    if (example := field.metadata.get("example")) is not None:
        about["examples"] = [example]
    if not required:
        about["default"] = plain(default_of(field))
    return about


def plain(value: Any) -> Any:
    """Return a default as plain data of a file."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def convert(hint: Any, metadata: Mapping[str, Any] = MappingProxyType({})) -> CoreSchema:
    """Return the schema of a settings type, with the limits of its numbers and texts."""
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        written_as = getattr(hint, "written_as", "")
        return _wrapped(hint, written_as) if written_as else settings_schema(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return core_schema.no_info_after_validator_function(hint, worded(metadata))
    if origin in (Union, UnionType):
        return _union(arguments, metadata)
    if origin is dict:
        key, value = convert(arguments[0]), convert(arguments[1], metadata)
        return core_schema.dict_schema(key, value, strict=True)
    if origin is tuple:
        return _tuple(arguments, metadata)
    if origin is list:
        return core_schema.list_schema(convert(arguments[0], metadata), strict=True)
    if origin is Literal:
        return core_schema.literal_schema(list(arguments))
    if hint in (int, float):
        return bounded(hint, metadata)
    if hint is str:
        return worded(metadata)
    return core_schema.bool_schema(strict=True) if hint is bool else core_schema.any_schema()


def _tuple(arguments: tuple[Any, ...], metadata: Mapping[str, Any]) -> CoreSchema:
    """Return the schema of a list in the file; a strict schema would take only a tuple."""
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = convert(arguments[0], metadata)
        return core_schema.tuple_schema([item], variadic_item_index=0, strict=False)

    def has_length(value: Any) -> Any:
        if isinstance(value, list) and len(value) != len(arguments):
            raise refuse(
                f"must have {len(arguments)} items, has {len(value)}",
                f"write {len(arguments)} of them",
            )
        return value

    fixed = core_schema.tuple_schema([convert(item, metadata) for item in arguments], strict=False)
    return core_schema.no_info_before_validator_function(has_length, fixed)


def _union(members: tuple[Any, ...], metadata: Mapping[str, Any]) -> CoreSchema:
    some = [member for member in members if member is not NoneType]
    if len(some) == 1:
        one = convert(some[0], metadata)
    else:
        classes: list[Any] = [member for member in some if dataclasses.is_dataclass(member)]
        schemas = {member: convert(member, metadata) for member in some if member not in classes}
        for part in classes:
            schemas[part] = settings_schema(part, tagged=True) if classes[1:] else convert(part)
        one = one_of({member: schemas[member] for member in some})
    return core_schema.nullable_schema(one) if NoneType in members else one


def _wrapped(hint: Any, key: str) -> CoreSchema:
    mapping = core_schema.typed_dict_schema(
        {key: core_schema.typed_dict_field(settings_schema(hint))},
        strict=True,
        extra_behavior="forbid",
        metadata={"json": {"additionalProperties": False}},
    )

    def unwrap(value: Any, handler: Any, info: Any) -> Any:
        info.context.note_shape(value, {key: "{...}"})
        return handler(value)[key]

    return core_schema.with_info_wrap_validator_function(unwrap, mapping)
