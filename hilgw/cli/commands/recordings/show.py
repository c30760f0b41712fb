"""`hilgw show FILE`: what a recording holds, as `hilgw watch` shows a gateway."""

from __future__ import annotations

import argparse
import json

from hilgw.cli.commands.clients.watch import MANY
from hilgw.cli.commands.recordings.reading import add_file, opened, report_end


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from hilgw.cli.output.text import duration

    parser = commands.add_parser(
        "show",
        description="Shows what a recording holds, one line per event, as `hilgw watch` shows a "
        "running gateway. Names choose robots, devices (rover.gps) and stations; values and bytes "
        "are shown where a name or an option asks for them.",
        epilog="examples: hilgw show run.pcapng\n"
        "          hilgw show run.pcapng rover.gps --from 10s --to 12s\n"
        "          hilgw show run.pcapng --lost --json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_file(parser)
    parser.add_argument("names", metavar="NAME", nargs="*", help="a robot, device or station")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--lost", action="store_true", help="only packets and requests that are lost")
    only.add_argument("--bytes", action="store_true", help="only the bytes of lines")
    parser.add_argument(
        "--from", dest="begin", type=duration, default=0.0, help="since its begin, e.g. 90s, 2min"
    )
    parser.add_argument("--to", dest="end", type=duration, help="since its begin, e.g. 95s")
    parser.add_argument("--json", action="store_true", help="print each event as JSON")


def run(args: argparse.Namespace) -> int:
    """Returns 0; 1 where the file is damaged. HilgwError when it is not a recording."""
    from hilgw.cli.output.event_lines import in_words
    from hilgw.protocols.gateway.events import is_about, is_lost

    recording = opened(args.file)
    for event in recording.events(args.begin, args.end):
        kind = event["event"]
        if args.bytes and kind != "bytes":
            continue
        if kind in MANY and not (args.bytes or args.names or args.json):
            continue
        if (args.lost and not is_lost(event)) or not is_about(event, args.names):
            continue
        print(json.dumps(event) if args.json else in_words(event))
    return report_end(recording)
