"""`hilgw watch`: what passes through a running gateway, as a live table or one line per event."""

import argparse
import csv
import json
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from hilgw.cli.commands.clients.gateway_request import SELECTION, selected
from hilgw.cli.declaration import Command, Option
from hilgw.errors import HilgwError, UsageError

if TYPE_CHECKING:
    from hilgw.client.gateway import Gateway

# Of a robot whose sensors report in each step, of a busy line, of each second: asked for by name.
MANY = ("value", "bytes", "status")


# The options that choose what is shown, and how.
VIEWS = (
    Option(
        "--lost",
        action="store_true",
        help="only packets and requests that are lost; --frames --lost: these too",
    ),
    Option(
        "--frames",
        exclusive="only",
        action="store_true",
        help="only the frames of lines, in words",
    ),
    Option("--bytes", exclusive="only", action="store_true", help="only the bytes of lines"),
    Option("--json", exclusive="form", action="store_true", help="print each event as JSON"),
    Option(
        "--csv",
        exclusive="form",
        action="store_true",
        help="print values and commands as CSV, or the lines and losses asked for",
    ),
)


COMMANDS = {
    "watch": Command(
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
        options=(
            Option("names", metavar="NAME", nargs="*", help="a robot, device or station"),
            *VIEWS,
            Option(
                "--pcapng",
                exclusive="form",
                action="store_true",
                help="write packets and bytes of lines for Wireshark",
            ),
            *SELECTION,
        ),
    ),
}


def run(args: argparse.Namespace) -> None:
    """Show events until the end of the gateway.

    Raises:
        HilgwError: It does not answer.
    """
    from hilgw.client.gateway import watched_gateway

    is_table = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    is_table = is_table and not (args.bytes or args.json or args.csv)
    if args.pcapng and sys.stdout.isatty():
        raise UsageError("no terminal shows pcapng", fix="--pcapng | wireshark -k -i -")
    kinds = kinds_of(args, is_table=is_table)
    is_line = args.frames or args.bytes  # with --lost: of the packets only those that are lost
    gateway = watched_gateway(args.names, **selected(args))
    if args.frames and args.names:
        _check_framed(gateway, args.names)
    states = is_table or args.pcapng  # Wireshark gets the start of its file at once
    source = gateway.events(kinds, args.names, lost=args.lost and not is_line, states=states)
    if is_line:
        source = (each for each in source if each.get("not_received", True))
    if is_table:
        from hilgw.cli.output import live_screen
        from hilgw.cli.output.live_table import LiveTable
        from hilgw.cli.output.text import Style, use_colour

        title = " ".join(["hilgw watch", *args.names, *(["--lost"] if args.lost else [])])
        bar = ("\u2500", "\u25cf") if "utf" in sys.stdout.encoding.lower() else ("-", "o")
        below = "FRAMES" if args.frames else "LOST" if args.lost else "EVENTS"
        table = LiveTable(title, Style(use_colour(sys.stdout)), bar, below)
        live_screen.watch(table, source, sys.stdin.fileno(), sys.stdout)
        return
    show = _capture(sys.stdout.buffer) if args.pcapng else printer(args)
    for event in source:
        show(event)
        sys.stdout.flush()


def kinds_of(args: argparse.Namespace, *, is_table: bool) -> list[str]:
    """Return the kinds of events that the options ask for."""
    from hilgw.events.kinds import DRAWN, LIVE

    losses = ["packet", "refused"] if args.lost else []
    if args.frames or args.bytes:
        return ["frame" if args.frames else "bytes", "port", "left_out", *losses]
    if args.csv:
        return [*DRAWN, "left_out", *losses]
    if args.pcapng:
        return ["packet", "bytes", "port", "left_out"]
    many = ("bytes",) if is_table else () if args.names else MANY
    return [kind for kind in LIVE if kind not in ("frame", *many)]


def printer(args: argparse.Namespace) -> Callable[[dict[str, Any]], None]:
    """Return what prints an event."""
    from hilgw.cli.output.live_table import CSV_COLUMNS, csv_rows, in_words

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
    from hilgw.protocols.pcapng.events import Writer

    writer: Writer | None = None

    def write(event: dict[str, Any]) -> None:
        nonlocal writer
        epoch_ns = round(event["wall_s"] * 1e9) - event["time_ns"]
        if event.get("since_ns") is not None:  # its times are those of its origin, not of now
            age_ns = time.monotonic_ns() - event["mono_ns"]
            event = {**event, "time_ns": event["time_ns"] + age_ns}
        if writer is None:
            writer = Writer({}, [], epoch_ns)
            out.write(writer.begin(event["time_ns"]))
        out.write(writer.encode(event))

    return write


def _check_framed(gateway: "Gateway", names: list[str]) -> None:
    from hilgw.protocols.gateway.requests import Find

    known, framed = (gateway.ask(Find(kind, names)).found for kind in ("part", "hardware station"))
    if unframed := [name for name in known if name not in framed]:
        raise HilgwError(
            f"{unframed[0]} has no frames",
            fix=f"stations have; hilgw watch {unframed[0]} --bytes shows the bytes of a line",
        )
