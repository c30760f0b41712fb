"""The options of `hilgw run`, declared once, and the text of `hilgw --help`: without a parser."""

from hilgw.cli.groups import EVERYDAY, GROUPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hilgw.cli.declaration import Option

# Names, metavar ("" for a switch), text.
LOADING = (
    (
        "--set",
        "PATH=VALUE",
        "override one value, e.g. --set adapters.xbee0.channel=13 (repeatable)",
    ),
    ("--backend", "NAME", "real, mock or loopback: what is behind the ports"),
    ("--speed", "N", "simulated time per real time, or max (mocks only)"),
    ("--replay", "FILE", "a recording in the place of the parts in it, mocks of all others"),
    ("--only", "PARTS", "with --replay: of these alone, e.g. xbee0,rover.body"),
    ("--from", "TIME", "with --replay: from this time of the recording on"),
    (
        "--on-departure",
        "WHAT",
        "with --replay: report (usual) or stop, when hilgw sends other bytes",
    ),
)
RUN = (
    ("-c --config", "FILE", "the configuration to run, or a shipped one, as xbee"),
    *LOADING,
    ("--duration", "TIME", "stop after e.g. 10s, 500ms, 2min; of simulated time with --speed"),
    ("--arm", "", "arm all robots at the start, real ones once up"),
    ("--report", "FILE", "write counts and latencies as JSON; -: to stdout"),
    ("--ready-file", "FILE", "write this file when every required part is up"),
    ("--control", "PATH", "control socket for `hilgw send` (default: found by it)"),
    ("--record", "FILE", "record all that passes in this new file, for hilgw show and Wireshark"),
    ("--metrics", "HOST:PORT", "serve metrics for Prometheus at http://HOST:PORT/metrics"),
    ("--log", "FILE", "append what happens, with deliveries and time of day"),
    ("--status", "MODE", "of each robot, once a second: off, short (usual) or full"),
    ("-q --quiet", "", "show only errors, notices and the summary"),
    ("-v --verbose", "", "show deliveries too"),
)
EVERYDAY_OPTIONS = ("-c --config", "--backend", "--duration", "--arm", "--report", "--record")
WITH_VALUE = {name for names, metavar, _ in RUN if metavar for name in names.split()}


def options_of_run(options: tuple[tuple[str, str, str], ...], **kinds: "Any") -> "list[Option]":
    """Return these options, without defaults, because they may precede or follow the command.

    `kinds` has the type of the value of an option, by its name.
    """
    from argparse import SUPPRESS

    from hilgw.cli.declaration import Option

    made = []
    for names, metavar, text in options:
        words = names.split()
        more: dict[str, Any] = {"metavar": metavar} if metavar else {"action": "store_true"}
        if names == "--set":
            more |= {"action": "append", "dest": "overrides"}
        elif words[-1][2:] in kinds:
            more["type"] = kinds[words[-1][2:]]
        made.append(Option(*words, default=SUPPRESS, help=text, **more))
    return made


# --- the help -------------------------------------------------------------------------------------


_HEAD = """\
usage: hilgw [OPTIONS] FILE.yaml
       hilgw [OPTIONS] COMMAND ...

Connects the Emitter and Receiver devices of simulated robots to real serial,
infra-red and radio hardware.

options:
  -h, --help          show this help and exit
  --help --all        show all options and commands
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

PURPOSES = {
    "run": "run",
    "look": "look at what runs, or would",
    "command": "command a running gateway",
    "hardware": "hardware",
    "write": "write and check files",
}

EXIT_CODES = {
    0: "success; --duration is over",
    1: "failure",
    2: "error in the command line",
    3: "error in the configuration",
    4: "a port cannot be opened",
    5: "a device, controller or gateway does not answer, or answers wrongly",
    6: "the peer is not the device that the configuration names",
    7: "the gateway ended with a latched safety stop",
    8: "hilgw departed from a recording, with on_departure: stop",
    130: "Ctrl-C, or the program that read the output ended",
    143: "SIGTERM",
    129: "the terminal was closed",
}


def help_text(*, everything: bool = False) -> str:
    """Return the help of the command without a subcommand: of every day, or everything."""
    options = "".join(
        _option(*option) for option in RUN if everything or option[0] in EVERYDAY_OPTIONS
    )
    commands = "".join(
        f"\n{PURPOSES[purpose]}:\n"
        + "".join(
            f"  {name:<14}{summary}\n"
            for name, (_, summary) in group.items()
            if everything or name in EVERYDAY
        )
        for purpose, group in GROUPS.items()
    )
    codes = "".join(f"  {code:<4} {meaning}\n" for code, meaning in EXIT_CODES.items())
    return f"{_HEAD}{options}{commands}{_TAIL}{codes}"


def _option(names: str, metavar: str, text: str) -> str:
    lines = [f"  {', '.join(names.split())} {metavar}".ljust(21)]
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) > 80:
            lines.append(" " * 21)
        lines[-1] += f" {word}"
    return "".join(f"{line}\n" for line in lines)
