"""Translates pydantic's errors into diagnostics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from hilgw.config.context import Context
from hilgw.config.source.document import Document
from hilgw.config.source.positions import Diagnostic, Path, descend
from hilgw.errors import quoted, suggest

MAX_ERRORS = 1000
RENAMED: Mapping[Any, str] = {"failsafe": "safety", "loop": "closed"}  # keys of earlier versions

_NUMERIC = re.compile(r"-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,18})?", re.ASCII)

_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "invalid_key": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def diagnose(error: ValidationError, document: Document, context: Context) -> list[Diagnostic]:
    """One diagnostic per error, except for values whose errors were reported already."""
    found = []
    for details in error.errors(include_url=False)[:MAX_ERRORS]:
        path, is_key = _path(details["loc"])
        kind = details["type"]
        missing = kind == "missing" or (kind == "hilgw" and not _exists(document.data, path))
        if document.is_bad(path) or (missing and path[:-1] in document.partial):
            continue
        is_key = is_key or kind == "invalid_key"
        on_key = is_key or missing or kind == "extra_forbidden"
        position = document.position_of_key(path) if on_key else document.position_of_value(path)
        word = (document.key_words if is_key else document.words).get(path)
        what, fix = _words(details, path, word, document, context)
        found.append(Diagnostic.at(position, path, what, fix))
    return found


def _path(location: Iterable[Any]) -> tuple[Path, bool]:
    """The path of a pydantic location, and whether it is the key itself."""
    parts = tuple(location)
    if parts and parts[-1] == "[key]":
        return parts[:-1], True
    return parts, False


def _exists(data: Any, path: Path) -> bool:
    parent = descend(data, path[:-1])
    return not isinstance(parent, dict) or not path or path[-1] in parent


def _words(
    details: Mapping[str, Any],
    path: Path,
    word: str | None,
    document: Document,
    context: Context,
) -> tuple[str, str]:
    kind, value = details["type"], details["input"]
    extra = details.get("ctx", {})
    if kind == "hilgw":
        return extra["what"], extra["fix"]
    if kind == "hilgw_type":
        return _mistyped(extra["wanted"], extra["text"], value, word)
    if kind in _WANTED:
        is_text = _WANTED[kind] == "text"
        return _mistyped(_WANTED[kind], is_text, value, word)
    if kind == "missing":
        return "missing", context.advice(descend(document.data, path[:-1]), str(path[-1]))
    if kind == "extra_forbidden":
        keys = context.keys(descend(document.data, path[:-1]))
        if (new := RENAMED.get(path[-1])) in keys:
            return "this key was renamed", f"write {new}"
        return "unknown key", suggest(path[-1], keys)
    if kind == "finite_number":
        return "must be a finite number", "write a number"
    if kind == "literal_error":
        return f"must be {extra.get('expected', 'another value')}", "write that"
    return str(details["msg"])[:120], "see docs/config.md"


def _mistyped(wanted: str, text_would_do: bool, value: Any, word: str | None) -> tuple[str, str]:
    what = f"must be {wanted}, not {kind_of(value)}"
    if value is None:
        return what, "write a value, or delete the key"
    if text_would_do and isinstance(value, bool | int | float):
        typed = word if word is not None else str(value)
        return what, f'put it in quotes: "{typed}"'
    if "number" in wanted and isinstance(value, str) and _NUMERIC.fullmatch(value):
        return what, f"write it without quotes: {value}"
    return what, f"write {wanted}"


def kind_of(value: Any) -> str:
    """The type of a value in words, with its value where that is short."""
    words: list[tuple[Callable[[Any], bool], str]] = [
        (lambda item: item is None, "nothing"),
        (lambda item: item is True, "true"),
        (lambda item: item is False, "false"),
        (lambda item: isinstance(item, int | float), f"the number {value!r:.40}"),
        (lambda item: isinstance(item, dict), "a mapping"),
        (lambda item: isinstance(item, list), "a list"),
        (lambda item: isinstance(item, str), f"the text {quoted(str(value)[:80])}"),
    ]
    return next((text for fits, text in words if fits(value)), "this")
