"""Checks of the files that a configuration names, and of the group of its control socket."""

from __future__ import annotations

import grp
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from hilgw.config.context import Inspection
from hilgw.config.paths import ZENOH_FILES
from hilgw.config.source.positions import Path
from hilgw.errors import quoted

FILES = {"folder", "file", "recording", "path", "certificate", "key", "clients"}


def check_named_files(inspection: Inspection) -> None:
    """Report names that no file can have, and pipes and devices, which never end."""
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
            inspection.errors(
                path, [("", what, "name a file") for what in _problems(folder, value)]
            )


def _problems(folder: FilePath, name: str) -> Iterator[str]:
    place = folder / name
    if "\0" in name:
        yield "a name of a file has no NUL"
        return
    try:
        if place.exists() and not (place.is_file() or place.is_dir()):
            yield "this is not a file"
    except OSError as error:
        yield f"this is not a name of a file: {error.strerror}"


def check_group(inspection: Inspection) -> None:
    """Warn about a group that this machine does not have: the file may be for another one."""
    group = inspection.get("control", "group")
    if isinstance(group, str):
        try:
            grp.getgrnam(group)
        except (KeyError, ValueError):
            fix = "name a group of this machine, as `getent group` lists them"
            inspection.warn(("control", "group"), f"there is no group {quoted(group)} here", fix)
