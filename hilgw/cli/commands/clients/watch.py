"""`hilgw watch`: what passes through a running gateway, one line per event."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from hilgw.cli.commands.clients.gateway_request import add_options, selected

if TYPE_CHECKING:
    from hilgw.client import Gateway

# Of a robot whose sensors report in each step, and of a busy line: asked for by name.
MANY = ("value", "bytes")


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "watch",
        description="Shows what passes through a running gateway, one line per event, until Ctrl-C "
        "or the end of the gateway: packets and what became of them, motor commands, states of "
        "ports, stops, and what programs print. Names choose robots, devices (rover.gps) and "
        "stations; values and bytes are shown where a name or an option asks for them.",
        epilog="examples: hilgw watch\n"
        "          hilgw watch rover.gps xbee0\n"
        "          hilgw watch xbee0 --bytes\n"
        "          hilgw watch --lost --json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="a robot, device or station")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--lost", action="store_true", help="only packets and requests that are lost")
    only.add_argument("--bytes", action="store_true", help="only the bytes of lines")
    parser.add_argument("--json", action="store_true", help="print each event as JSON")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Returns 0 at the end of the gateway. HilgwError when it does not answer."""
    from hilgw.cli.output.event_lines import in_words
    from hilgw.protocols.gateway.events import KINDS

    if args.bytes:
        kinds = ["bytes", "port", "left_out"]
    else:
        kinds = [kind for kind in KINDS if args.names or kind not in MANY]
    for event in _gateway(args).events(kinds, args.names, lost=args.lost):
        print(json.dumps(event) if args.json else in_words(event), flush=True)
    return 0


def _gateway(args: argparse.Namespace) -> Gateway:
    from hilgw.client.gateway import watched_gateway

    return watched_gateway(args.names, **selected(args))
