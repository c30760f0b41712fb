"""`hilgw schema`: the JSON Schema of a configuration file."""

from __future__ import annotations

import argparse
import json
import sys


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "schema",
        description="Prints the JSON Schema of a configuration file, with every kind that is "
        "installed. Editors complete and check with it: put the line\n"
        "  # yaml-language-server: $schema=hilgw.schema.json\nat the top of the file.",
        epilog="example: hilgw schema > hilgw.schema.json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints it; 0. Kinds that do not load are said and left out."""
    from hilgw.config.schema.file import broken_kinds, json_schema

    for error in broken_kinds():
        sys.stderr.write(f"hilgw: {error}\n")
    print(json.dumps(json_schema(), indent=2))
    return 0
