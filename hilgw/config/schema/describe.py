"""Describes settings, for `hilgw adapters` and the generated documentation."""

import dataclasses
import json
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hilgw.config.schema.limits import bounds_in_words, number
from hilgw.config.schema.models import default_of, is_tag, plain, tags

_WORDS: dict[Any, str] = {str: "text", int: "whole number", float: "number", bool: "true or false"}


@dataclasses.dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting: its key (dotted below its part), its allowed values, and its meaning."""

    key: str
    type: str
    default: str
    limits: str
    unit: str
    doc: str

    @property
    def in_words(self) -> str:
        """The row without its key, in one line."""
        about = ", ".join(
            part
            for part in (
                f"{self.type} ({self.unit})" if self.unit else self.type,
                self.limits,
                self.default if self.default == "required" else "",
                f"default {self.default}" if self.default not in ("required", "") else "",
            )
            if part
        )
        return f"{self.doc} [{about}]" if about else self.doc


def rows(part: type[Any], prefix: str = "", *, deep: bool = True) -> list[SettingRow]:
    """Return all settings of a dataclass; if `deep`, also those of nested ones, below their key."""
    hints = get_type_hints(part)
    table: list[SettingRow] = []
    for field in dataclasses.fields(part):
        hint = hints[field.name]
        if is_tag(hint):
            continue
        key = prefix + field.name
        table.append(_row(key, hint, field))
        if deep:
            table += _inner(key, hint)
    return table


def _row(key: str, hint: Any, field: dataclasses.Field[Any]) -> SettingRow:
    metadata = field.metadata
    return SettingRow(
        key=key,
        type=" or ".join(map(str, metadata.get("choices", ()))) or type_in_words(hint),
        default=_default(field),
        limits=bounds_in_words(metadata),
        unit=metadata.get("unit", ""),
        doc=metadata.get("doc", ""),
    )


def _inner(key: str, hint: Any) -> Iterator[SettingRow]:
    members: tuple[Any, ...] = get_args(hint) if _is_union(hint) else (hint,)
    classes: list[Any] = [member for member in members if dataclasses.is_dataclass(member)]
    if len(classes) > 1:
        tag, by_name = tags(tuple(classes))
        for name, member in by_name.items():
            yield SettingRow(f"{key}.{tag}: {name}", "", "", "", "", summary_of(member))
            yield from rows(member, f"{key}.")
        return
    for member in classes:
        written_as = getattr(member, "written_as", "")
        yield from rows(member, f"{key}.{written_as}." if written_as else f"{key}.")
    if get_origin(hint) is dict:
        yield from _inner(f"{key}.NAME", get_args(hint)[1])


def summary_of(part: Any) -> str:
    """Return the docstring in one line."""
    return " ".join((part.__doc__ or "").split())


def type_in_words(hint: Any) -> str:
    """Return the name of a settings type in the documentation."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _WORDS:
        return _WORDS[hint]
    if _is_union(hint):
        words = dict.fromkeys(type_in_words(member) for member in arguments if member != NoneType)
        return " or ".join(words)
    if origin is Literal:
        return " or ".join(str(value) for value in arguments)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return f"list of {len(arguments)} {_plural(type_in_words(arguments[0]))}"
    if origin in (tuple, list):
        return f"list of {_plural(type_in_words(arguments[0]))}"
    return "mapping"


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _plural(words: str) -> str:
    if words.startswith("list "):
        return "lists " + words.removeprefix("list ")
    return words + "s" if words.endswith("number") else words


def _default(field: dataclasses.Field[Any]) -> str:
    value = default_of(field)
    if value is dataclasses.MISSING:
        return "required"
    if value is None or value == "":
        return "not set"
    return _written(plain(value))


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        given = {key: item for key, item in value.items() if item is not None}
        return "{" + ", ".join(f"{key}: {_written(item)}" for key, item in given.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, int | float):
        return number(value)
    return value if value.isprintable() and value == value.strip() else json.dumps(value)
