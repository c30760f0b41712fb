"""The configurations and the schema that this distribution ships, from a wheel or a checkout."""

from pathlib import Path

import hilgw

FOLDER = "configs"
SUFFIX = ".yaml"
SCHEMA = "hilgw.schema.json"
HEADER = "# yaml-language-server: $schema="  # of a file, for editors; a path or an address follows


def folder() -> Path | None:
    """Return the folder of the shipped configurations; None if this installation has none."""
    package = Path(hilgw.__file__).parent
    known = (package / FOLDER, package.parent / FOLDER)
    return next((path for path in known if path.is_dir()), None)


def names() -> list[str]:
    """Return the names of the shipped configurations, such as xbee."""
    shipped = folder()
    return [] if shipped is None else sorted(path.stem for path in shipped.glob(f"*{SUFFIX}"))


def found(path: str) -> str:
    """Return `path`, or the shipped configuration of this name if no such file exists.

    The documentation writes a shipped configuration as configs/NAME.yaml, or NAME. NAME next to a
    port of the same name, such as the link of a mock, is still the configuration.
    """
    wanted, shipped = Path(path), folder()
    is_name = wanted.name == path and not wanted.suffix
    if shipped is None or (wanted.is_file() if is_name else wanted.exists()):
        return path
    if is_name:
        wanted = Path(FOLDER, path).with_suffix(SUFFIX)
    file = shipped / wanted.name
    return str(file) if wanted.parent == Path(FOLDER) and file.is_file() else path


def schema() -> Path | None:
    """Return the schema of all kinds of this distribution; None if this installation has none."""
    package = Path(hilgw.__file__).parent
    known = (package / SCHEMA, package.parent / "docs" / SCHEMA)
    return next((path for path in known if path.is_file()), None)


def header(folder: Path) -> str:
    """Return the line of a file in this folder that names its schema.

    `hilgw schema --write` makes the schema in this folder; else it is the one of this installation.
    """
    installed = schema()
    if (folder / SCHEMA).is_file() or installed is None:
        return HEADER + SCHEMA
    path = str(installed)  # editors read up to the first blank
    return HEADER + (path if path.isprintable() and not path.count(" ") else installed.as_uri())
