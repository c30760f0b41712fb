"""The parser of the command line; it imports only the given command."""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from hilgw import plugins
from hilgw.cli.declaration import add_options
from hilgw.cli.groups import COMMANDS
from hilgw.cli.help import WITH_VALUE, help_text
from hilgw.cli.version import print_version
from hilgw.errors import nearest, printable, quoted, suggest

FILES = (".yaml", ".yml")


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the options, and `run`: the function of the command.

    The name of a file in the place of a command runs that file. Raises SystemExit as argparse does.
    """
    place = _place_of_command(arguments)
    command = None if place is None else arguments[place]
    if command == "help":
        return parse([*arguments[(place or 0) + 1 :], "--help"])
    word = command or ""
    if (
        place is not None
        and word not in COMMANDS
        and (word.endswith(FILES) or Path(word).is_file())
    ):
        arguments = [*arguments[:place], "run", *arguments[place:]]
        command = "run"
    parser, own = parsers(command)
    if place is not None and isinstance(own, CommandParser):
        own.words = arguments[place + 1 :]
    if command is not None and own is parser:
        _refuse_unknown_options(parser, arguments[:place])
        if "/" in command or Path(command).suffix:
            parser.error(f"no such file: {printable(command)}")
        parser.error(f"unknown command {command!r}{_meant_command(command)}")
    args, rest = parser.parse_known_args(arguments)
    # argparse does not assign optional last words that follow an option.
    if not any(word.startswith("-") for word in rest):
        if len(rest) == 1 and getattr(args, "text", "") is None:
            args.text = rest.pop()
        for key in {"names", "keys"} & vars(args).keys():
            vars(args)[key] += rest
            rest = []
    if rest:
        _refuse_unknown_options(own, rest)
        own.error(f"too many arguments: {' '.join(rest)}")
    return args


def parsers(command: str | None) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Return the parser with this command only, and the part of it that reads its options.

    The parsers of all commands would slow every start.
    """
    parser, commands = _default_parser()
    if command in COMMANDS:
        _add_commands(import_module(COMMANDS[command][0]), commands)
    elif command is not None and plugins.has(plugins.COMMANDS, command):
        _add_commands(plugins.load(plugins.COMMANDS, command), commands)
    return parser, commands.choices.get(command or "", parser)


def whole_parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser with the options of all commands, and its part for each command."""
    parser, commands = _default_parser()
    for module in dict.fromkeys(module for module, _ in COMMANDS.values()):
        _add_commands(import_module(module), commands)
    for name, (_, summary) in COMMANDS.items():
        commands._choices_actions.append(commands._ChoicesPseudoAction(name, [], summary))
    return parser, {name: commands.choices[name] for name in COMMANDS}


def _add_commands(
    module: Any, commands: argparse._SubParsersAction[argparse.ArgumentParser]
) -> None:
    for command, declared in module.COMMANDS.items():
        declared.add_to(commands, command)
        function = getattr(module, f"run_{command}", None) or module.run
        commands.choices[command].set_defaults(run=function)


def _default_parser() -> tuple[
    argparse.ArgumentParser, argparse._SubParsersAction[argparse.ArgumentParser]
]:
    run = import_module("hilgw.cli.commands.run")
    parser = _Parser(prog="hilgw")
    parser.add_argument(
        "--version", action=_Version, help="show versions, and which C forms are active"
    )
    add_options(parser, run.OPTIONS)
    parser.set_defaults(run=run.run)
    return parser, parser.add_subparsers(metavar="COMMAND", parser_class=CommandParser)


def _place_of_command(arguments: list[str]) -> int | None:
    """Find the command, if any; options of the default command may precede it."""
    is_value = False
    for place, argument in enumerate(arguments):
        if not is_value and not argument.startswith("-"):
            return place
        is_value = not is_value and argument in WITH_VALUE
    return None


_LOG = "--log FILE keeps all that a run shows, --record FILE all that passes; hilgw show reads it"
_STATE = "hilgw status shows the state of all that runs, hilgw watch what passes"
# Commands that other programs have, and what hilgw has instead.
_INSTEAD = {
    **dict.fromkeys(("log", "logs"), _LOG),
    **dict.fromkeys(("replay", "play"), "hilgw FILE --replay RECORDING runs on a recording"),
    **dict.fromkeys(("top", "ps", "monitor", "stats"), _STATE),
    "start": "hilgw FILE runs a gateway",
    **dict.fromkeys(("stop", "kill", "quit"), "Ctrl-C ends a gateway, hilgw disarm stops robots"),
    **dict.fromkeys(("init", "new", "create"), "hilgw example NAME > my.yaml begins a file"),
}


def _meant_command(word: str) -> str:
    from hilgw.config.shipped import names

    if word in names():
        return f"; did you mean hilgw --config {word}?"
    if word in _INSTEAD:
        return f"; {_INSTEAD[word]}"
    near = nearest(word, [*COMMANDS, *plugins.names(plugins.COMMANDS), "--version"])
    return f"; did you mean {near}?" if near else "; hilgw --help --all lists the commands"


def _refuse_unknown_options(own: argparse.ArgumentParser, words: list[str]) -> None:
    known = [name for action in own._actions for name in action.option_strings]
    for word in words:
        name = word.partition("=")[0]
        if word.startswith("-") and word != "-" and name not in known:
            near = nearest(name, known)
            own.error(f"unknown option {name}" + (f"; did you mean {near}?" if near else ""))


class CommandParser(argparse.ArgumentParser):
    """The parser of one command, with messages that name what was meant. words: its arguments."""

    words: Sequence[str] = ()

    def format_help(self) -> str:
        from hilgw.cli.output.text import paragraphs  # for this text only

        return paragraphs(super().format_help())

    def error(self, message: str) -> NoReturn:
        if message.startswith("the following arguments are ") or message.endswith(" is required"):
            _refuse_unknown_options(self, self._doubtful_words())  # a mistyped one may be why
        super().error(_reworded(message))

    def _doubtful_words(self) -> list[str]:
        """Return the arguments that can only be long options, and are not the start of one."""
        words = list(itertools.takewhile(lambda word: word != "--", self.words))
        known = [name for action in self._actions for name in action.option_strings]
        return [
            word
            for word in words
            if word.startswith("--") and not any(name.startswith(word) for name in known)
        ]


_CHOICE = re.compile(r"(argument .*): invalid choice: '?(.*?)'? \(choose from (.*)\)")
_VALUE = re.compile(r"(argument .*): invalid (int|float) value: (.*)")
_WANTED = {"int": "a whole number", "float": "a number"}


def _reworded(message: str) -> str:
    if match := _CHOICE.fullmatch(message):
        known = [name.strip("'") for name in match[3].split(", ")]
        return f"{match[1]}: {quoted(match[2])} is not one of the choices; " + suggest(
            match[2], known
        )
    if match := _VALUE.fullmatch(message):
        return f"{match[1]}: {match[3]} is not {_WANTED[match[2]]}"
    return message


class _Parser(CommandParser):
    def format_help(self) -> str:
        return help_text()


class _Version(argparse.Action):
    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, *_: object) -> None:
        print_version()
        sys.exit(0)
