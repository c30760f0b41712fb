"""Checks of the programs that a configuration names: controllers that hilgw starts."""

from __future__ import annotations

from pathlib import Path

from hilgw.config.context import Inspection
from hilgw.config.paths import program_file
from hilgw.config.queries import is_simulated_at, program_of
from hilgw.control.parts import RunsProgram
from hilgw.errors import printable


def check_programs(inspection: Inspection) -> None:
    """Each program is a file that can be read."""
    folder = Path(inspection.document.file).parent
    for path, config in inspection.made("robots", None, "controller"):
        if not isinstance(config.settings, RunsProgram):
            continue
        found = program_file(folder, config.settings.file)
        if not found.is_file():
            inspection.error(
                (*path, "file"),
                f"there is no file {printable(str(found))}",
                "write the path of the program, relative to the configuration",
            )


def check_restarts(inspection: Inspection) -> None:
    """No program moves a real robot again that its lost body did not disarm."""
    for path, robot in inspection.made("robots", None):
        at = (*path, "controller", "restart")
        if program_of(robot.controller) is None:
            continue
        if robot.safety.latch is not False or inspection.get(*at) != "with-body":
            continue
        parts = robot.bodies.items()
        if all(is_simulated_at(inspection, (*path, key), part) for key, part in parts):
            continue
        inspection.error(
            at,
            "with `latch: false` the program would move the real robot again without `hilgw arm`",
            "remove `latch: false` from `safety`, or write `restart: never`",
        )
