"""The manual page hilgw(1), in the macros of man(7)."""

from __future__ import annotations

import re

from hilgw.cli.help import EXIT_CODES
from hilgw.cli.reference.options import Command, commands


def manual(version: str) -> str:
    """The page of this version."""
    default, *others = commands()
    lines = [
        f'.TH HILGW 1 "" "hilgw {version}" "User Commands"',
        ".SH NAME",
        "hilgw \\- gateway between Webots Emitters and Receivers and serial, infra-red and radio "
        "hardware",
        ".SH SYNOPSIS",
        ".B hilgw",
        "[\\fIOPTIONS\\fR] \\fIFILE\\fR.yaml",
        ".br",
        ".B hilgw",
        "\\fICOMMAND\\fR ...",
        ".SH DESCRIPTION",
        "Connects the Emitter and Receiver devices of simulated robots (Webots) to real serial, "
        "infra-red and radio hardware, and lets the same robot controllers drive real robots. "
        "Without a command it runs the gateway of a configuration.",
        ".SH OPTIONS",
        *_options(default),
        ".SH COMMANDS",
    ]
    for each in others:
        lines += [f".SS hilgw {_plain(each.name)}", _plain(_sentence(each)), ".PP"]
        options = [] if each.name == "run" else _options(each)  # those at the top
        lines += [f".B {_plain(each.usage)}", *options, *_example(each.epilog)]
    lines += [".SH EXIT STATUS", *_exit_codes()]
    lines += [".SH SEE ALSO", "The pages in the folder docs of the project."]
    return "\n".join(lines) + "\n"


def _sentence(command: Command) -> str:
    return command.description or f"{command.summary.capitalize()}."


def _options(command: Command) -> list[str]:
    lines: list[str] = []
    for option in command.options:
        value = f" \\fI{_plain(option.metavar)}\\fR" if option.metavar else ""
        names = ", ".join(f"\\fB{_plain(name)}\\fR" for name in option.names)
        lines += [".TP", f"{names}{value}", _plain(option.text) or "\\&"]
    return lines


def _example(epilog: str) -> list[str]:
    if not epilog:
        return []
    return [".PP", ".nf", *(_plain(line) for line in epilog.splitlines()), ".fi"]


def _exit_codes() -> list[str]:
    lines: list[str] = []
    for code, meaning in EXIT_CODES.items():
        lines += [".TP", f".B {code}", _plain(meaning)]
    return lines


def _plain(text: str) -> str:
    """Text without a meaning for roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text.strip() if "\n" in text else text)
