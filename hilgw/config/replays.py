"""Parts that are recordings: the options that make them, their checks, and their safety."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from hilgw import plugins
from hilgw.config.context import Inspection
from hilgw.config.model import Backend, GatewayConfig
from hilgw.config.overrides import put
from hilgw.config.queries import BODY_KEYS, is_mocked, part_name
from hilgw.config.source.document import Document
from hilgw.config.source.positions import Diagnostic, Path, Position
from hilgw.controllers.base import Role
from hilgw.errors import HilgwError, quoted, suggest
from hilgw.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hilgw.record.script import Script

PARTS = (("adapters", None), *(("robots", None, key) for key in ("controller", *BODY_KEYS)))


@record
class ReplayOptions:
    """file: of `--replay`. only: the parts that it stands for; none: all, and mocks in this process
    for those that are not in it."""

    file: str
    only: tuple[str, ...] = ()
    from_s: float = 0.0
    on_departure: str = "report"


def apply(document: Document, options: ReplayOptions) -> None:
    """Puts the recording in the place of parts; errors are added to the document's problems."""
    position = Position(f"--replay {options.file}")
    parts = dict(_replayable(document.data))
    recorded = _recorded(options.file)
    if isinstance(recorded, HilgwError):
        document.problems.append(Diagnostic.at(position, (), recorded.what, recorded.fix))
        return
    for name in options.only:
        if name not in parts:
            what, fix = f"--only: there is no part {quoted(name)} to replay", suggest(name, parts)
            document.problems.append(Diagnostic.at(position, (), what, fix))
    if not options.only:
        put(document, ("backend",), Backend.LOOPBACK.value, position)
    real = document.data.get("real")
    if isinstance(real, list):
        kept = [name for name in real if options.only and name not in options.only]
        put(document, ("real",), kept, position)
    for name, path in parts.items():
        if name in (options.only or recorded):
            put(document, (*path, "backend"), Backend.REPLAY.value, position)
            put(document, (*path, "recording"), options.file, position)
            put(document, (*path, "from_s"), options.from_s, position)
            put(document, (*path, "on_departure"), options.on_departure, position)
        elif not options.only:
            put(document, (*path, "backend"), Backend.LOOPBACK.value, position)


def _replayable(data: Any) -> Iterator[tuple[str, Path]]:
    """The parts of this data that have a port which hilgw opens, with their paths."""
    for pattern in PARTS:
        for path, part in _walk(data, (), pattern):
            if path[-1] != "controller" or len(path) == 2 or _is_peer(part.get("kind")):
                yield part_name(path), path


def _walk(data: Any, path: Path, pattern: tuple[str | None, ...]) -> Iterator[tuple[Path, Any]]:
    if not isinstance(data, dict):
        return
    if not pattern:
        yield path, data
        return
    for key in list(data) if pattern[0] is None else [pattern[0]]:
        yield from _walk(data.get(key), (*path, key), pattern[1:])


def _is_peer(kind: Any) -> bool:
    """Whether all that this kind of controller sends is in a recording."""
    known = type(kind) is str and plugins.has(plugins.CONTROLLERS, kind)
    return known and plugins.load(plugins.CONTROLLERS, kind).role is Role.PEER


def _recorded(file: str) -> Mapping[str, Script] | HilgwError:
    from hilgw.record.script import scripts_of  # for replays only

    try:
        return scripts_of(FilePath(file))
    except HilgwError as error:
        return error


# --- checks ---------------------------------------------------------------------------------------


def check_replays(inspection: Inspection) -> None:
    """Each part with the back end replay is in its recording, and moves no real robot unasked."""
    folder = FilePath(inspection.document.file).parent
    for pattern in PARTS:
        for path, part in inspection.made(*pattern):
            if part.backend is not Backend.REPLAY:
                continue
            if path[-1] == "controller":
                _check_controller(inspection, path, part)
            if part.own.recording is None:
                fix = "write `recording: run.pcapng`, or use --replay FILE"
                inspection.error((*path, "backend"), "there is no recording to replay", fix)
                continue
            _check_recording(inspection, path, str(folder / part.own.recording))


def _check_recording(inspection: Inspection, path: Path, file: str) -> None:
    name, at = part_name(path), (*path, "recording")
    recorded = _recorded(file)
    if isinstance(recorded, HilgwError):
        inspection.error(at, recorded.what, recorded.fix or "name a file that `hilgw show` reads")
    elif name not in recorded:
        fix = inspection.suggest(name, recorded)
        inspection.error(at, f"the recording has no line of {quoted(name)}", fix)


def _check_controller(inspection: Inspection, path: Path, part: Any) -> None:
    at = (*path, "backend")
    if not _is_peer(part.kind):
        what = f"a controller of kind {part.kind} is not replayed: its steps are those of its peer"
        inspection.error(at, what, "delete it; its body can be replayed")
    real = inspection.get("real")
    for key in BODY_KEYS:
        body = (*path[:-1], key)
        if not isinstance(inspection.get(*body), dict) or is_mocked(inspection, part_name(body)):
            continue
        if not isinstance(real, list) or part_name(body) not in real:
            what = f"a recording would command the real body {quoted(part_name(body))}"
            fix = f"write `real: [{part_name(body)}]` if it may, or replay the body, too"
            inspection.error(at, what, fix)


# --- safety ---------------------------------------------------------------------------------------


def disarmed(config: GatewayConfig) -> GatewayConfig:
    """The same, where no robot is armed at the start whose real body a recording commands."""
    robots = {
        name: replace(robot, safety=replace(robot.safety, armed=False))
        for name, robot in config.robots.items()
        if robot.controller is not None
        and robot.controller.backend is Backend.REPLAY
        and not all(is_mocked(config, f"{name}.{key}") for key in robot.bodies)
    }
    return replace(config, robots=config.robots | robots)
