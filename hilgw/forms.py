"""The forms of messages: dataclasses whose types define the values of JSON. Pure."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from hilgw.errors import UsageError, quoted, suggest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Must:
    """A condition on a value in addition to its type. text: follows "must be"."""

    text: str
    test: Callable[[Any], object] = lambda value: True


def with_keys(needed: Mapping[str, Any], others: Mapping[str, Any] | None = None) -> Must:
    """Return the condition that an object has these keys, with values of these types.

    Further keys belong to a later version. The keys of `others` may be missing.
    """

    def test(given: Mapping[str, Any]) -> bool:
        for key, hint in {**needed, **(others or {})}.items():
            if key in needed or key in given:
                _field(key, hint, given)
        return True

    return Must("an object", test)


def name_of(kind: type[Any]) -> str:
    """Return the word of a request or an event, from the name of its class."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in kind.__name__)[1:]


def decode(kind: type[T], given: Mapping[str, Any]) -> T:
    """Return the dataclass with these keys.

    Raises:
      UsageError: a key is wrong; the error names it, and the values that are allowed.
    """
    hints = hints_of(kind)  # type: ignore[arg-type]  # a class is hashable
    if unknown := [key for key in given if key not in hints]:
        raise UsageError(
            f"{quoted(unknown[0])} is not a key of {name_of(kind)}", fix=suggest(unknown[0], hints)
        )
    values = {}
    for declared in fields(kind):  # type: ignore[arg-type]  # any dataclass
        has_default = declared.default is not MISSING or declared.default_factory is not MISSING
        if declared.name in given or not has_default:
            values[declared.name] = _field(declared.name, hints[declared.name], given)
    return kind(**values)


def _field(key: str, hint: Any, given: Mapping[str, Any]) -> Any:
    """Return the value of this key as this type.

    UsageError names the key and the allowed values.
    """
    if key not in given:
        raise UsageError(f"{key} is missing: it must be {described(hint)}")
    try:
        return _converted(hint, given[key])
    except (ValueError, OverflowError):
        raise UsageError(f"{key} must be {described(hint)}") from None


@cache
def hints_of(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name] for each in fields(kind)}


UNIONS = (UnionType, Union)  # the second of an annotated type
NONE = type(None)
_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    bytes: "pairs of hexadecimal digits",
}


def described(hint: Any) -> str:
    """Return a description of the allowed values of this type."""
    kind, parts = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return str(hint.__metadata__[-1].text)
    if kind in UNIONS:
        words = [described(each) for each in parts if each is not NONE]
        return ", or ".join(["null"] * (len(words) < len(parts)) + words)
    if kind is list:
        return "a list of names" if parts[0] is str else f"a list, each {described(parts[0])}"
    if kind is tuple:
        return f"{len(parts)} numbers"
    return "an object" if kind is dict else _WORDS.get(hint, "any value")


def _converted(hint: Any, value: Any) -> Any:
    kind, parts = get_origin(hint), get_args(hint)
    if kind is Annotated:
        converted = _converted(parts[0], value)
        if all(must.test(converted) for must in hint.__metadata__):
            return converted
    elif kind in UNIONS:
        for part in parts:
            with suppress(ValueError):
                return _converted(part, value)
    elif kind is list and isinstance(value, list):
        return [_converted(parts[0], each) for each in value]
    elif kind is tuple and isinstance(value, list | tuple) and len(value) == len(parts):
        return tuple(_converted(part, each) for part, each in zip(parts, value, strict=True))
    elif kind is dict and isinstance(value, dict):
        key_type, each_type = parts
        return {_converted(key_type, str(key)): _converted(each_type, value[key]) for key in value}
    elif hint is float and type(value) in (int, float):
        return float(value)
    elif hint is bytes and type(value) is str:
        return bytes.fromhex(value)
    elif is_dataclass(hint) and isinstance(value, dict):
        return decode(hint, value)  # type: ignore[arg-type]  # the class, not an object of it
    elif hint is Any or type(value) is hint:
        return value
    raise ValueError
