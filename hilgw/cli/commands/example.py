"""`hilgw example [NAME]`: the shipped configurations."""

from __future__ import annotations

import argparse


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "example",
        help="print a configuration that runs as it is",
        description="Prints a shipped configuration; without NAME, lists them. Each runs as it "
        "is, on mocks.",
        epilog="example: hilgw example xbee > my.yaml && hilgw --config my.yaml",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="such as xbee")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints; 0. Raises UsageError for a name that does not exist."""
    from hilgw.config.shipped import example, examples, title

    if args.name is not None:
        print(example(args.name), end="")
        return 0
    known = examples()
    width = max((len(name) for name in known), default=0)
    for name, text in known.items():
        print(f"{name:<{width}}  {title(text)}".rstrip())
    return 0
