"""The parser of the command line; it imports only the given command."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from hilgw.cli.help import COMMANDS, help_text
from hilgw.cli.version import print_version

_WITH_VALUE = {"--config", "-c", "--set", "--backend", "--speed", "--duration", "--report"} | {
    "--ready-file",
    "--control",
}


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options, and `run`: the function of the command. Raises SystemExit as argparse does."""
    parser = _parser(_command_of(arguments))
    args, rest = parser.parse_known_args(arguments)
    # argparse does not assign an optional last word that follows an option.
    if len(rest) == 1 and getattr(args, "text", "") is None and not rest[0].startswith("-"):
        args.text = rest.pop()
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return args


def _command_of(arguments: list[str]) -> str | None:
    """The command, if any; options of the default command may precede it."""
    rest = iter(arguments)
    for argument in rest:
        if argument in _WITH_VALUE:
            next(rest, None)
        elif not argument.startswith("-"):
            return argument
    return None


def _parser(command: str | None) -> argparse.ArgumentParser:
    """The parser with the options of this command only: all others would slow every start."""
    run = import_module("hilgw.cli.commands.run")
    parser = _Parser(prog="hilgw")
    parser.add_argument("--version", action=_Version)
    run.add_options(parser)
    parser.set_defaults(run=run.run)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=argparse.ArgumentParser)
    for name in COMMANDS:
        if name == command:
            module = name.replace("-", "_")
            import_module(f"hilgw.cli.commands.{module}").add_parser(commands)
        else:
            commands.add_parser(name, add_help=False)
    return parser


class _Parser(argparse.ArgumentParser):
    def format_help(self) -> str:
        return help_text()


class _Version(argparse.Action):
    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0)

    def __call__(self, *_: object) -> None:
        print_version()
        sys.exit(0)
