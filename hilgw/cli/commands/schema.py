"""`hilgw schema`: the JSON Schema of a configuration file."""

from __future__ import annotations

import argparse
import json
import sys


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "schema",
        description="Prints the JSON Schema of a configuration file, with every installed kind.\n"
        "Editors complete and check files with it: put the line\n"
        "  # yaml-language-server: $schema=hilgw.schema.json\nat the top of the file.",
        epilog="example: hilgw schema > hilgw.schema.json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints the schema; returns 0. Prints an error for each kind that does not load."""
    from hilgw.config.schema.file import broken_kinds, json_schema

    for error in broken_kinds():
        sys.stderr.write(f"hilgw: {error}\n")
    print(json.dumps(json_schema(), indent=2))
    return 0
