"""Parts that are recordings: the options that make them, their checks, and their safety."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from hilgw import plugins
from hilgw.config.context import Context, Inspection
from hilgw.config.model import Backend, GatewayConfig
from hilgw.config.overrides import put
from hilgw.config.queries import BODY_KEYS, is_mocked, part_name
from hilgw.config.source.document import Document
from hilgw.config.source.text import Diagnostic, Path, Position
from hilgw.controllers.base import Role
from hilgw.errors import HilgwError, quoted, suggest
from hilgw.records import record

PARTS = (("adapters", None), *(("robots", None, key) for key in ("controller", *BODY_KEYS)))


@record
class ReplayOptions:
    """The options of `--replay`.

    file: the recording. only: the parts that it replaces; none: all, and mocks in this process
    replace those that are not in it. settings: the settings of each part.
    """

    file: str
    only: tuple[str, ...] = ()
    settings: Mapping[str, Any] | None = None


def apply(document: Document, options: ReplayOptions) -> None:
    """Replace parts by the recording; add errors to the document's problems."""
    position, only = Position(f"--replay {options.file}"), options.only
    parts = {part_name(path): path for path in _replayable(Inspection(document, Context()))}
    recorded, error = _lines_of(FilePath(options.file))
    problems = [(error, "")] if error else []
    problems += [
        (f"there is no part {quoted(p)}", suggest(p, parts)) for p in only if p not in parts
    ]
    if recorded and not only and parts.keys().isdisjoint(recorded):
        names = ", ".join(map(quoted, recorded))
        problems.append((f"the recording has no part of this configuration, but {names}", ""))
    document.problems += [Diagnostic.at(position, (), what, fix) for what, fix in problems]
    if not only:
        put(document, ("backend",), Backend.LOOPBACK.value, position)
    if isinstance(real := document.data.get("real"), list):
        put(document, ("real",), [name for name in real if only and name not in only], position)
    values = {"backend": Backend.REPLAY.value, "recording": options.file} | dict(
        options.settings or {}
    )
    for name, path in parts.items():
        is_chosen = name in (only or recorded)
        for key, value in values.items() if is_chosen else ():
            put(document, (*path, key), value, position)
        if not only and not is_chosen:
            put(document, (*path, "backend"), Backend.LOOPBACK.value, position)


def _replayable(inspection: Inspection) -> Iterator[Path]:
    for pattern in PARTS:
        for path, part in inspection.each(*pattern):
            if path[-1] != "controller" or len(path) == 2 or _is_peer(part.get("kind")):
                yield path


def _is_peer(kind: Any) -> bool:
    known = type(kind) is str and plugins.has(plugins.CONTROLLERS, kind)
    return known and plugins.load(plugins.CONTROLLERS, kind).role in (Role.PEER, Role.STEPPED)


def _lines_of(file: FilePath) -> tuple[Mapping[str, Any], str]:
    from hilgw.record.script import scripts_of  # for replays only

    try:
        if file.exists() and not file.is_file():
            return {}, "this is not a file"
        return scripts_of(file), ""
    except (OSError, ValueError) as error:
        return {}, f"this is not a name of a file: {error}"
    except HilgwError as error:
        return {}, error.what


def check_replays(inspection: Inspection) -> None:
    """Check that each replayed part is in its recording, and moves no real robot unasked."""
    replayed = [(path, part) for each in PARTS for path, part in inspection.made(*each)]
    for path, part in replayed:
        if part.backend is not Backend.REPLAY:
            continue
        if path[-1] == "controller" and len(path) > 2:
            _check_controller(inspection, path, part.kind)
        if part.own.recording is None:
            fix = "write `recording: run.pcapng`, or use --replay FILE"
            inspection.error((*path, "backend"), "there is no recording to replay", fix)
            continue
        file = FilePath(inspection.document.file).parent / part.own.recording
        recorded, error = _lines_of(file)
        fix = "name a file that `hilgw show` reads" if error else ""
        if not error and part_name(path) not in recorded:
            error = f"the recording has no line of {quoted(part_name(path))}"
            fix = inspection.suggest(part_name(path), recorded)
        if error:
            inspection.error((*path, "recording"), error, fix)


def _check_controller(inspection: Inspection, path: Path, kind: str) -> None:
    backend_path, real = (*path, "backend"), inspection.get("real")
    if not _is_peer(kind):
        inspection.error(
            backend_path,
            f"a controller of kind {kind} is not replayed: its bytes are between it and Webots",
            "delete it; its body can be replayed",
        )
    for key in BODY_KEYS:
        body = part_name((*path[:-1], key))
        has_body = isinstance(inspection.get(*path[:-1], key), dict)
        named = isinstance(real, list) and body in real
        if has_body and not named and not is_mocked(inspection, body):
            inspection.error(
                backend_path,
                f"a recording would command the real body {quoted(body)}",
                f"write `real: [{body}]` if it may, or replay the body, too",
            )


def disarmed(config: GatewayConfig) -> GatewayConfig:
    """Return the configuration without armed robots whose real body a recording commands."""
    robots = {
        name: replace(robot, safety=replace(robot.safety, armed=False))
        for name, robot in config.robots.items()
        if robot.controller is not None
        and robot.controller.backend is Backend.REPLAY
        and not all(is_mocked(config, f"{name}.{key}") for key in robot.bodies)
    }
    return replace(config, robots=config.robots | robots)
