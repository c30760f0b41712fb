"""Unions of settings: the value selects one member, and only its errors are reported."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic_core import CoreSchema, core_schema

from hilgw.errors import quoted

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
