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
    NAME beside a port of the same name, such as the link of a mock, is still the configuration.
    """
    wanted, shipped = Path(path), folder()
    is_name = wanted.name == path and not wanted.suffix
    if shipped is None or (wanted.is_file() if is_name else wanted.exists()):
        return path
    if is_name:
        wanted = Path(FOLDER, path).with_suffix(SUFFIX)
    file = shipped / wanted.name
    return str(file) if wanted.parent == Path(FOLDER) and file.is_file() else path
