"""The text of `hilgw --help`, printed without the import of a parser."""

from __future__ import annotations

from hilgw.cli.commands import COMMANDS

_HEAD = """\
usage: hilgw [OPTIONS] FILE.yaml
       hilgw [OPTIONS] COMMAND ...

Connects the Emitter and Receiver devices of simulated robots to real serial,
infra-red and radio hardware.

options:
  -h, --help          show this help and exit
  --version           show versions, and which C forms are active
  -c, --config FILE   the configuration to run, or a shipped one, as xbee
  --set PATH=VALUE    override one value, e.g. --set adapters.xbee0.channel=13
                      (repeatable)
  --backend NAME      real, mock or loopback: what is behind the ports
  --speed N           simulated time per real time, or max (mocks only)
  --duration TIME     stop after e.g. 10s, 500ms, 2min; of simulated time
                      with --speed
  --arm               arm all robots at the start, real ones too
  --report FILE       write counts and latencies as JSON; -: to stdout
  --ready-file FILE   write this file when every required part is up
  --control PATH      control socket for `hilgw send` (default: found by it)
  --log FILE          append what happens, with deliveries and time of day
  -q, --quiet         show only errors, notices and the summary
  -v, --verbose       show deliveries too

commands:
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
    commands = "".join(f"  {name:<14}{summary}\n" for name, (_, summary) in COMMANDS.items())
    codes = "".join(f"  {code:<4} {meaning}\n" for code, meaning in EXIT_CODES.items())
    return _HEAD + commands + _TAIL + codes
