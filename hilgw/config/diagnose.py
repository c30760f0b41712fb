"""Translates pydantic's errors into diagnostics."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import ErrorDetails, ValidationError

from hilgw.config.context import Context
from hilgw.config.schema.models import CHOICE
from hilgw.config.source.document import Document
from hilgw.config.source.syntax import NO_COLON, without_space
from hilgw.config.source.text import Diagnostic, Path, descend
from hilgw.devices.properties import NOT_CARRIED
from hilgw.errors import quoted, suggest

MAX_ERRORS = 1000
RENAMED: Mapping[Any, str] = {"failsafe": "safety", "loop": "closed"}  # keys of earlier versions

# Words for a key or a kind that people type, where no spelling leads to ours.
_MEANT: Mapping[Any, str | tuple[str, ...]] = {
    "translation": "position",
    "orientation": "rotation",
    "speed": "baudRate",
    "rate": "baudRate",
    "bitrate": "baudRate",
    "device": "port",
    "protocol": "framing",
    # A board is hardware, a body, or the firmware that controls a simulated body.
    **dict.fromkeys(("serial", "arduino", "esp32", "rs232", "rs485"), ("uart", "text", "wc2ec")),
    "usb": "uart",
    **dict.fromkeys(("c++", "cpp", "c", "java", "matlab", "ros", "extern", "<extern>"), "webots"),
    **dict.fromkeys(("zigbee", "digimesh"), "xbee"),
    "lora": "rylr998",
}

_NUMERIC = re.compile(r"-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,18})?", re.ASCII)
_GROUPED = re.compile(r"-?[1-9][0-9]{0,2}([ ,'][0-9]{3}){1,5}", re.ASCII)  # 115,200
_WITH_UNIT = re.compile(r"-?[0-9][0-9.]{0,18} ?[A-Za-z/%\u00b0\u00b5][\w/]{0,11}")  # 9600 baud

_NUMBERS = re.compile(  # a position: 1, 2, 3
    r"[(\[ ]*-?[0-9.]{1,18}([ ,;]+-?[0-9.]{1,18}){1,8}[)\] ]*", re.ASCII
)
_NO_LIST = "write `key: value` in each line, without '-' and [ ]"

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
}


@dataclass(frozen=True, slots=True)
class _Error:
    """An error of pydantic: its path, the value, the details of its type.

    is_key: the path is that of the key itself. word: the key or value as typed, if it is not text.
    parent: the mapping or list.
    """

    kind: str
    path: Path
    is_key: bool
    value: Any
    extra: Mapping[str, Any]
    word: str | None
    parent: Any
    context: Context

    @property
    def is_missing(self) -> bool:
        no_key = (
            isinstance(self.parent, dict) and self.path[-1:] and self.path[-1] not in self.parent
        )
        return self.kind == "missing" or (self.kind in ("hilgw", "hilgw_union") and bool(no_key))

    @property
    def is_on_key(self) -> bool:
        return self.is_key or self.is_missing or self.kind == "extra_forbidden"


def diagnose(error: ValidationError, document: Document, context: Context) -> list[Diagnostic]:
    """Return one diagnostic per error, except for values whose errors were reported already."""
    diagnostics: list[tuple[Path, Diagnostic]] = []
    for details in error.errors(include_url=False)[:MAX_ERRORS]:
        path, is_key = locate(details)
        word = (document.key_words if is_key else document.words).get(path)
        parent, extra = descend(document.data, path[:-1]), details.get("ctx", {})
        one = _Error(details["type"], path, is_key, details["input"], extra, word, parent, context)
        if document.is_bad(path) or (one.is_missing and path[:-1] in document.partial):
            continue
        position = (document.position_of_key if one.is_on_key else document.position_of_value)(path)
        problem, fix = _WORDS.get(one.kind, _other)(one)
        diagnostics.append((path, Diagnostic.at(position, path, problem, fix)))
    # A key that is missing because it is mistyped is one error.
    mistyped = {
        (path[:-1], item.fix) for path, item in diagnostics if item.message == "unknown key"
    }
    return [
        item
        for path, item in diagnostics
        if item.message != "missing" or (path[:-1], _did_you_mean(path[-1])) not in mistyped
    ]


def _did_you_mean(name: object) -> str:
    return f"did you mean {quoted(str(name))}?"


def locate(details: ErrorDetails) -> tuple[Path, bool]:
    """Return the path of a pydantic error, and whether the error is that of the key itself.

    An error of a union with a tag is at the tag.
    """
    path = tuple(part for part in details["loc"] if not str(part).startswith(CHOICE))
    if details["type"] == "hilgw_union" and isinstance(details["input"], dict):
        path += (details["ctx"]["tag"],)
    if path[-1:] == ("[key]",):
        return path[:-1], True
    return path, details["type"] == "invalid_key"


def _union(error: _Error) -> tuple[str, str]:
    tag, names = error.extra["tag"], list(error.extra["names"]())
    offer = f"write `{tag}: " + " | ".join(names[:24] or ["NAME"]) + "`"
    if isinstance(error.value, dict):
        if tag not in error.value:
            return "missing", offer
        name = error.value[tag]
        if not isinstance(name, str):
            return "must be text", offer
        if (meant := _meant(name.lower(), names)) is not None:
            return f"unknown {tag} {quoted(name)}", _did_you_mean(meant)
        return f"unknown {tag} {quoted(name)}", suggest(name, names)
    if error.extra["wanted"]:
        return _mistyped(error.extra["wanted"], error.extra["text"], error.value, error.word)
    if isinstance(error.value, str) and (fix := without_space(error.value)):
        return NO_COLON[0], fix
    problem = f"must be a mapping with the key {quoted(tag)}"
    if isinstance(error.value, list):
        return f"{problem}, not a list", _NO_LIST
    if error.value in names:
        return problem, f"write `{{{tag}: {error.value}}}`"
    return problem, offer


def _meant(word: Any, known: Iterable[Any]) -> str | None:
    meant = _MEANT.get(word, ())
    names = (meant,) if isinstance(meant, str) else meant
    return next((name for name in names if name in known), None)


def _unknown_key(error: _Error) -> tuple[str, str]:
    keys = error.context.keys(error.parent)
    if (new := RENAMED.get(error.path[-1])) in keys:
        return "this key was renamed", f"write {new}"
    key = str(error.path[-1])
    if key.partition(":")[0] in keys and (fix := without_space(key)):
        return NO_COLON[0], fix
    if key == "supervisor" and error.path[0] == "robots" and len(error.path) == 3:
        return NOT_CARRIED[
            "Supervisor"
        ], "delete it, or let Webots carry them: controller kind webots_proxy"
    if (meant := _meant(error.path[-1], keys)) is not None:
        return "unknown key", _did_you_mean(meant)
    return "unknown key", suggest(error.path[-1], keys)


def _type(error: _Error) -> tuple[str, str]:
    wanted = _WANTED[error.kind]
    if not error.path:
        return f"must be {wanted}, not {kind_of(error.value)}", "begin with `version: 1`"
    return _mistyped(wanted, wanted == "text", error.value, error.word)


def _other(error: _Error) -> tuple[str, str]:
    return f"is not valid: {error.kind}"[:120], "see docs/config.md"


_WORDS: Mapping[str, Callable[[_Error], tuple[str, str]]] = {
    "hilgw": lambda error: (error.extra["what"], error.extra["fix"]),
    "hilgw_union": _union,
    "missing": lambda error: ("missing", error.context.advice(error.parent, str(error.path[-1]))),
    "extra_forbidden": _unknown_key,
    "finite_number": lambda error: ("must be a finite number", "write a number"),
    "literal_error": lambda error: (f"must be {error.extra['expected']}", "write that"),
    **dict.fromkeys(_WANTED, _type),
}


def _mistyped(wanted: str, text_would_do: bool, value: Any, word: str | None) -> tuple[str, str]:
    problem = f"must be {wanted}, not {kind_of(value)}"
    if value is None:
        return problem, "write a value, or delete the key"
    if "mapping" in wanted and isinstance(value, str) and (fix := without_space(value)):
        return NO_COLON[0], fix
    if "mapping" in wanted and isinstance(value, list):
        return problem, _NO_LIST
    if "list" in wanted and isinstance(value, str) and _NUMBERS.fullmatch(value):
        return problem, f"write [{', '.join(re.split('[ ,;]+', value.strip('()[] ')))}]"
    if text_would_do and isinstance(value, dict) and list(value.values()) == [None]:
        return problem, f"put a text with braces in quotes: '{{{next(iter(value))!s:.40}}}'"
    if text_would_do and isinstance(value, bool | int | float):
        typed = word if word is not None else str(value)
        return problem, f'put it in quotes: "{typed}"'
    if "number" in wanted and (fix := _as_number(value)):
        return problem, fix
    return problem, f"write {wanted}"


def _as_number(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"write it without a decimal point: {value:.0f}"
    if not isinstance(value, str):
        return ""
    if _NUMERIC.fullmatch(value):
        return f"write it without quotes: {value}"
    if _GROUPED.fullmatch(value):
        return "write the digits only: " + re.sub("[ ,']", "", value)
    if _WITH_UNIT.fullmatch(value):
        return "write the number alone, all digits and no unit"
    return ""


def kind_of(value: Any) -> str:
    """Return the type of a value in words, with its value if that is short."""
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
