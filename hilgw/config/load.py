"""Loads a file: a checked configuration, or all its errors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any

from pydantic_core import ValidationError

from hilgw.config import overrides as options, replays
from hilgw.config.checks.check import check
from hilgw.config.context import Context, Inspection
from hilgw.config.model import VERSION, GatewayConfig
from hilgw.config.paths import in_folder
from hilgw.config.replays import ReplayOptions
from hilgw.config.schema.file import file_validator
from hilgw.config.source.document import Document, compose
from hilgw.config.source.text import ConfigErrors, Diagnostic, Position, check_text, read_text

Check = Callable[[Inspection], None]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration, its warnings, the plain data it was made from, and the text of its file."""

    config: GatewayConfig
    warnings: list[Diagnostic]
    data: dict[str, Any]
    text: str


def load_config(
    path: str,
    overrides: Sequence[str] = (),
    backend: str | None = None,
    speed: str | None = None,
    replay: ReplayOptions | None = None,
    more: Check | None = None,
) -> Loaded:
    """Read and check a file.

    Args:
        path: The file.
        overrides: `KEY.KEY=VALUE` each; they replace values of the file.
        backend: Replaces this key.
        speed: Replaces this key.
        replay: The options of `--replay`.
        more: Checks that need other parts of hilgw.

    Raises:
        ConfigErrors: all errors of the file.
    """
    return load_text(read_text(path), path, overrides, backend, speed, replay, more)


def load_text(
    text: str,
    file: str,
    overrides: Sequence[str] = (),
    backend: str | None = None,
    speed: str | None = None,
    replay: ReplayOptions | None = None,
    more: Check | None = None,
) -> Loaded:
    """Check text that was read already, see load_config; `file` is its name in errors."""
    if text.startswith("#VRML_SIM"):
        fix = "`hilgw import-world` makes a configuration of it"
        start = Position(file, 1, 1)
        raise ConfigErrors([Diagnostic.at(start, (), "the file is a world of Webots", fix)])
    check_text(text, file)
    document = compose(text, file)
    if document.syntax or _is_newer(document):
        raise ConfigErrors(in_order(document.problems))
    if isinstance(document.data, dict):
        options.apply(document, overrides)
        if backend is not None:
            options.put(document, ("backend",), backend, Position(f"--backend {backend}"))
        if speed is not None:
            options.put(document, ("speed",), _number(speed), Position(f"--speed {speed}"))
        if replay is not None:
            replays.apply(document, replay)
    context = Context()
    config = _validate(document, context)
    warnings = check(document, context)
    if more is not None:
        more(Inspection(document, context))
    if document.problems or config is None:
        raise ConfigErrors(in_order(document.problems), in_order(warnings))
    config = replays.disarmed(in_folder(config, FilePath(file).parent))
    return Loaded(config, in_order(warnings), document.data, text)


def recorded(head: Mapping[str, Any]) -> GatewayConfig:
    """Return the configuration in the head of a recording, with its `--set`.

    Files that it names are not opened: they may be on another machine.

    Raises:
      ConfigErrors: this version does not read the configuration.
    """
    text, file = str(head.get("configuration", "")), str(head.get("config", ""))
    check_text(text, file)
    document, config = compose(text, file), None
    if isinstance(document.data, dict) and not document.syntax:
        options.apply(document, given(head))
        config = _validate(document, Context())
    if config is None or document.problems:
        raise ConfigErrors(in_order(document.problems))
    return config


def given(head: Mapping[str, Any]) -> list[str]:
    """Return the values of `--set` in the run with this head of a recording."""
    words = [str(each) for each in head.get("arguments") or ()]
    values = [value for option, value in pairwise(words) if option == "--set"]
    return values + [word[len("--set=") :] for word in words if word.startswith("--set=")]


def _is_newer(document: Document) -> bool:
    data = document.data
    version = data.get("version") if isinstance(data, dict) else None
    if type(version) is not int or version <= VERSION:
        return False
    document.report(
        document.position_of_value(("version",)),
        ("version",),
        f"{version} is newer than this hilgw, which reads version {VERSION}",
        "upgrade: pip install --upgrade hilgw",
    )
    return True


def _validate(document: Document, context: Context) -> GatewayConfig | None:
    try:
        config: GatewayConfig = file_validator().validate_python(document.data, context=context)
    except ValidationError as error:
        from hilgw.config.diagnose import diagnose  # for wrong files only

        document.problems += diagnose(error, document, context)
        return None
    return config


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Sort by position, the file before the options."""
    return sorted(diagnostics, key=lambda item: (not item.line, item.line, item.column))
