"""Checks of the files that a configuration names, and of the group of its control socket."""

import grp
from pathlib import Path as FilePath
from typing import Any

from hilgw.config.context import Inspection
from hilgw.config.paths import ZENOH_FILES
from hilgw.config.source.positions import Path
from hilgw.errors import quoted

FILES = {"folder", "file", "recording", "path", "certificate", "key", "clients"}


def check_named_files(inspection: Inspection) -> None:
    """Report names that no file can have, and what is there but is not a file, or not a folder."""
    folder = FilePath(inspection.document.file).parent
    waiting: list[tuple[Path, Any]] = [((), inspection.document.data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict | list):
            named = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*path, key), each) for key, each in named]
        elif (
            isinstance(value, str)
            and path
            and (path[-1] in FILES or str(path[-1]).endswith(ZENOH_FILES))
        ):
            kind = "folder" if path[-1] == "folder" else "file"
            if problem := _problem(folder / value, kind):
                inspection.error(path, problem, f"name a {kind}")


def _problem(place: FilePath, kind: str) -> str:
    if "\0" in str(place):
        return "a name of a file has no NUL"
    try:
        is_one = place.is_dir() if kind == "folder" else place.is_file()
        return f"this is not a {kind}" if place.exists() and not is_one else ""
    except OSError as error:
        return f"this is not a name of a file: {error.strerror}"


def check_group(inspection: Inspection) -> None:
    """Warn about a group that this machine does not have: the file may be for another one."""
    group = inspection.get("control", "group")
    if isinstance(group, str):
        try:
            grp.getgrnam(group)
        except (KeyError, ValueError):
            inspection.warn(
                ("control", "group"),
                f"there is no group {quoted(group)} here",
                "name a group of this machine, as `getent group` lists them",
            )
