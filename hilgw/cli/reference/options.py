"""The commands with their options, read from their parsers."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from hilgw.cli.commands import COMMANDS
from hilgw.cli.parser import parsers

FILES = "files"


@dataclass(frozen=True, slots=True)
class Option:
    """One option. names: short ones first, as declared. metavar: its value; "" for a switch.
    choices: the values that are known, or FILES."""

    names: tuple[str, ...]
    metavar: str
    text: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """One command, "" for the default one. usage: of its arguments. words: known values of its
    first argument."""

    name: str
    summary: str
    description: str
    epilog: str
    usage: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def commands() -> list[Command]:
    """The default command, then all others in the order of the help."""
    return [_command("", "run a gateway")] + [
        _command(name, summary) for name, (_, summary) in COMMANDS.items()
    ]


def _command(name: str, summary: str) -> Command:
    _, own = parsers(name or None)
    usage = own.format_usage() if name else ""
    return Command(
        name,
        summary,
        own.description or "",
        own.epilog or "",
        " ".join(usage.removeprefix("usage: ").split()),
        tuple(_option(action, name) for action in own._actions if action.option_strings),
        _words(name),
    )


def _option(action: argparse.Action, command: str) -> Option:
    metavar = "" if action.nargs == 0 else action.metavar or action.dest.upper()
    if isinstance(metavar, tuple):
        metavar = " ".join(metavar)
    choices = tuple(str(choice) for choice in action.choices or _choices(command, action.dest))
    if not choices and metavar in ("FILE", "PATH"):
        choices = (FILES,)
    text = "" if action.help in (None, argparse.SUPPRESS) else str(action.help) % vars(action)
    return Option(tuple(action.option_strings), metavar, text, choices)


def _choices(command: str, name: str) -> tuple[str, ...]:
    """Known values of an option whose parser takes others, too."""
    if name == "backend":
        return ("real", "mock", "loopback")
    if name == "config":
        return (FILES, *_shipped())
    if name == "kind" and command == "scan":
        return _parts("adapters")
    return ()


def _words(command: str) -> tuple[str, ...]:
    match command:
        case "example":
            return _shipped()
        case "adapters":
            return _parts("adapters")
        case "mock":
            return tuple(name.replace("_", "-") for name in _parts("mocks"))
        case "completion":
            return ("bash", "zsh", "fish")
    return ()


def _shipped() -> tuple[str, ...]:
    from hilgw.config.shipped import names

    return tuple(names())


def _parts(what: str) -> tuple[str, ...]:
    from hilgw import plugins

    return tuple(plugins.names(plugins.ADAPTERS if what == "adapters" else plugins.MOCKS))
