"""The text of `hilgw --help`, printed without the import of a parser."""

from __future__ import annotations

from hilgw.cli.commands import COMMANDS
from hilgw.cli.run_options import RUN

_HEAD = """\
usage: hilgw [OPTIONS] FILE.yaml
       hilgw [OPTIONS] COMMAND ...

Connects the Emitter and Receiver devices of simulated robots to real serial,
infra-red and radio hardware.

options:
  -h, --help          show this help and exit
  --version           show versions, and which C forms are active
"""

_TAIL = """
examples:
  hilgw --config configs/xbee.yaml
  hilgw --config configs/xbee.yaml --duration 10s --report out.json
  hilgw example xbee > my.yaml
  hilgw COMMAND --help

exit codes:
"""

EXIT_CODES = {
    0: "success",
    1: "failure",
    2: "usage",
    3: "configuration",
    4: "port",
    5: "peer",
    6: "mismatch",
    7: "safety stop latched",
    130: "Ctrl-C, or the reader of the output left",
    143: "SIGTERM",
    129: "terminal closed",
}


def help_text() -> str:
    """The help of the command without a subcommand."""
    options = "".join(_option(*option) for option in RUN)
    commands = "".join(f"  {name:<14}{summary}\n" for name, (_, summary) in COMMANDS.items())
    codes = "".join(f"  {code:<4} {meaning}\n" for code, meaning in EXIT_CODES.items())
    return f"{_HEAD}{options}\ncommands:\n{commands}{_TAIL}{codes}"


def _option(names: str, metavar: str, text: str) -> str:
    """The lines of one option, at most 80 characters wide."""
    lines = [f"  {', '.join(names.split())} {metavar}".ljust(21)]
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) > 80:
            lines.append(" " * 21)
        lines[-1] += f" {word}"
    return "".join(f"{line}\n" for line in lines)
