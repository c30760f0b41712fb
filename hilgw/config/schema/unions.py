"""Unions that select one type by the value, before validation.

pydantic's own unions report the errors of all types, and put the types into the locations of
errors. Here one type is selected first, and only its errors are reported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails, core_schema

from hilgw.config.schema.limits import mistyped, refuse
from hilgw.errors import ConfigError, HilgwError, quoted, suggest

Chooser = Callable[[Any], Any]


class Pick:
    """An annotation of Any: `choose(value)` returns the type to validate with, or raises.

    members: all types, for the JSON Schema; a function is called only for it.
    """

    def __init__(self, choose: Chooser, members: Iterable[Any] | Callable[[], Iterable[Any]]):
        self._choose = choose
        self._members = members
        self._adapters: dict[int, tuple[Any, TypeAdapter[Any]]] = {}  # by identity of the type

    def validate(self, value: Any, info: Any) -> Any:
        picked = self._choose(value)
        return self._adapter(picked).validate_python(value, context=info.context)

    def _adapter(self, kind: Any) -> TypeAdapter[Any]:
        if id(kind) not in self._adapters:
            self._adapters[id(kind)] = (kind, TypeAdapter(kind))
        return self._adapters[id(kind)][1]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.with_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        members = self._members() if callable(self._members) else self._members
        found = [handler(TypeAdapter(member).core_schema) for member in members]
        return {"anyOf": found} if found else {"not": {}}


def wrong(value: Any, key: str, error: Any) -> ValidationError:
    """One error at a key below the validated value."""
    details = InitErrorDetails(type=error, loc=(key,), input=value)
    return ValidationError.from_exception_data("hilgw", [details])


def choose_by_kind(
    tag: str, names: Callable[[], Iterable[str]], get: Callable[[str], Any]
) -> Chooser:
    """Selects by the text under the key `tag`; `get` returns its type, or raises HilgwError."""

    def choose(value: Any) -> Any:
        if not isinstance(value, dict):
            raise refuse(f"must be a mapping with the key {quoted(tag)}", _offer(tag, names()))
        if tag not in value:
            raise wrong(value, tag, refuse("missing", _offer(tag, names())))
        name = value[tag]
        if not isinstance(name, str):
            raise wrong(value, tag, refuse("must be text", _offer(tag, names())))
        try:
            return get(name)
        except HilgwError as error:
            raise wrong(value, tag, refuse(error.what, error.fix)) from error

    return choose


def _offer(tag: str, names: Iterable[str]) -> str:
    return f"write `{tag}: " + " | ".join(list(names)[:24] or ["NAME"]) + "`"


def choose_by_tag(members: Mapping[Any, Any]) -> Chooser:
    """Selects a dataclass by the field in which each has one literal value."""
    tag, by_name = tags(tuple(m for m in members if dataclasses.is_dataclass(m)))

    def get(name: str) -> Any:
        if name not in by_name:
            raise ConfigError(f"unknown {tag} {quoted(name)}", fix=suggest(name, by_name))
        return members[by_name[name]]

    others = {member: kind for member, kind in members.items() if member not in by_name.values()}
    by_kind = choose_by_kind(tag, lambda: by_name, get)
    if not others:
        return by_kind
    by_type = choose_by_type(others)
    return lambda value: by_kind(value) if isinstance(value, dict) else by_type(value)


def is_tag(hint: Any) -> bool:
    """Whether a field has one literal value, which distinguishes its dataclass from others."""
    return get_origin(hint) is Literal and len(get_args(hint)) == 1


def tags(classes: tuple[Any, ...]) -> tuple[str, dict[str, Any]]:
    """The field that distinguishes the classes, and the class of each of its values."""
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


def choose_by_type(members: Mapping[Any, Any]) -> Chooser:
    """Selects by the YAML type of the value: text, number, list, mapping ..."""
    table: dict[type[Any], Any] = {}
    for member, kind in members.items():
        for accepted in _accepts(member):
            table.setdefault(accepted, kind)
    words = " or ".join(dict.fromkeys(_word(member) for member in members))

    def choose(value: Any) -> Any:
        if type(value) not in table:
            raise mistyped(words, str in table)
        return table[type(value)]

    return choose


def _accepts(member: Any) -> tuple[type[Any], ...]:
    origin = get_origin(member)
    if dataclasses.is_dataclass(member) or origin is dict:
        return (dict,)
    if origin in (list, tuple):
        return (list,)
    if origin is Literal:
        return tuple({type(value) for value in get_args(member)})
    return (float, int) if member is float else (member,)


def _word(member: Any) -> str:
    words = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    if get_origin(member) is Literal:
        return " or ".join(quoted(str(value)) for value in get_args(member))
    if key := getattr(member, "written_as", ""):
        return f"a mapping with the key {quoted(key)}"
    by_origin: dict[Any, str] = {list: "a list", tuple: "a list", dict: "a mapping"}
    return words.get(member) or by_origin.get(get_origin(member), "a mapping")
