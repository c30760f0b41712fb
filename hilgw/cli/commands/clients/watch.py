"""`hilgw watch`: what passes through a running gateway, as a live table or one line per event."""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from hilgw.cli.commands.clients.gateway_request import add_options, selected
from hilgw.errors import UsageError

if TYPE_CHECKING:
    from hilgw.client.gateway import Gateway

# Of a robot whose sensors report in each step, and of a busy line: asked for by name.
MANY = ("value", "bytes")


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "watch",
        description="Shows what passes through a running gateway, until Ctrl-C, the key q or the "
        "end of the gateway. On a terminal it is a table of the devices, drawn in place, and below "
        "it packets and what became of them; space pauses it, / filters, d disarms all robots. "
        "Into a file or a pipe it is one line per event, without values and bytes where no name or "
        "option asks for them. Names choose robots, devices (rover.gps) and stations.",
        epilog="examples: hilgw watch\n"
        "          hilgw watch rover.gps xbee0\n"
        "          hilgw watch xbee0 --frames\n"
        "          hilgw watch xbee0 --bytes\n"
        "          hilgw watch rover --csv > values.csv\n"
        "          hilgw watch --lost --json\n"
        "          hilgw watch xbee0 --pcapng | wireshark -k -i -",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="a robot, device or station")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--lost", action="store_true", help="only packets and requests that are lost")
    only.add_argument("--frames", action="store_true", help="only the frames of lines, in words")
    only.add_argument("--bytes", action="store_true", help="only the bytes of lines")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print each event as JSON")
    form.add_argument("--csv", action="store_true", help="print values and commands as CSV")
    form.add_argument(
        "--pcapng", action="store_true", help="write packets and bytes of lines for Wireshark"
    )
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Returns 0 at the end of the gateway. HilgwError when it does not answer."""
    is_table = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    is_table = is_table and not (args.bytes or args.json or args.csv)
    if args.pcapng and sys.stdout.isatty():
        raise UsageError("no terminal shows pcapng", fix="--pcapng | wireshark -k -i -")
    kinds = _kinds(args, is_table=is_table)
    states = is_table or args.pcapng  # Wireshark gets the begin of its file at once
    source = _gateway(args).events(kinds, args.names, lost=args.lost, states=states)
    if is_table:
        from hilgw.cli.output import live_screen
        from hilgw.cli.output.live_table import LiveTable
        from hilgw.cli.output.text import Style, use_colour

        title = " ".join(["hilgw watch", *args.names, *(["--lost"] if args.lost else [])])
        bar = ("\u2500", "\u25cf") if "utf" in sys.stdout.encoding.lower() else ("-", "o")
        below = "FRAMES" if args.frames else "LOST" if args.lost else "EVENTS"
        table = LiveTable(title, Style(use_colour(sys.stdout)), bar, below)
        live_screen.watch(table, source, sys.stdin.fileno(), sys.stdout)
        return 0
    show = _capture(sys.stdout.buffer) if args.pcapng else _printer(args)
    for event in source:
        show(event)
        sys.stdout.flush()
    return 0


def _kinds(args: argparse.Namespace, *, is_table: bool) -> list[str]:
    from hilgw.protocols.gateway.events import KINDS

    if args.frames or args.bytes:
        return ["frame" if args.frames else "bytes", "port", "left_out"]
    if args.csv:
        return ["value", "command", "left_out"]
    if args.pcapng:
        return ["packet", "bytes", "port", "left_out"]
    left_out = {"frame"} if args.names else {"frame", *MANY}
    if is_table:
        left_out = {"frame", "bytes"}
    return [kind for kind in KINDS if kind not in left_out]


def _printer(args: argparse.Namespace) -> Callable[[dict[str, Any]], None]:
    """What prints an event."""
    from hilgw.cli.output.event_lines import CSV_COLUMNS, csv_rows, in_words

    if not args.csv:
        return lambda event: print(json.dumps(event) if args.json else in_words(event))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    sys.stdout.flush()

    def rows(event: dict[str, Any]) -> None:
        writer.writerows(csv_rows(event))
        if event["event"] == "left_out":
            print(f"hilgw: {in_words(event)}", file=sys.stderr)

    return rows


def _capture(out: BinaryIO) -> Callable[[dict[str, Any]], None]:
    """What writes an event as a recording has it; before the first one, its begin."""
    from hilgw.record.events import Writer

    writer: Writer | None = None

    def write(event: dict[str, Any]) -> None:
        nonlocal writer
        if writer is None:
            writer = Writer({}, [], round(event["wall_s"] * 1e9) - event["time_ns"])
            out.write(writer.begin(event["time_ns"]))
        out.write(writer.encode(event))

    return write


def _gateway(args: argparse.Namespace) -> Gateway:
    from hilgw.client.gateway import watched_gateway

    return watched_gateway(args.names, **selected(args))
