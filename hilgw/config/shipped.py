"""The configurations that this distribution ships, from a wheel or a checkout."""

from __future__ import annotations

from pathlib import Path

import hilgw

FOLDER = "configs"
SUFFIX = ".yaml"


def folder() -> Path | None:
    """The folder of the shipped configurations; None: this installation has none."""
    package = Path(hilgw.__file__).parent
    known = (package / FOLDER, package.parent / FOLDER)
    return next((path for path in known if path.is_dir()), None)


def names() -> list[str]:
    """The names of the shipped configurations, such as xbee."""
    shipped = folder()
    return [] if shipped is None else sorted(path.stem for path in shipped.glob(f"*{SUFFIX}"))


def found(path: str) -> str:
    """`path`, or the shipped configuration of this name where no such file exists.

    A shipped configuration has the name that the documentation writes, configs/NAME.yaml, or NAME.
    """
    wanted, shipped = Path(path), folder()
    if wanted.exists() or shipped is None:
        return path
    if wanted.name == path and not wanted.suffix:
        wanted = Path(FOLDER, path).with_suffix(SUFFIX)
    file = shipped / wanted.name
    return str(file) if wanted.parent == Path(FOLDER) and file.is_file() else path
