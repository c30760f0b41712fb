"""Strict pydantic models, made from settings dataclasses.

`annotation(Dataclass)` validates plain data and returns the dataclass. Settings may be bool,
int, float, str, Literal, None, lists (as tuples), dicts, dataclasses, and unions of these that
differ by their YAML type or by a field of one literal value.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, create_model
from pydantic.functional_validators import WrapValidator

from hilgw.config.context import Context
from hilgw.config.schema.limits import bounded, refuse, worded
from hilgw.config.schema.unions import Pick, choose_by_tag, choose_by_type, is_tag, wrong
from hilgw.errors import HilgwError

PREFIX = "field_"  # of the model's attributes: settings cannot collide with pydantic's names


class _Closed(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class _Open(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


def parts_model(
    title: str,
    parts: tuple[type[Any], ...],
    make: Callable[..., Any],
    *,
    tag: tuple[str, str] | None = None,
    types: Mapping[str, Any] = MappingProxyType({}),
    rest: str = "",
    tagged: bool = False,
) -> Any:
    """A mapping that holds the keys of all `parts` (dataclasses) side by side.

    make: gets one instance per part. tag: a key, and the only value it may have. types: replace the
    types of these fields. rest: the field of the last part that takes all other keys. tagged:
    fields of one literal value are required.
    """
    fields: dict[str, Any] = {}
    if tag:
        fields[PREFIX + tag[0]] = (Literal[tag[1]], Field(alias=tag[0]))
    for part in parts:
        own = _fields(part, types, tagged)
        if twice := [key for key in own if key in fields]:
            raise TypeError(f"{title}: {twice[0].removeprefix(PREFIX)} is declared twice")
        fields |= own
    base: type[BaseModel] = _Closed
    if rest:
        hint, _ = fields.pop(PREFIX + rest)
        extra = {"__annotations__": {"__pydantic_extra__": hint}, "__module__": __name__}
        base = type("_Rest", (_Open,), extra)
    model = create_model(title, __base__=base, __doc__=parts[-1].__doc__, **fields)
    return Annotated[model, WrapValidator(_Builder(model, parts, make, rest))]


@functools.cache
def annotation(part: type[Any], *, tagged: bool = False) -> Any:
    """Validates one settings dataclass. tagged: the field that distinguishes it from the others of
    a union is required."""
    return parts_model(part.__name__, (part,), lambda instance: instance, tagged=tagged)


class _Builder:
    """Validates data with a model, then makes the dataclasses from the valid data."""

    def __init__(
        self,
        model: type[BaseModel],
        parts: tuple[type[Any], ...],
        make: Callable[..., Any],
        rest: str,
    ) -> None:
        self._parts = parts
        self._make = make
        self._rest = rest
        self._keys = {
            field.alias or "": str((field.examples or [""])[0])
            for field in model.model_fields.values()
        }

    def __call__(self, value: Any, handler: Any, info: Any) -> Any:
        context: Context = info.context
        context.note_shape(value, self._keys, self._parts)
        checked = handler(value)
        try:
            made = self._make(*(self._instance(part, checked) for part in self._parts))
        except HilgwError as error:
            refused = refuse(error.what, error.fix)
            raise wrong(value, error.where, refused) if error.where in value else refused from error
        return context.note(value, made)

    def _instance(self, part: type[Any], checked: BaseModel) -> Any:
        values = {
            field.name: getattr(checked, PREFIX + field.name)
            for field in dataclasses.fields(part)
            if field.init and field.name != self._rest
        }
        if self._rest:
            values[self._rest] = dict(checked.model_extra or {})
        return part(**values)


def _fields(part: type[Any], types: Mapping[str, Any], tagged: bool) -> dict[str, Any]:
    hints = get_type_hints(part)
    return {
        PREFIX + field.name: (
            types.get(field.name) or convert(hints[field.name], field.metadata),
            _info(field, required=tagged and is_tag(hints[field.name])),
        )
        for field in dataclasses.fields(part)
        if field.init
    }


def _info(field: dataclasses.Field[Any], *, required: bool) -> Any:
    details: dict[str, Any] = {"alias": field.name, "title": field.name}
    if doc := field.metadata.get("doc"):
        unit = field.metadata.get("unit")
        details["description"] = f"{doc} ({unit})" if unit else doc
    extra: dict[str, Any] = {}
    if (example := field.metadata.get("example")) is not None:
        details["examples"] = [example]
    if required:
        pass
    elif field.default is not dataclasses.MISSING:
        details["default_factory"] = functools.partial(_same, field.default)
        extra["default"] = plain(field.default)
    elif field.default_factory is not dataclasses.MISSING:
        details["default_factory"] = field.default_factory
        extra["default"] = plain(field.default_factory())
    return Field(json_schema_extra=extra or None, **details)


def _same(value: Any) -> Any:
    return value


def plain(value: Any) -> Any:
    """A default as plain data of a file."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def convert(hint: Any, metadata: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """The pydantic type of a settings type, with the limits of its numbers and texts."""
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        written_as = getattr(hint, "written_as", "")
        return _wrapped(hint, written_as) if written_as else annotation(hint)
    if origin in (Union, UnionType):
        return _union(arguments, metadata)
    if origin is dict:
        return dict[convert(arguments[0]), convert(arguments[1], metadata)]  # type: ignore[misc]
    if origin is tuple:
        return _tuple(arguments, metadata)
    if origin is list:
        return list[convert(arguments[0], metadata)]  # type: ignore[misc]
    if hint in (int, float):
        return bounded(hint, metadata)
    if hint is str:
        return worded(metadata)
    return hint


def _tuple(arguments: tuple[Any, ...], metadata: Mapping[str, Any]) -> Any:
    """A list in the file; strict pydantic would take only a tuple."""
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        items: Any = tuple[convert(arguments[0], metadata), ...]  # type: ignore[misc]
        return Annotated[items, Strict(False)]
    items = tuple[tuple(convert(item, metadata) for item in arguments)]  # type: ignore[misc]

    def has_length(value: Any) -> Any:
        if isinstance(value, list) and len(value) != len(arguments):
            what = f"must have {len(arguments)} items, has {len(value)}"
            raise refuse(what, f"write {len(arguments)} of them")
        return value

    return Annotated[items, Strict(False), BeforeValidator(has_length)]


def _union(members: tuple[Any, ...], metadata: Mapping[str, Any]) -> Any:
    some = [member for member in members if member is not NoneType]
    if len(some) == 1:
        one = convert(some[0], metadata)
    else:
        classes = [member for member in some if dataclasses.is_dataclass(member)]
        tagged = len(classes) > 1
        types = {
            member: annotation(member, tagged=True)
            if tagged and member in classes
            else convert(member, metadata)
            for member in some
        }
        choose = choose_by_tag(types) if tagged else choose_by_type(types)
        one = Annotated[Any, Pick(choose, list(types.values()))]
    return one | None if NoneType in members else one


def _wrapped(hint: Any, key: str) -> Any:
    """A dataclass that the file has under a key of its own: `port: {usb: {...}}`."""
    fields: dict[str, Any] = {PREFIX + key: (annotation(hint), Field(alias=key))}
    model = create_model(hint.__name__ + "Key", __base__=_Closed, **fields)

    def unwrap(value: Any, handler: Any, info: Any) -> Any:
        info.context.note_shape(value, {key: "{...}"})
        return getattr(handler(value), PREFIX + key)

    return Annotated[model, WrapValidator(unwrap)]
