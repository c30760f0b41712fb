"""The options of `hilgw run`, declared once: for its parser, and for the help without a parser."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

# Names, metavar ("" for a switch), text.
LOADING = (
    (
        "--set",
        "PATH=VALUE",
        "override one value, e.g. --set adapters.xbee0.channel=13 (repeatable)",
    ),
    ("--backend", "NAME", "real, mock or loopback: what is behind the ports"),
    ("--speed", "N", "simulated time per real time, or max (mocks only)"),
)
RUN = (
    ("-c --config", "FILE", "the configuration to run, or a shipped one, as xbee"),
    *LOADING,
    ("--duration", "TIME", "stop after e.g. 10s, 500ms, 2min; of simulated time with --speed"),
    ("--arm", "", "arm all robots at the start, real ones too"),
    ("--report", "FILE", "write counts and latencies as JSON; -: to stdout"),
    ("--ready-file", "FILE", "write this file when every required part is up"),
    ("--control", "PATH", "control socket for `hilgw send` (default: found by it)"),
    ("--log", "FILE", "append what happens, with deliveries and time of day"),
    ("-q --quiet", "", "show only errors, notices and the summary"),
    ("-v --verbose", "", "show deliveries too"),
)
WITH_VALUE = {name for names, metavar, _ in RUN if metavar for name in names.split()}


def add(
    parser: argparse.ArgumentParser, options: tuple[tuple[str, str, str], ...], **kinds: Any
) -> None:
    """Adds these options, without defaults, because they may precede or follow the command.

    kinds: the type of the value of an option, by its name.
    """
    from argparse import SUPPRESS

    for names, metavar, text in options:
        words = names.split()
        more: dict[str, Any] = {"metavar": metavar} if metavar else {"action": "store_true"}
        if names == "--set":
            more |= {"action": "append", "dest": "overrides"}
        elif words[-1][2:] in kinds:
            more["type"] = kinds[words[-1][2:]]
        parser.add_argument(*words, default=SUPPRESS, help=text, **more)
