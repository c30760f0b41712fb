"""Declaration of a module's commands, as data: `COMMANDS`, the command or several by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

TYPE_CHECKING = False  # as in typing, which is slow to import
if TYPE_CHECKING:
    import argparse
    from typing import Any

    _Groups = argparse._ActionsContainer


class Option:
    """An option or an argument; names and settings are those of argparse's `add_argument`.

    exclusive: the name of a group of which only one is given; with "!" at its end one has to be.
    """

    def __init__(self, *names: str, exclusive: str = "", **settings: Any) -> None:
        self.names, self.exclusive, self.settings = names, exclusive, settings


class Command:
    """Syntax of a command: its help, what follows its options, and these.

    defaults: further values of its arguments; the other settings are those of argparse's
    `ArgumentParser`.
    """

    def __init__(
        self,
        description: str,
        epilog: str,
        options: Iterable[Option] = (),
        *,
        defaults: Mapping[str, object] = MappingProxyType({}),
        **settings: Any,
    ) -> None:
        self.options, self._defaults = options, defaults
        self._settings = {"description": description, "epilog": epilog, **settings}

    def add_to(
        self, commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str
    ) -> None:
        """Add the parser of the command, under this name."""
        from argparse import RawDescriptionHelpFormatter

        raw = RawDescriptionHelpFormatter
        parser = commands.add_parser(name, formatter_class=raw, **self._settings)
        parser.set_defaults(**self._defaults)
        add_options(parser, self.options)


def add_options(parser: argparse.ArgumentParser, options: Iterable[Option]) -> None:
    """Add these options to a parser."""
    groups: dict[str, _Groups] = {"": parser}
    for option in options:
        name = option.exclusive
        if name not in groups:
            groups[name] = parser.add_mutually_exclusive_group(required=name.endswith("!"))
        groups[name].add_argument(*option.names, **option.settings)
