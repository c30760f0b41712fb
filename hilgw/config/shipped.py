"""The configurations that this distribution ships, from a wheel or a checkout."""

from __future__ import annotations

from pathlib import Path

import hilgw

FOLDER = "configs"


def folder() -> Path | None:
    """The folder of the shipped configurations; None: this installation has none."""
    package = Path(hilgw.__file__).parent
    known = (package / FOLDER, package.parent / FOLDER)
    return next((path for path in known if path.is_dir()), None)


def found(path: str) -> str:
    """`path`, or the shipped configuration of this name where no such file exists.

    Only configs/NAME.yaml, as the documentation writes it, names a shipped configuration.
    """
    wanted, shipped = Path(path), folder()
    if wanted.exists() or wanted.parent != Path(FOLDER) or shipped is None:
        return path
    file = shipped / wanted.name
    return str(file) if file.is_file() else path
