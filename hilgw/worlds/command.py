"""`hilgw import-world FILE`: prints the configuration that a Webots world file becomes."""

import argparse
import sys

from hilgw.cli.commands.configurations import loading
from hilgw.cli.declaration import Command, Option
from hilgw.errors import ConfigError, printable

COMMANDS = {
    "import-world": Command(
        description="Prints a configuration made of a Webots world file: its robots, their devices "
        "and poses, and its obstacles. Comments name what the file does not show, such as the "
        "nodes in a PROTO, and Webots' replacements of values outside its limits.",
        epilog="example: hilgw import-world arena.wbt > arena.yaml && hilgw check arena.yaml",
        options=(
            Option("file", metavar="FILE", help="a world file (.wbt)"),
            Option(
                "--controllers",
                action="store_true",
                help="write a listening controller also for the robots whose controller Webots "
                "starts",
            ),
            Option(
                "-o", "--output", metavar="FILE", help="write this file instead; it must not exist"
            ),
        ),
    ),
}


def run(args: argparse.Namespace) -> None:
    """Print or write the configuration.

    Raises:
        ConfigError: The world has an error; its position is in `where`.
    """
    text = _imported(args.file, controllers=args.controllers)
    if args.output is None:
        sys.stdout.write(text)
        return
    from pathlib import Path

    from hilgw.cli.output import files

    files.expect_new(Path(args.output), "name another, or delete it")
    files.write(args.output, text)


def _imported(file: str, *, controllers: bool) -> str:
    from hilgw.config.source.document import MAX_VALUES
    from hilgw.config.source.text import MAX_BYTES
    from hilgw.worlds.configuration import ConfigurationLimits, configuration
    from hilgw.worlds.parser import parse

    with loading.without_collection():
        limits = ConfigurationLimits(MAX_BYTES, MAX_VALUES)
        return configuration(parse(_read(file), file), file, limits, controllers=controllers)


def _read(file: str) -> bytes:
    from pathlib import Path

    from hilgw.worlds.parser import MAX_BYTES

    try:
        with Path(file).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"cannot be read: {reason}", where=printable(file), fix="check the path"
        ) from None
