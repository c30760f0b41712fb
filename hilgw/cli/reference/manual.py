"""The manual page hilgw(1), in the macros of man(7)."""

import argparse
import re

from hilgw.cli.groups import COMMANDS, GROUPS
from hilgw.cli.help import EXIT_CODES, PURPOSES
from hilgw.cli.parser import whole_parser


def manual(version: str) -> str:
    """Return the page of this version."""
    parser, commands = whole_parser()
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
        *_options(parser),
    ]
    for purpose, group in GROUPS.items():
        lines.append(f".SH COMMANDS: {PURPOSES[purpose].upper()}")
        for name in group:
            own = commands[name]
            sentence = own.description or f"{COMMANDS[name][1].capitalize()}."
            usage = " ".join(own.format_usage().removeprefix("usage: ").split())
            options = [] if name == "run" else _options(own)  # those at the top
            lines += [f".SS hilgw {_plain(name)}", _plain(sentence), ".PP"]
            lines += [f".B {_plain(usage)}", *options, *_example(own.epilog or "")]
    lines += [".SH EXIT STATUS", *_exit_codes()]
    lines += [".SH SEE ALSO", "The pages in the folder docs of the project."]
    return "\n".join(lines) + "\n"


def _options(parser: argparse.ArgumentParser) -> list[str]:
    lines: list[str] = []
    for action in parser._actions:
        if not action.option_strings:
            continue
        metavar = "" if action.nargs == 0 else action.metavar or action.dest.upper()
        if isinstance(metavar, tuple):
            metavar = " ".join(metavar)
        value = f" \\fI{_plain(metavar)}\\fR" if metavar else ""
        names = ", ".join(f"\\fB{_plain(name)}\\fR" for name in action.option_strings)
        lines += [".TP", f"{names}{value}", _plain((action.help or "") % vars(action)) or "\\&"]
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
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text.strip() if "\n" in text else text)
