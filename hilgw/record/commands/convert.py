"""`hilgw convert FILE TO`: a recording in the form of another tool."""

import argparse
import sys
from pathlib import Path

from hilgw.cli.declaration import Command, Option
from hilgw.errors import HilgwError, UsageError
from hilgw.record.commands.reading import FILE, opened, report_end

COMMANDS = {
    "convert": Command(
        description="Writes a recording in the form of another tool, by the name of TO: a folder "
        "gets a CSV file for each device (pandas, PlotJuggler), a .mcap file its channels and "
        "schemas (Foxglove; package mcap), a .jsonl file one event per line.",
        epilog="examples: hilgw convert run.pcapng csv/\n"
        "          hilgw convert run.pcapng run.mcap\n"
        "          hilgw convert run.pcapng - | jq .event",
        options=(
            FILE,
            Option(
                "to",
                metavar="TO",
                help="a new folder, FILE.mcap, FILE.jsonl, or -: JSON lines to stdout",
            ),
        ),
    ),
}


def run(args: argparse.Namespace) -> int:
    """Convert the recording; return 0, or 1 if it is damaged.

    Raises UsageError for an unknown form.
    """
    from hilgw.cli.output import files
    from hilgw.record.convert import to_csv, to_json_lines, to_mcap

    recording, to = opened(args.file), Path(args.to)
    if args.to == "-":
        to_json_lines(recording, sys.stdout)
    elif to.suffix in (".mcap", ".jsonl", ".json"):
        files.expect_new(to)
        with files.output(to) as fresh:
            if to.suffix == ".mcap":
                with fresh.open("wb") as out:
                    to_mcap(recording, out)
            else:
                with fresh.open("w") as lines:
                    to_json_lines(recording, lines)
    elif to.suffix and not args.to.endswith("/"):
        fix = "FILE.mcap, FILE.jsonl, or a folder for CSV"
        raise UsageError(f"no form has the suffix {to.suffix}", fix=fix)
    else:
        if to.is_dir() and any(to.iterdir()):
            raise HilgwError("is not empty", where=args.to, fix="name a new folder")
        with files.output(to) as fresh:
            tables = to_csv(recording, fresh)
        print(f"{to}: {len(tables)} tables")
    return report_end(recording)
