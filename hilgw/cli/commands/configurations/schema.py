"""`hilgw schema`: the JSON Schema of a configuration file, printed or next to a file."""

import argparse
import json
import sys
from pathlib import Path

from hilgw.cli.declaration import Command, Option
from hilgw.config.shipped import HEADER, SCHEMA
from hilgw.errors import HilgwError, UsageError, printable

COMMANDS = {
    "schema": Command(
        description="Prints the JSON Schema of a configuration file, with every installed kind.\n"
        "Editors complete and check files with it, if this is the first line of the file:\n"
        f"  {HEADER}{SCHEMA}",
        epilog="example: hilgw schema --write my.yaml",
        options=(
            Option(
                "--write",
                metavar="FILE",
                nargs="?",
                const="",
                help=f"write {SCHEMA} next to this configuration; without FILE in this folder",
            ),
        ),
    ),
}


def run(args: argparse.Namespace) -> None:
    """Print or write the schema, with an error for each kind that does not load.

    Raises UsageError when the configuration does not exist, HilgwError when the schema cannot be
    written.
    """
    from hilgw.config.schema.file import broken_kinds, json_schema

    file = None if args.write is None else _configuration(args.write)
    for error in broken_kinds():
        sys.stderr.write(f"hilgw: {error}\n")
    text = json.dumps(json_schema(), indent=2) + "\n"
    if file is None:
        sys.stdout.write(text)
        return
    from hilgw.cli.output.files import write_schema

    target = file / SCHEMA if file.is_dir() else file.with_name(SCHEMA)
    write_schema(str(target), text)
    print(f"wrote {printable(str(target))}")
    if file.is_dir() or _first_line(file) != HEADER + SCHEMA:
        name = "a configuration" if file.is_dir() else printable(str(file))
        print(f"editors find it by the first line of {name}:\n  {HEADER}{SCHEMA}")


def _configuration(path: str) -> Path:
    file = Path(path)
    if not file.exists():
        raise UsageError(f"{printable(path)} does not exist", fix="name a configuration")
    return file


def _first_line(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", errors="replace") as stream:
            return stream.readline(1000).strip()
    except OSError as error:
        raise HilgwError(f"cannot read: {error.strerror}", where=printable(str(file))) from None
