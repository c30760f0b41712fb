"""The programs that a configuration names: controllers that hilgw starts."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from hilgw import plugins
from hilgw.config import shipped
from hilgw.config.backends import is_simulated, is_simulated_at
from hilgw.config.checks.modes import BODY_KEYS
from hilgw.config.context import Inspection
from hilgw.config.model import GatewayConfig, PartConfig
from hilgw.controllers.base import ProgramController
from hilgw.errors import printable


def check_programs(inspection: Inspection) -> None:
    """Each program is a file that can be read."""
    folder = Path(inspection.document.file).parent
    for path, config in inspection.made("robots", None, "controller"):
        if not _is_program(config):
            continue
        found = _found(folder, config.settings.file)
        if not found.is_file():
            inspection.error(
                (*path, "file"),
                f"there is no file {printable(str(found))}",
                "write the path of the program, relative to the configuration",
            )


def check_restarts(inspection: Inspection) -> None:
    """No program is told to move a real robot again that its lost body did not disarm."""
    for path, robot in inspection.made("robots", None):
        at = (*path, "controller", "restart")
        if robot.controller is None or not _is_program(robot.controller):
            continue
        if robot.safety.latch is not False or inspection.get(*at) != "with-body":
            continue
        parts = [((*path, key), getattr(robot, key)) for key in BODY_KEYS]
        if not any(part and not is_simulated_at(inspection, where, part) for where, part in parts):
            continue
        inspection.error(
            at,
            "with `latch: false` the program would move the real robot again without `hilgw arm`",
            "remove `latch: false` from `safety`, or write `restart: never`",
        )


def moves_unlatched(config: GatewayConfig, name: str) -> bool:
    """Whether a body of this robot is real, and its loss does not disarm it."""
    robot = config.robots[name]
    bodies = [key for key in BODY_KEYS if getattr(robot, key) is not None]
    simulated = all(is_simulated(config, name, key) for key in bodies)
    return robot.safety.latch is False and not simulated


def programs_in_folder(config: GatewayConfig, folder: Path) -> GatewayConfig:
    """The configuration with its programs relative to `folder`, not to the file."""
    robots = dict(config.robots)
    for name, robot in robots.items():
        part = robot.controller
        if part is not None and _is_program(part):
            settings: Any = part.settings
            file = str(_found(folder, settings.file))
            part = dataclasses.replace(part, settings=dataclasses.replace(settings, file=file))
            robots[name] = dataclasses.replace(robot, controller=part)
    return dataclasses.replace(config, robots=robots)


def _is_program(part: PartConfig) -> bool:
    return plugins.conforms(plugins.load(plugins.CONTROLLERS, part.kind), ProgramController)


def _found(folder: Path, file: str) -> Path:
    """Beside the configuration; else the shipped program of this name, which a copy of a shipped
    configuration names."""
    beside, of_hilgw = folder / file, shipped.folder()
    if not beside.exists() and of_hilgw is not None and Path(file).name == file:
        known = of_hilgw / file
        return known if known.is_file() else beside
    return beside
