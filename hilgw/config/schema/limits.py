"""The limits that `setting()` declares for numbers and texts, as text and as checks."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from pydantic_core import (
    CoreSchema,
    InitErrorDetails,
    PydanticCustomError,
    ValidationError,
    core_schema,
)

from hilgw.errors import quoted, suggest

Metadata: TypeAlias = Mapping[str, Any]

RENAMED = {"loop": "loopback"}  # values of earlier versions


def refuse(problem: str, fix: str = "") -> PydanticCustomError:
    """Return an error of hilgw in a pydantic ValidationError."""
    return PydanticCustomError("hilgw", "{what}", {"what": problem, "fix": fix})


def refuse_key(value: Any, key: str, refused: PydanticCustomError) -> ValidationError:
    """Return the error at a key of the validated mapping."""
    details = InitErrorDetails(type=refused, loc=(key,), input=value)
    return ValidationError.from_exception_data("hilgw", [details])


def number(value: float) -> str:
    """Return a number in its usual notation."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return str(value)


def bounds_in_words(metadata: Metadata) -> str:
    """Return the allowed numbers, such as "0 to 6.28319, or -1"; "" if every number is allowed."""
    low, above, high = metadata.get("ge"), metadata.get("gt"), metadata.get("le")
    if low is not None and high is not None:
        span = f"{number(low)} to {number(high)}"
    elif low is not None:
        span = f"{number(low)} or more"
    elif above is not None:
        span = f"more than {number(above)}" + (
            f", up to {number(high)}" if high is not None else ""
        )
    else:
        span = f"up to {number(high)}" if high is not None else ""
    beside = ", ".join(number(value) for value in metadata.get("also", ()))
    return f"{span}, or {beside}" if beside and span else span


def checked(schema: CoreSchema, check: Callable[[Any], Any], json: dict[str, Any]) -> CoreSchema:
    """Return the schema with an added check, which the keys `json` express in JSON Schema."""
    return core_schema.no_info_after_validator_function(check, schema, metadata={"json": json})


def bounded(hint: type[int] | type[float], metadata: Metadata) -> CoreSchema:
    """Return the schema of an int or float within its bounds, or of one of its choices."""
    schema: CoreSchema = core_schema.int_schema(strict=True)
    if hint is float:
        schema = core_schema.float_schema(strict=True, allow_inf_nan=False)
    if choices := metadata.get("choices"):
        return checked(schema, _one_of(choices), {"enum": [*choices]})
    words = bounds_in_words(metadata)
    if not words:
        return schema
    low, above, high = metadata.get("ge"), metadata.get("gt"), metadata.get("le")
    also = tuple(metadata.get("also", ()))

    def check(value: Any) -> Any:
        inside = (
            (low is None or value >= low)
            and (above is None or value > above)
            and (high is None or value <= high)
        )
        if inside or value in also:
            return value
        shown, span = number(value), words
        for bound in (low, above, high):
            if bound is not None and bound != value and number(bound) == shown:
                shown, span = repr(value), words.replace(shown, repr(bound))
        raise refuse(f"{shown} is out of range", f"allowed: {span}")

    keys = {"minimum": low, "exclusiveMinimum": above, "maximum": high}
    limits = {key: value for key, value in keys.items() if value is not None}
    return checked(schema, check, {"anyOf": [{"enum": [*also]}, limits]} if also else limits)


def worded(metadata: Metadata) -> CoreSchema:
    """Return the schema of a str that matches its pattern, or is one of its choices."""
    schema = core_schema.str_schema(strict=True)
    if choices := metadata.get("choices"):
        return checked(schema, _one_of(choices), {"enum": [*choices]})
    pattern = metadata.get("pattern")
    if not pattern:
        return schema
    example = metadata.get("example")
    hint = f"write it like {example}" if example else f"it must match {pattern}"

    def check(value: str) -> str:
        if re.fullmatch(pattern, value):
            return value
        raise refuse(f"{quoted(value)} is not valid here", hint)

    return checked(schema, check, {"pattern": f"^(?:{pattern})$"})


def _one_of(choices: Iterable[Any]) -> Callable[[Any], Any]:
    allowed = tuple(choices)

    def check(value: Any) -> Any:
        if value in allowed:
            return value
        if (new := RENAMED.get(value)) in allowed:
            raise refuse(f"{quoted(value)} was renamed", f"write {new}")
        if isinstance(value, str):
            raise refuse(f"{quoted(value)} is not one of the choices", suggest(value, allowed))
        listed = ", ".join(number(choice) for choice in allowed)
        raise refuse(f"{number(value)} is not one of the choices", f"allowed: {listed}")

    return check
